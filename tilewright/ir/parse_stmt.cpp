// Statements of the parser.
#include "tilewright/ir/parser.h"

namespace tw::ir {

// ---- fields ----

void Parser::field(Buffer& b, Wanted) {
  const Token name = token();
  expect_name("a buffer");
  const Name* known = find(name.text);
  if (known == nullptr) {  // as many dimensions as indices follow
    size_t rank = 0;
    if (next_is("[")) {
      rank = 1;
      int open = 0;
      for (size_t i = at_; i < tokens_.size(); ++i) {
        const std::string& text = tokens_[i].text;
        if (text == "[" || text == "(" || text == "![") ++open;
        if (text == "]" || text == ")") --open;
        if (text == "," && open == 1) ++rank;
        if (open == 0) break;
      }
    }
    b = buffer_named(name, rank);
    return;
  }
  if (!known->buffer) fail(name, format("'{}' is a value, not a buffer", name.text));
  b = known->buffer;
}

void Parser::field(Region& r, Wanted) {
  const Token name = token();
  field(r.buffer, {});
  r.unchecked = accept("![");
  if (!r.unchecked && !accept("[")) {
    r = Region::whole(r.buffer);
    for (const Expr& begin : r.begin) fresh_exprs_.push_back(begin);
    return;
  }
  r.begin.clear();
  r.extent.clear();
  while (!next_is("]")) {
    r.begin.push_back(expr(i64));
    r.extent.push_back(accept(":+") ? expr(i64) : make_expr<Const>([](Const& n) {
      n.dtype = i64;
      n.i = 1;
    }));
    if (!accept(",")) break;
  }
  expect("]");
  if (static_cast<size_t>(r.buffer.rank()) != r.begin.size()) {
    fail(name, format("{} has {} dimensions, found {} ranges", name.text, r.buffer.rank(),
                      r.begin.size()));
  }
}

void Parser::field(bool& b, Wanted) {
  if (!next_is("true") && !next_is("false")) fail_expected("true or false");
  b = take().text == "true";
}
void Parser::field(DType& d, Wanted) {
  const auto dtype = syntax::dtype_word(token().text);
  if (token().kind != Token::name || !dtype) fail_expected("a dtype");
  d = *dtype;
  take();
}
void Parser::field(Rounding& r, Wanted) {
  const auto rounding = parse_rounding(token().text);
  if (token().kind != Token::name || !rounding) fail_expected("one of rn, rz, rp, rm, rs");
  r = *rounding;
  take();
}

// ---- statements ----

void Parser::words(std::string_view text) {
  while (!text.empty()) {
    const size_t space = text.find(' ');
    if (space != 0) expect(text.substr(0, space));
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
  }
}

/// Whether the next token begins the optional part that begins with this piece.
template <class T>
bool Parser::starts(T& node, const std::vector<syntax::Piece>& form, size_t first) {
  std::string_view text = form[first].text;
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (!text.empty()) return next_is(text.substr(0, text.find(' ')));
  bool result = false;
  syntax::with_field(node, form[first + 1].field, [&]<class V>(const V&) {
    if constexpr (requires { EnumNames<V>::kList; }) {
      result = token().kind == Token::name && enum_named<V>(token().text).has_value();
    } else {
      result = next_is("[");
    }
  });
  return result;
}

template <class T>
Stmt Parser::form() {
  if constexpr (!syntax::kHasForm<T>) return {};
  const Mark since = mark();
  const Token first = token();
  const SourceLoc outside = here_;
  auto node = std::make_unique<T>();
  const std::vector<syntax::Piece>& pieces = syntax::pieces<T>();
  bool headed = false;
  const auto finish_head = [&] {
    if (headed) return;
    headed = true;
    with(*node);
    if constexpr (std::is_same_v<T, Let>) {
      if (!node->var && node->value) {  // the type is the value's
        auto& [name, what] = pending_.back();
        node->var = what.var = Var::make(name, node->value.dtype());
        fresh_exprs_.push_back(what.var);
      }
    }
    if constexpr (std::is_same_v<T, For>) {
      if (!node->step) node->step = number({Token::integer, "1"}, false, node->var.dtype());
    }
    if constexpr (std::is_same_v<T, Gemm>) {
      if (!node->clear) node->clear = bool_const(false);
    }
    node->loc = here_ = end_head(since, first);
  };
  int absent = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const syntax::Piece& piece = pieces[i];
    if (piece.part != 0 && piece.part != absent && pieces[i - 1].part != piece.part &&
        !starts(*node, pieces, i)) {
      absent = piece.part;
    }
    if (piece.part != 0 && piece.part == absent) continue;
    if (piece.field.empty()) {
      words(piece.text);
      continue;
    }
    syntax::with_field(*node, piece.field, [&]<class V>(V& value) {
      if constexpr (std::is_same_v<V, Stmt>) finish_head();
      if constexpr (std::is_same_v<V, std::vector<Var>>) {
        syntax::with_field(*node, piece.paired, [&]<class W>(W& extents) {
          if constexpr (std::is_same_v<W, std::vector<Expr>>) {
            do {
              value.push_back(binding(i64));
              expect("in");
              extents.push_back(expr(i64));
            } while (accept(","));
          }
        });
      } else if constexpr (std::is_same_v<T, Let> && std::is_same_v<V, Var>) {
        value = binding({});
      } else {
        field(value, syntax::wanted_type(*node, piece.field));
      }
    });
  }
  finish_head();
  here_ = outside;
  return Stmt(node.release());
}

