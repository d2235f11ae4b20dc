// Tokens, names, positions and programs of the parser, and what others call.
#include "tilewright/ir/parser.h"

namespace tw::ir {

// ---- tokens ----

void Parser::fail(const Token& where, const std::string& message) const {
  throw text_error(text_, options_.file, where, message);
}
void Parser::fail_expected(const std::string& what) const {
  const std::string found = token().kind == Token::end      ? "the end"
                            : token().kind == Token::string ? "a string"
                                                            : "'" + token().text + "'";
  fail(token(), format("expected {}, found {}", what, found));
}
void Parser::expect(std::string_view text) {
  if (!accept(text)) fail_expected(format("'{}'", text));
}
std::string Parser::expect_name(const char* what) {
  if (token().kind != Token::name) fail_expected(what);
  if (syntax::is_reserved(token().text)) {
    fail(token(), format("expected {}, but '{}' is a word of the language", what, token().text));
  }
  return take().text;
}
std::string Parser::expect_string(const char* what) {
  if (token().kind != Token::string) fail_expected(what);
  return take().text;
}
int64_t Parser::expect_integer(const char* what) {
  const bool negative = accept("-");
  if (token().kind != Token::integer) fail_expected(what);
  const Mark since = mark();
  const Expr value = number(take(), negative, i64);
  fresh_exprs_.resize(since.exprs);
  return value.as<Const>().i;
}

// ---- names ----

const Parser::Name* Parser::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto it = scope->find(name);
    if (it != scope->end()) return &it->second;
  }
  return nullptr;
}

void Parser::bind_pending() {
  for (auto& [name, what] : pending_) bind(name, std::move(what));
  pending_.clear();
}

Buffer Parser::buffer_named(const Token& name, size_t rank) {
  const Name* known = find(name.text);
  if (known == nullptr && options_.infer_free) {
    const auto space = rank == 0 ? MemSpace::variable : MemSpace::shared;
    const Buffer buffer =
        make_buffer(name.text, f32, space, std::vector<int64_t>(rank, int64_t{1024}));
    scopes_.front()[name.text] = {{}, buffer};
    return buffer;
  }
  if (known == nullptr) fail(name, format("unknown name '{}'", name.text));
  if (!known->buffer) fail(name, format("'{}' is a value, not a buffer", name.text));
  if (static_cast<size_t>(known->buffer.rank()) != rank) {
    fail(name,
         format("{} has {} dimensions, found {} indices", name.text, known->buffer.rank(), rank));
  }
  return known->buffer;
}

Var Parser::binding(Wanted dtype_if_none) {
  const std::string name = expect_name("a name");
  Wanted dtype = dtype_if_none;
  if (accept(":")) {
    dtype = f32;
    field(*dtype, {});
  }
  Var var;
  if (dtype) {
    var = Var::make(name, *dtype);
    fresh_exprs_.push_back(var);
  }
  pending_.push_back({name, {var, {}}});
  return var;
}

// ---- positions ----

SourceLoc Parser::location() {
  const std::string file = expect_string("a file name");
  expect(":");
  const int64_t line = expect_integer("a line number");
  if (line < 0 || line > INT32_MAX) fail(token(), "no such line");
  return SourceLoc::intern(file, static_cast<int>(line));
}

void Parser::place(Mark since, SourceLoc where) {
  // The nodes are new, and nobody else has them yet.
  for (size_t i = since.exprs; i < fresh_exprs_.size(); ++i) {
    const_cast<ExprBase*>(fresh_exprs_[i].get())->loc = where;
  }
  for (size_t i = since.buffers; i < fresh_buffers_.size(); ++i) {
    const_cast<BufferNode*>(fresh_buffers_[i].get())->loc = where;
  }
  fresh_exprs_.resize(since.exprs);
  fresh_buffers_.resize(since.buffers);
}

SourceLoc Parser::end_head(Mark since, const Token& first) {
  SourceLoc where = here_;
  if (accept("@")) {
    where = location();
  } else if (options_.locate) {
    where = SourceLoc::intern(options_.file, first.line);
  }
  place(since, where);
  return where;
}

// ---- whole texts ----

void Parser::given() {
  while (next_is("given")) {
    const Mark since = mark();
    const Token first = take();
    auto node = std::make_unique<BufferNode>();
    if (declaration(MemSpace::global, *node)) {
      with(*node);
      declared(std::move(node));
    } else {
      const Var var = Var::make(node->name, node->dtype);
      fresh_exprs_.push_back(var);
      pending_.push_back({node->name, {var, {}}});
    }
    end_head(since, first);
    bind_pending();
    while (accept(";")) {
    }
  }
}

Stmt Parser::statements() {
  given();
  std::vector<Stmt> list = sequence("");
  if (list.size() == 1) return list[0];
  auto seq = std::make_unique<Seq>();
  seq->stmts = std::move(list);
  return Stmt(seq.release());
}

Expr Parser::single_expr() {
  given();
  const Mark since = mark();
  const Token first = token();
  const Expr e = expr({});
  end_head(since, first);
  if (token().kind != Token::end) fail_expected("the end of the expression");
  return e;
}

void Parser::symbol(Program& program) {
  Symbol symbol;
  symbol.var = binding(i64);
  bind_pending();
  with(symbol);
  program.symbols.push_back(std::move(symbol));
}

void Parser::param(Program& program, ParamKind kind) {
  Param param;
  param.kind = kind;
  if (kind == ParamKind::scalar) {
    const Name* known = find(token().text);
    param.var = binding(i64);
    if (known != nullptr && known->var) {  // a symbol that is passed
      param.var = known->var;
      pending_.clear();
    }
    with(param);
  } else {
    auto node = std::make_unique<BufferNode>();
    declaration(MemSpace::global, *node);
    with(*node, param);
    param.buffer = declared(std::move(node));
  }
  program.params.push_back(std::move(param));
}

Program Parser::program() {
  if (!accept("tilewright")) {
    fail_expected(format("'tilewright ir {}', the version of the format", kTextVersion));
  }
  expect("ir");
  const Token version = token();
  if (const int64_t v = expect_integer("the version of the format"); v != kTextVersion) {
    fail(version,
         format("this is format version {}; only version {} can be read", v, kTextVersion));
  }
  Program program;
  expect("program");
  if (token().kind == Token::string) program.name = take().text;
  expect("{");
  while (!accept("}")) {
    const Mark since = mark();
    const Token first = token();
    const auto kind = enum_named<ParamKind>(first.text);
    if (next_is("launch")) {
      program.launches.push_back(statement());
      continue;
    }
    if (accept("symbol")) {
      symbol(program);
    } else if (kind && first.kind == Token::name) {
      take();
      param(program, *kind);
    } else if (accept("workspace")) {
      Workspace workspace;
      auto node = std::make_unique<BufferNode>();
      declaration(MemSpace::workspace, *node);
      with(*node, workspace);
      workspace.buffer = declared(std::move(node));
      program.workspaces.push_back(std::move(workspace));
    } else if (accept("option")) {
      if (token().kind != Token::name) fail_expected("the name of an option");
      Option option;
      option.name = take().text;
      expect("=");
      option.value = expect_string("a string");
      program.options.push_back(std::move(option));
    } else {
      fail_expected("a declaration or launch of the program");
    }
    end_head(since, first);
    bind_pending();
  }
  if (token().kind != Token::end) fail_expected("the end of the text");
  return program;
}

Program parse_program(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).program();
}
Stmt parse_stmt(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).statements();
}
Expr parse_expr(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).single_expr();
}

}  // namespace tw::ir
