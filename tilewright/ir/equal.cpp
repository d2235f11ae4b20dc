#include "tilewright/ir/equal.h"

#include <bit>
#include <map>

#include "tilewright/ir/visit.h"

namespace tw::ir {
namespace {

class Comparison {
 public:
  explicit Comparison(Free free) : free_(free) {}

  bool same(const Expr& a, const Expr& b) {
    if (!a || !b) return !a && !b;
    if (a.kind() != b.kind() || a.dtype() != b.dtype()) return false;
    if (a.is<VarNode>()) return use(a, b, a.as<VarNode>().name == b.as<VarNode>().name);
    return nodes(a, b);
  }
  bool same(const Stmt& a, const Stmt& b) {
    if (!a || !b) return !a && !b;
    return a.kind() == b.kind() && nodes(a, b);
  }
  template <class T>
    requires requires(const T& x) { T::visit_fields(x, [](const char*, const auto&) {}); }
  bool same(const T& a, const T& b) {
    return fields(a, b);
  }

 private:
  /// A variable or buffer in use: the partner of the other side's, or free on both.
  template <class H>
  bool use(const H& a, const H& b, bool declared_alike) {
    const auto partner = partner_.find(a.get());
    const auto back = partner_.find(b.get());
    if (partner == partner_.end() && back == partner_.end()) {
      if (free_ == Free::same_node) return a.same_as(b);
      pair(a.get(), b.get());
      return declared_alike;
    }
    return partner != partner_.end() && back != partner_.end() && partner->second == b.get() &&
           back->second == a.get();
  }
  bool same(const Buffer& a, const Buffer& b) {
    if (!a || !b) return !a && !b;
    if (a.same_as(b)) return use(a, b, true);
    const bool seen = partner_.count(a.get()) != 0 || free_ == Free::same_node;
    return use(a, b, seen || (a.name() == b.name() && fields(*a.get(), *b.get())));
  }
  bool same(const Var& a, const Var& b) {  // a binding
    if (!a || !b) return !a && !b;
    if (a.dtype() != b.dtype()) return false;
    const auto partner = partner_.find(a.get());
    if (partner != partner_.end() && partner->second == b.get()) return true;
    pair(a.get(), b.get());
    return true;
  }
  bool declaration(const Buffer& a, const Buffer& b) {
    if (!a || !b) return !a && !b;
    pair(a.get(), b.get());
    return fields(*a.get(), *b.get());
  }
  void pair(const Node* a, const Node* b) {
    partner_[a] = b;
    partner_[b] = a;
  }

  template <class T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  bool same(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
  template <class T>
  bool same(const T& a, const T& b) {
    return a == b;
  }

  template <class H>
  bool nodes(const H& a, const H& b) {
    return dispatch(*a.get(), [&]<class T>(const T& x) {
      return fields(x, static_cast<const T&>(*static_cast<const Node*>(b.get())));
    });
  }

  template <class T>
  bool fields(const T& a, const T& b) {
    constexpr bool kDeclares =
        std::is_same_v<T, Alloc> || std::is_same_v<T, Param> || std::is_same_v<T, Workspace>;
    bool equal = true;
    T::visit_fields(a, [&]<class V>(const char* name, const V& x) {
      if (!equal || (std::is_same_v<V, std::string> && std::string_view(name) == "name" &&
                     !std::is_same_v<T, Option>)) {
        return;
      }
      T::visit_fields(b, [&]<class W>(const char* other, const W& y) {
        if constexpr (std::is_same_v<V, W>) {
          if (name != other && std::string_view(name) != other) return;
          if constexpr (kDeclares && std::is_same_v<V, Buffer>) {
            equal = declaration(x, y);
          } else {
            equal = same(x, y);
          }
        }
      });
    });
    return equal;
  }

  Free free_;
  std::map<const Node*, const Node*> partner_;
};

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b, Free free) {
  if (a.same_as(b)) return true;
  return Comparison(free).same(a, b);
}
bool structurally_equal(const Stmt& a, const Stmt& b, Free free) {
  if (a.same_as(b)) return true;
  return Comparison(free).same(a, b);
}
bool structurally_equal(const Program& a, const Program& b) {
  return Comparison(Free::same_node).same(a, b);
}

}  // namespace tw::ir
