// Programs of the printer, and what others call.
#include "tilewright/ir/printer.h"
#include "tilewright/ir/visit.h"

namespace tw::ir {

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

namespace {

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

}  // namespace

void Printer::given(const std::vector<Expr>& vars, const std::vector<Buffer>& buffers) {
  for (const Expr& var : vars) {
    out_ += "given " + bind(var.get(), Var::of(var).name()) + ": " + to_text(var.dtype()) + "\n";
  }
  for (const Buffer& buffer : buffers) {
    out_ += "given ";
    declaration(buffer, MemSpace::global);
    with(kDeclared, *buffer.get());
    out_ += '\n';
  }
}
void Printer::given(const Expr& root) {
  FreeNames free;
  free.visit(root);
  given(free.vars, free.buffers);
}
void Printer::given(const Stmt& root) {
  FreeNames free;
  free.visit(root);
  given(free.vars, free.buffers);
}

namespace {

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
