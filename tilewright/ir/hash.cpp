#include "tilewright/ir/hash.h"

#include <bit>

#include "tilewright/ir/visit.h"

namespace tw::ir {
namespace {

struct Hasher {
  uint64_t state = 0x9e3779b97f4a7c15;

  void add(uint64_t word) {  // the mixing step of splitmix64
    state += word + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
  }
  void add_pointer(const Node* node) { add(reinterpret_cast<uintptr_t>(node)); }

  void field(const Expr& e) { add(e ? hash(e) : 0); }
  void field(const Buffer& b) { add_pointer(b.get()); }
  void field(DType d) { add(static_cast<uint64_t>(d.scalar) * 256 + d.lanes); }
  void field(double f) { add(std::bit_cast<uint64_t>(f)); }
  void field(const std::string& s) { add(std::hash<std::string>()(s)); }
  template <class T>
  void field(const std::vector<T>& list) {
    add(list.size());
    for (const T& item : list) field(item);
  }
  template <class T>
  void field(const T& value) {
    add(static_cast<uint64_t>(value));
  }
};

}  // namespace

size_t hash(const Expr& expr) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(expr.kind()));
  if (expr.is<VarNode>()) {
    hasher.add_pointer(expr.get());
    return hasher.state;
  }
  dispatch(*expr.get(), [&]<class T>(const T& node) {
    if constexpr (std::is_base_of_v<ExprBase, T>) {
      T::visit_fields(node, [&](const char*, const auto& value) { hasher.field(value); });
    }
  });
  return hasher.state;
}

}  // namespace tw::ir
