// Names, lines and expressions of the printer.
#include "tilewright/ir/equal.h"
#include "tilewright/ir/printer.h"

namespace tw::ir {

// ---- names ----

std::string Printer::plain_name(const std::string& wish) {
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
Printer::Wanted Printer::alike(const Op& n, Wanted wanted) const {
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

}  // namespace tw::ir
