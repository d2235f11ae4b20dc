// The printer of the text form. Fields of statements are printed from their field lists; only
// expressions, buffers and the three statements without a form are known here by name.
#pragma once

#include <map>
#include <set>

#include "tilewright/ir/syntax.h"
#include "tilewright/ir/text.h"

namespace tw::ir {

class Printer {
 public:
  using Wanted = std::optional<DType>;

  explicit Printer(PrintOptions options) : options_(options) { scopes_.emplace_back(); }

  void program(const Program& p);
  void statement(const Stmt& stmt);
  void statements(const Stmt& stmt);  // the outermost: a sequence without its brackets
  void expr(const Expr& e, Wanted wanted, int strength = 0);
  void region(const Region& r);
  void use(const Buffer& buffer) { out_ += buffer ? name_of(buffer.get(), buffer.name()) : "null"; }
  /// Declares what is used and not declared in it.
  void given(const Expr& root);
  void given(const Stmt& root);
  std::string take() { return std::move(out_); }

 private:
  // ---- names ----
  static std::string plain_name(const std::string& wish);
  const std::string& name_of(const Node* node, const std::string& wish);
  std::string bind(const Node* node, const std::string& wish, size_t scope);
  std::string bind(const Node* node, const std::string& wish) {
    return bind(node, wish, scopes_.size() - 1);
  }
  void open_scope() { scopes_.emplace_back(); }
  void close_scope();

  // ---- layout of the text ----
  void line() { out_ += '\n' + std::string(2 * static_cast<size_t>(indent_), ' '); }
  void block(const Stmt& body);
  bool elsewhere(SourceLoc where) const;
  void location(SourceLoc where);
  void quoted(const std::string& text);

  // ---- expressions ----
  void op(const Op& n, Wanted wanted, int strength);
  void cast(const Cast& n);
  Wanted alike(const Op& n, Wanted wanted) const;
  void operand(const Op& n, size_t i, Wanted wanted, int strength);
  void indices(const std::vector<Expr>& list, bool unchecked, bool brackets_if_empty);

  // ---- fields ----
  template <class T>
  void form(const T& node, bool located);
  template <class T>
  bool part_present(const T& node, int part);
  template <class... Ts>
  void with(const std::vector<std::string_view>& shown, const Ts&... nodes);
  void given(const std::vector<Expr>& vars, const std::vector<Buffer>& buffers);
  void declaration(const Buffer& buffer, MemSpace implied);
  void alloc(const Alloc& n);
  void store(const Store& n);

  void value(const Expr& e, Wanted wanted) { expr(e, wanted); }
  void value(const Var& v, Wanted) {
    out_ += bind(v.get(), v.name());
    if (v.dtype() != i64 || always_typed_) out_ += ": " + to_text(v.dtype());
  }
  void value(const Buffer& b, Wanted) { use(b); }
  void value(const Region& r, Wanted) { region(r); }
  void value(const Stmt& s, Wanted) { block(s); }
  void value(const std::string& s, Wanted) { quoted(s); }
  void value(bool b, Wanted) { out_ += b ? "true" : "false"; }
  void value(int64_t i, Wanted) { out_ += std::to_string(i); }
  void value(DType d, Wanted) { out_ += to_text(d); }
  void value(Rounding r, Wanted) { out_ += to_text(r); }
  template <class E>
    requires requires { EnumNames<E>::kList; }
  void value(E e, Wanted) {
    out_ += enum_name(e);
  }
  template <class T>
  void value(const std::vector<T>& list, Wanted wanted) {
    out_ += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ", ";
      value(list[i], wanted);
    }
    out_ += ']';
  }

  PrintOptions options_;
  std::string out_;
  int indent_ = 0;
  bool always_typed_ = false;  // the next binding's type is written even if it is i64
  SourceLoc here_;
  std::map<const Node*, std::string> names_;
  std::set<std::string> taken_;
  std::vector<std::vector<const Node*>> scopes_;
  int counter_ = 0;
};

/// Fields of buffers and their declarations that `declaration` shows.
inline const std::vector<std::string_view> kDeclared = {"name",    "dtype",  "space",  "shape",
                                                        "view_of", "buffer", "initial"};

/// The fields of the nodes that are neither shown nor at their default, as `with a=1, b`.
template <class... Ts>
void Printer::with(const std::vector<std::string_view>& shown, const Ts&... nodes) {
  const char* separator = " with ";
  const auto one = [&]<class T>(const T& node) {
    T::visit_fields(node, [&]<class V>(const char* name, const V& field) {
      for (const std::string_view s : shown) {
        if (s == name) return;
      }
      if (syntax::is_default(node, name)) return;
      if (options_.canonical && std::string_view(name) == "name") return;
      out_ += separator + std::string(name);
      separator = ", ";
      if constexpr (std::is_same_v<V, bool>) {
        if (field) return;
      }
      out_ += '=';
      value(field, syntax::wanted_type(node, name));
    });
  };
  (one(nodes), ...);
}

}  // namespace tw::ir