bool Parser::declaration(MemSpace implied, BufferNode& node) {
  node.name = expect_name("a name");
  node.space = implied;
  expect(":");
  field(node.dtype, {});
  bool buffer = next_is("[");
  if (buffer) field(node.shape, i64);
  const bool next_declaration =  // `workspace W: f32[4]`, not the memory space
      next_is("workspace") && at_ + 2 < tokens_.size() && tokens_[at_ + 2].text == ":";
  if (const auto space = enum_named<MemSpace>(token().text);
      space && token().kind == Token::name && !next_declaration) {
    node.space = *space;
    take();
    buffer = true;
  }
  if (accept("of")) field(node.view_of, {});
  return buffer;
}

Buffer Parser::declared(std::unique_ptr<BufferNode> node) {
  const std::string name = node->name;
  const Buffer buffer(node.release());
  fresh_buffers_.push_back(buffer);
  pending_.push_back({name, {{}, buffer}});
  return buffer;
}

Stmt Parser::alloc() {
  const Mark since = mark();
  const Token first = take();
  auto node = std::make_unique<Alloc>();
  auto buffer = std::make_unique<BufferNode>();
  declaration(first.text == "var" ? MemSpace::variable : MemSpace::global, *buffer);
  if (accept("=")) node->initial = expr(buffer->dtype);
  with(*buffer, *node);
  node->buffer = declared(std::move(buffer));
  node->loc = end_head(since, first);
  return Stmt(node.release());
}

Stmt Parser::store() {
  const Mark since = mark();
  const Token name = token();
  expect_name("a statement");
  auto node = std::make_unique<Store>();
  node->unchecked = accept("![");
  if (node->unchecked || accept("[")) {
    node->indices = indices();
  }
  node->buffer = buffer_named(name, node->indices.size());
  expect("=");
  node->value = expr(node->buffer.dtype());
  with(*node);
  node->loc = end_head(since, name);
  return Stmt(node.release());
}

Stmt Parser::statement() {
  const Nesting nesting(*this);
  if (next_is("{")) return explicit_block();
  if (token().kind != Token::name) fail_expected("a statement");
  const std::string word = token().text;
  Stmt result;
  if (word == "alloc" || word == "view" || word == "var") {
    result = alloc();
  } else {
#define TW_TRY(type) \
  if (!result && word == syntax::first_word<type>()) result = form<type>();
    TW_STMT_NODES(TW_TRY)
#undef TW_TRY
    if (!result) result = store();
  }
  bind_pending();
  return result;
}

std::vector<Stmt> Parser::sequence(std::string_view close) {
  std::vector<Stmt> list;
  for (;;) {
    while (accept(";")) {
    }
    if (close.empty() ? token().kind == Token::end : next_is(close)) return list;
    list.push_back(statement());
  }
}

Stmt Parser::explicit_block() {
  expect("{");
  scopes_.emplace_back();
  auto seq = std::make_unique<Seq>();
  seq->stmts = sequence("}");
  scopes_.pop_back();
  expect("}");
  return Stmt(seq.release());
}

Stmt Parser::block() {
  if (!next_is("{")) fail_expected("'{'");
  take();
  scopes_.emplace_back();
  bind_pending();
  std::vector<Stmt> list = sequence("}");
  scopes_.pop_back();
  expect("}");
  if (list.size() == 1) return list[0];
  auto seq = std::make_unique<Seq>();
  seq->stmts = std::move(list);
  return Stmt(seq.release());
}

}  // namespace tw::ir
