// Statements of the printer.
#include "tilewright/ir/printer.h"
#include "tilewright/ir/visit.h"

namespace tw::ir {

template <class T>
bool Printer::part_present(const T& node, int part) {
  for (const syntax::Piece& piece : syntax::pieces<T>()) {
    if (piece.part == part && !piece.field.empty() && !syntax::is_default(node, piece.field)) {
      return true;
    }
  }
  return false;
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

}  // namespace tw::ir
