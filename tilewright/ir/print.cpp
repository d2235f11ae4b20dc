// Prints IR. Fields of statements are printed from their field lists; only expressions, buffers and
// the three statements without a form are known here by name.
#include <map>
#include <set>

#include "tilewright/ir/equal.h"
#include "tilewright/ir/syntax.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::ir {
namespace {

using Wanted = std::optional<DType>;

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) { scopes_.emplace_back(); }

  void program(const Program& p);
  void statement(const Stmt& stmt);
  void statements(const Stmt& stmt);  // the outermost: a sequence without its brackets
  void expr(const Expr& e, Wanted wanted, int strength = 0);
  void region(const Region& r);
  void use(const Buffer& buffer) { out_ += buffer ? name_of(buffer.get(), buffer.name()) : "null"; }
  template <class H>
  void given(const H& root);
  std::string take() { return std::move(out_); }

 private:
  // ---- names ----
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

// ---- names ----

std::string plain_name(const std::string& wish) {
  std::string name;
  for (const char c : wish) {
    name += isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (name.empty() || isdigit(static_cast<unsigned char>(name[0])) != 0) name = "_" + name;
  return name;
}

std::string Printer::bind(const Node* node, const std::string& wish, size_t scope) {
  std::string name;
  if (options_.canonical) {
    name = "v" + std::to_string(counter_++);
  } else {
    const std::string base = plain_name(wish);
    name = base;
    for (int i = 1; taken_.count(name) != 0 || syntax::is_reserved(name); ++i) {
      name = base + "_" + std::to_string(i);
    }
  }
  if (const auto old = names_.find(node); old != names_.end()) taken_.erase(old->second);
  taken_.insert(name);
  names_[node] = name;
  scopes_[scope].push_back(node);
  return name;
}

const std::string& Printer::name_of(const Node* node, const std::string& wish) {
  const auto it = names_.find(node);
  if (it != names_.end()) return it->second;
  bind(node, wish, 0);  // free: known from here to the end
  return names_[node];
}

void Printer::close_scope() {
  for (const Node* node : scopes_.back()) {
    const auto it = names_.find(node);
    if (it == names_.end()) continue;  // bound twice in the scope
    taken_.erase(it->second);
    names_.erase(it);
  }
  scopes_.pop_back();
}

// ---- layout of the text ----

void Printer::block(const Stmt& body) {
  open_scope();
  const SourceLoc outside = here_;
  out_ += " {";
  ++indent_;
  if (const auto* seq = body.try_as<Seq>(); seq != nullptr && seq->stmts.size() != 1) {
    for (const Stmt& s : seq->stmts) {
      line();
      statement(s);
    }
  } else if (body) {
    line();
    statement(body);
  }
  --indent_;
  line();
  out_ += '}';
  here_ = outside;
  close_scope();
}

void Printer::quoted(const std::string& text) {
  out_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out_ += {'\\', c};
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      out_ += format("\\x{:02x}", c);
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

bool Printer::elsewhere(SourceLoc where) const {
  if (!options_.locations || !where.known()) return false;
  return !here_.known() || here_.line != where.line || std::string_view(here_.file) != where.file;
}

void Printer::location(SourceLoc where) {
  out_ += " @ ";
  quoted(where.file);
  out_ += ":" + std::to_string(where.line);
}

// ---- expressions ----

void Printer::expr(const Expr& e, Wanted wanted, int strength) {
  if (!e) {
    out_ += "null";
    return;
  }
  const SourceLoc outside = here_;
  const bool located = elsewhere(e.loc()) && !e.is<Const>() && !e.is<VarNode>();
  if (located) {
    here_ = e.loc();
    out_ += '(';
    strength = 0;
  }
  switch (e.kind()) {
    case Kind::Const:
      out_ += syntax::literal_text(e.as<Const>(), wanted);
      break;
    case Kind::VarNode:
      out_ += name_of(e.get(), e.as<VarNode>().name);
      break;
    case Kind::Op:
      op(e.as<Op>(), wanted, strength);
      break;
    case Kind::Cast:
      cast(e.as<Cast>());
      break;
    default: {
      const auto& n = e.as<Load>();
      use(n.buffer);
      indices(n.indices, n.unchecked, false);
    }
  }
  if (located) {
    location(here_);
    out_ += ')';
    here_ = outside;
  }
}

/// The type that literals among the like operands take: that of the result, or of the first
/// operand that is no literal.
Wanted Printer::alike(const Op& n, Wanted wanted) const {
  if (wanted && !wanted->is_bool() && syntax::alike_result(n.code)) return wanted;
  for (size_t i = syntax::first_alike(n.code); i < n.args.size(); ++i) {
    if (!n.args[i].is<Const>()) return n.args[i].dtype();
  }
  return std::nullopt;
}

void Printer::operand(const Op& n, size_t i, Wanted wanted, int strength) {
  if (i < syntax::first_alike(n.code)) return expr(n.args[i], {}, strength);
  if (!n.args[i].is<Const>() && !syntax::alike_result(n.code)) wanted = {};
  expr(n.args[i], n.args[i].is<Const>() ? alike(n, wanted) : wanted, strength);
}

void Printer::op(const Op& n, Wanted wanted, int strength) {
  const bool plain = n.exactness == Exactness::standard && n.rounding == Rounding::rn &&
                     n.args.size() == static_cast<size_t>(op_row(n.code).operands) &&
                     syntax::result_type(n.code, n.args) == n.dtype;
  const syntax::Infix* infix = syntax::infix_of(n.code);
  if (plain && infix != nullptr) {
    const int own = infix->precedence;
    if (own < strength) out_ += '(';
    operand(n, 0, wanted, own == syntax::kCompare ? own + 1 : own);
    out_ += " " + std::string(infix->text) + " ";
    operand(n, 1, wanted, own + 1);
    if (own < strength) out_ += ')';
    return;
  }
  if (const char sign = syntax::prefix_of(n.code); plain && sign != 0 && !n.args[0].is<Const>()) {
    out_ += sign;
    operand(n, 0, wanted, syntax::kUnary);
    return;
  }
  out_ += op_row(n.code).name;
  if (n.exactness == Exactness::fast) out_ += ".fast";
  if (n.exactness == Exactness::ieee) out_ += ".ieee";
  if (n.rounding != Rounding::rn) out_ += "." + to_text(n.rounding);
  out_ += '(';
  for (size_t i = 0; i < n.args.size(); ++i) {
    if (i != 0) out_ += ", ";
    operand(n, i, wanted, 0);
  }
  if (syntax::result_type(n.code, n.args) != n.dtype) out_ += ", " + to_text(n.dtype);
  out_ += ')';
}

void Printer::cast(const Cast& n) {
  out_ += "cast(";
  expr(n.value, std::nullopt);
  out_ += ", " + to_text(n.dtype);
  if (n.rounding != Rounding::rn) out_ += ", rounding=" + to_text(n.rounding);
  if (!n.saturate) out_ += ", saturate=false";
  if (n.rbits) {
    out_ += ", rbits=";
    expr(n.rbits, u32);
  }
  out_ += ')';
}

void Printer::indices(const std::vector<Expr>& list, bool unchecked, bool brackets_if_empty) {
  if (unchecked) out_ += '!';
  if (!list.empty() || unchecked || brackets_if_empty) value(list, i64);
}

void Printer::region(const Region& r) {
  use(r.buffer);
  if (!r.buffer) return;
  bool whole = r.begin.size() == r.buffer.shape().size() && r.begin.size() == r.extent.size();
  for (size_t i = 0; whole && i < r.begin.size(); ++i) {
    whole = is_int(r.begin[i], 0) && r.begin[i].dtype() == i64 &&
            structurally_equal(r.extent[i], r.buffer.shape()[i]);
  }
  if (r.unchecked) out_ += '!';
  if (whole && !r.unchecked) return;
  out_ += '[';
  for (size_t i = 0; i < r.begin.size(); ++i) {
    if (i != 0) out_ += ", ";
    expr(r.begin[i], i64);
    if (i >= r.extent.size() || (is_int(r.extent[i], 1) && r.extent[i].dtype() == i64)) continue;
    out_ += " :+ ";
    expr(r.extent[i], i64);
  }
  out_ += ']';
}

// ---- statements ----

template <class T>
bool Printer::part_present(const T& node, int part) {
  for (const syntax::Piece& piece : syntax::pieces<T>()) {
    if (piece.part == part && !piece.field.empty() && !syntax::is_default(node, piece.field)) {
      return true;
    }
  }
  return false;
}

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

template <class T>
void Printer::form(const T& node, bool located) {
  const std::vector<syntax::Piece>& form = syntax::pieces<T>();
  std::vector<std::string_view> shown;
  for (const syntax::Piece& piece : form) {
    shown.push_back(piece.field);
    shown.push_back(piece.paired);
  }
  bool headed = false;  // the head, with its remaining fields, is printed
  const auto end_head = [&] {
    if (headed) return;
    headed = true;
    with(shown, node);
    if (located) location(node.loc);
  };
  for (const syntax::Piece& piece : form) {
    if (piece.part != 0 && !part_present(node, piece.part)) continue;
    if (piece.field.empty()) {
      out_ += piece.text;
      continue;
    }
    syntax::with_field(node, piece.field, [&]<class V>(const V& field) {
      if constexpr (std::is_same_v<V, Stmt>) end_head();
      if constexpr (std::is_same_v<V, std::vector<Var>>) {
        syntax::with_field(node, piece.paired, [&]<class W>(const W& extents) {
          if constexpr (std::is_same_v<W, std::vector<Expr>>) {
            for (size_t i = 0; i < field.size() && i < extents.size(); ++i) {
              if (i != 0) out_ += ", ";
              value(field[i], {});
              out_ += " in ";
              value(extents[i], i64);
            }
          }
        });
      } else {
        always_typed_ = std::is_same_v<T, Let>;
        value(field, syntax::wanted_type(node, piece.field));
        always_typed_ = false;
      }
    });
  }
  end_head();
}

void Printer::declaration(const Buffer& buffer, MemSpace implied) {
  const BufferNode& b = *buffer.get();
  for (const Expr& extent : b.shape) {  // what the shape uses is named before the buffer
    for_each_expr(extent, [&](const Expr& e) {
      if (e.is<VarNode>()) name_of(e.get(), e.as<VarNode>().name);
    });
  }
  out_ += bind(buffer.get(), b.name) + ": " + to_text(b.dtype);
  if (!b.shape.empty() || b.space != MemSpace::variable) value(b.shape, i64);
  if (b.space != implied) out_ += " " + std::string(enum_name(b.space));
  if (b.view_of) {
    out_ += " of ";
    use(b.view_of);
  }
}
const std::vector<std::string_view> kDeclared = {"name",    "dtype",  "space",  "shape",
                                                 "view_of", "buffer", "initial"};

void Printer::alloc(const Alloc& n) {
  const bool scalar = n.buffer.space() == MemSpace::variable && n.buffer.rank() == 0;
  const bool view = n.buffer->view_of || n.buffer->address;
  out_ += scalar ? "var " : view ? "view " : "alloc ";
  declaration(n.buffer, scalar ? MemSpace::variable : MemSpace::global);
  if (n.initial) {
    out_ += " = ";
    expr(n.initial, n.buffer.dtype());
  }
  with(kDeclared, *n.buffer.get(), n);
}

void Printer::store(const Store& n) {
  use(n.buffer);
  indices(n.indices, n.unchecked, false);
  out_ += " = ";
  expr(n.value, n.buffer ? Wanted(n.buffer.dtype()) : Wanted());
  with({"buffer", "indices", "value", "unchecked"}, n);
}

void Printer::statement(const Stmt& stmt) {
  if (!stmt) return;
  const SourceLoc outside = here_;
  const bool located = elsewhere(stmt.loc());
  if (located) here_ = stmt.loc();
  dispatch(*stmt.get(), [&]<class T>(const T& n) {
    if constexpr (std::is_same_v<T, Seq>) {
      open_scope();
      out_ += '{';
      ++indent_;
      for (const Stmt& s : n.stmts) {
        line();
        statement(s);
      }
      --indent_;
      line();
      out_ += '}';
      close_scope();
    } else if constexpr (std::is_same_v<T, Alloc> || std::is_same_v<T, Store>) {
      if constexpr (std::is_same_v<T, Alloc>) alloc(n);
      if constexpr (std::is_same_v<T, Store>) store(n);
      if (located) location(n.loc);
    } else if constexpr (std::is_base_of_v<StmtBase, T>) {
      constexpr bool kHasBody = requires { n.body; };
      if (kHasBody) open_scope();
      form(n, located);
      if (kHasBody) close_scope();
    }
  });
  here_ = outside;
}

void Printer::statements(const Stmt& stmt) {
  const auto* seq = stmt.try_as<Seq>();
  if (seq == nullptr || seq->stmts.size() == 1) return statement(stmt);
  for (size_t i = 0; i < seq->stmts.size(); ++i) {
    if (i != 0) line();
    statement(seq->stmts[i]);
  }
}

// ---- programs ----

void Printer::program(const Program& p) {
  out_ += format("tilewright ir {}\nprogram", kTextVersion);
  if (!options_.canonical) {
    out_ += ' ';
    quoted(p.name);
  }
  out_ += " {";
  ++indent_;
  const auto begin = [&](SourceLoc where) {
    here_ = where;
    line();
  };
  const auto end = [&] {
    if (options_.locations && here_.known()) location(here_);
    here_ = {};
  };
  for (const Symbol& s : p.symbols) {
    begin(s.var.loc());
    out_ += "symbol ";
    always_typed_ = true;
    value(s.var, {});
    always_typed_ = false;
    with({"var"}, s);
    end();
  }
  for (const Param& param : p.params) {
    begin(param.var ? param.var.loc() : param.buffer.loc());
    out_ += std::string(enum_name(param.kind)) + " ";
    if (param.var) {
      const bool known = names_.count(param.var.get()) != 0;  // a symbol that is passed
      out_ += known ? names_[param.var.get()] : bind(param.var.get(), param.var.name());
      out_ += ": " + to_text(param.var.dtype());
      with({"kind", "var"}, param);
    } else if (param.buffer) {
      declaration(param.buffer, MemSpace::global);
      std::vector<std::string_view> shown = kDeclared;
      shown.push_back("kind");
      with(shown, *param.buffer.get(), param);
    }
    end();
  }
  for (const Workspace& w : p.workspaces) {
    begin(w.buffer.loc());
    out_ += "workspace ";
    declaration(w.buffer, MemSpace::workspace);
    with(kDeclared, *w.buffer.get(), w);
    end();
  }
  for (const Option& o : p.options) {
    line();
    out_ += "option " + plain_name(o.name) + "=";
    quoted(o.value);
  }
  for (const Stmt& launch : p.launches) {
    line();
    statement(launch);
  }
  --indent_;
  out_ += "\n}\n";
}

/// Finds what is used and not declared, in order of use; variables before buffers.
struct FreeNames : Visitor {
  std::set<const Node*> bound;
  std::vector<Expr> vars;
  std::vector<Buffer> buffers;
  using Visitor::visit;

  void visit(const Expr& e) override {
    if (e.is<VarNode>() && bound.insert(e.get()).second) vars.push_back(e);
    children(e);
  }
  void visit(const Buffer& b) override {
    if (!bound.insert(b.get()).second) return;
    children(b);
    buffers.push_back(b);
  }
  void visit(const Stmt& s) override {
    dispatch(*s.get(), [&]<class T>(const T& n) {
      if constexpr (std::is_same_v<T, Alloc>) {
        bound.insert(n.buffer.get());
        children(n.buffer);
      }
      T::visit_fields(n, [&]<class V>(const char*, const V& field) {
        if constexpr (std::is_same_v<V, Var>) bound.insert(field.get());
        if constexpr (std::is_same_v<V, std::vector<Var>>) {
          for (const Var& var : field) bound.insert(var.get());
        }
      });
    });
    children(s);
  }
};

template <class H>
void Printer::given(const H& root) {
  FreeNames free;
  free.visit(root);
  for (const Expr& var : free.vars) {
    out_ += "given " + bind(var.get(), Var::of(var).name()) + ": " + to_text(var.dtype()) + "\n";
  }
  for (const Buffer& buffer : free.buffers) {
    out_ += "given ";
    declaration(buffer, MemSpace::global);
    with(kDeclared, *buffer.get());
    out_ += '\n';
  }
}

template <class H, class F>
std::string printed(const H& root, PrintOptions options, F body) {
  if (!root) return "null";
  Printer printer(options);
  if (options.free) printer.given(root);
  body(printer);
  return printer.take();
}

}  // namespace

std::string print(const Program& program, PrintOptions options) {
  Printer printer(options);
  printer.program(program);
  return printer.take();
}
std::string print(const Stmt& stmt, PrintOptions options) {
  return printed(stmt, options, [&](Printer& p) { p.statements(stmt); });
}
std::string print(const Expr& expr, PrintOptions options) {
  return printed(expr, options, [&](Printer& p) { p.expr(expr, {}); });
}
std::string print(const Buffer& buffer, PrintOptions options) {
  Printer printer(options);
  printer.use(buffer);
  return printer.take();
}
std::string print(const Region& region, PrintOptions options) {
  Printer printer(options);
  printer.region(region);
  return printer.take();
}

}  // namespace tw::ir
