// The parser of the text form: one token ahead, without going back. Statements by recursive
// descent, expressions with a stack of their own.
#pragma once

#include <map>
#include <memory>

#include "tilewright/ir/lexer.h"
#include "tilewright/ir/syntax.h"
#include "tilewright/ir/text.h"

namespace tw::ir {

/// What a call says of an operation beside its operands.
struct Variant {
  std::optional<DType> result;  // where it is given
  Exactness exactness = Exactness::standard;
  Rounding rounding = Rounding::rn;
};

class Parser {
 public:
  using Wanted = std::optional<DType>;

  Parser(std::string_view text, const ParseOptions& options)
      : text_(text), options_(options), tokens_(split(text, options.file)) {
    scopes_.emplace_back();
  }

  Program program();
  Stmt statements();  // to the end of the text
  Expr single_expr();

 private:
  static constexpr int kMaxDepth = 2 * kMaxNesting;  // of statements

  // ---- tokens ----
  const Token& token() const { return tokens_[at_]; }
  const Token& take() { return tokens_[token().kind == Token::end ? at_ : at_++]; }
  bool next_is(std::string_view text) const {
    return (token().kind == Token::sign || token().kind == Token::name) && token().text == text;
  }
  bool accept(std::string_view text) {
    if (!next_is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text);
  std::string expect_name(const char* what);
  std::string expect_string(const char* what);
  int64_t expect_integer(const char* what);
  [[noreturn]] void fail(const Token& where, const std::string& message) const;
  [[noreturn]] void fail_expected(const std::string& what) const;
  struct Nesting {
    explicit Nesting(Parser& p) : parser(p) {
      if (++p.depth_ > kMaxDepth) {
        p.fail(p.token(), format("more than {} statements inside each other", kMaxDepth));
      }
    }
    ~Nesting() { --parser.depth_; }
    Parser& parser;
  };

  // ---- names ----
  struct Name {
    Var var;
    Buffer buffer;
  };
  const Name* find(const std::string& name) const;
  void bind(const std::string& name, Name what) { scopes_.back()[name] = std::move(what); }
  /// Bindings of a head become visible in its body, or after the statement.
  void bind_pending();
  /// The buffer of that name; inferred with that rank if allowed.
  Buffer buffer_named(const Token& name, size_t rank);

  // ---- positions ----
  struct Mark {
    size_t exprs, buffers;
  };
  Mark mark() const { return {fresh_exprs_.size(), fresh_buffers_.size()}; }
  /// Reads `"file":line`.
  SourceLoc location();
  /// Ends a head or declaration: reads its position, if there is one; what is new since the mark
  /// gets that, or the one around it.
  SourceLoc end_head(Mark since, const Token& first);
  void place(Mark since, SourceLoc where);
  template <class T, class Fill>
  Expr make_expr(Fill&& fill) {
    Expr e = make<T>({}, fill);
    fresh_exprs_.push_back(e);
    return e;
  }

  // ---- expressions ----
  /// A literal without a type waits for the operand beside it; everything else is a node.
  struct Operand {
    Expr expr = {};     // null for a bare literal
    Token number = {};  // of a bare literal
    bool negative = false;
    bool literal = false;  // bare or not
  };
  /// An expression that is not complete and waits for an operand.
  struct Open {
    enum Kind { whole, bracket, prefix, infix, call, conversion, index };
    Kind kind = whole;
    Wanted wanted = {};  // the type that its own place wants
    Wanted inner = {};   // and that of the operand
    Mark since = {};     // of a bracket
    OpCode code = {};    // of an operation
    int precedence = 0;  // of an infix operation
    Variant variant = {};
    std::vector<Operand> operands = {};
    std::unique_ptr<Cast> cast = {};
    std::unique_ptr<Load> load = {};
    Token name = {};      // of the buffer
    bool closes = false;  // with "]"
  };
  Expr expr(Wanted wanted);
  Operand begin(std::vector<Open>& open);
  Operand named(std::vector<Open>& open, const Token& name);
  Operand name_use(std::vector<Open>& open, const Token& name);
  /// Whether what is innermost waits for another operand after this one, which it has then taken.
  bool continues(std::vector<Open>& open, Operand& operand);
  Operand close(std::vector<Open>& open, Operand operand);
  /// Whether an operand of a call begins here.
  bool another_operand(Open& call);
  Operand end_call(Open& call);
  bool cast_continues(Open& open, Operand& operand);
  Operand end_load(Open& element);
  Operand fresh(Expr e) {
    fresh_exprs_.push_back(e);
    return {.expr = std::move(e)};
  }
  Operand operation(OpCode code, std::vector<Operand> operands, Wanted wanted,
                    const Variant& variant);

  bool at_number() const;
  Operand bare_number(bool negative);
  Operand typed_literal(DType dtype);
  Operand bool_literal(const Token& word);
  Expr number(const Token& number, bool negative, DType dtype);
  Expr settle(Operand& operand, Wanted wanted);
  /// Indices up to the closing bracket.
  std::vector<Expr> indices();
  /// An error unless an operation may stand on these operands.
  void check_height(const std::vector<Expr>& operands) const;

  // ---- statements ----
  Stmt statement();
  Stmt block();
  std::vector<Stmt> sequence(std::string_view close);
  Stmt alloc();
  Stmt store();
  Stmt explicit_block();
  void given();
  template <class T>
  Stmt form();
  template <class T>
  bool starts(T& node, const std::vector<syntax::Piece>& form, size_t first);
  template <class... Ts>
  void with(Ts&... nodes);
  void words(std::string_view text);
  Var binding(Wanted dtype_if_none);
  /// `name: dtype[shape] space of base`; false if there is only a dtype.
  bool declaration(MemSpace implied, BufferNode& node);
  Buffer declared(std::unique_ptr<BufferNode> node);
  void symbol(Program& program);
  void param(Program& program, ParamKind kind);

  // ---- fields ----
  void field(Expr& e, Wanted wanted) { e = expr(wanted); }
  void field(Var& v, Wanted) { v = binding(i64); }
  void field(Buffer& b, Wanted);
  void field(Region& r, Wanted);
  void field(Stmt& s, Wanted) { s = block(); }
  void field(std::string& s, Wanted) { s = expect_string("a string"); }
  void field(bool& b, Wanted);
  void field(int64_t& i, Wanted) { i = expect_integer("an integer"); }
  void field(DType& d, Wanted);
  void field(Rounding& r, Wanted);
  template <class E>
    requires requires { EnumNames<E>::kList; }
  void field(E& e, Wanted) {
    const auto value = enum_named<E>(token().text);
    if (token().kind != Token::name || !value) {
      fail_expected("one of " + std::string(EnumNames<E>::kList));
    }
    e = *value;
    take();
  }
  template <class T>
  void field(std::vector<T>& list, Wanted wanted) {
    expect("[");
    list.clear();
    while (!next_is("]")) {
      list.emplace_back();
      field(list.back(), wanted);
      if (!accept(",")) break;
    }
    expect("]");
  }
  template <class T>
  void field(T&, Wanted) {
    fail_expected("no such field");
  }

  std::string_view text_;
  const ParseOptions& options_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  SourceLoc here_;  // of the statement around
  std::vector<std::map<std::string, Name>> scopes_;
  std::vector<std::pair<std::string, Name>> pending_;
  std::vector<Expr> fresh_exprs_;
  std::vector<Buffer> fresh_buffers_;
};

/// Reads `with a=1, b` into the fields of the nodes.
template <class... Ts>
void Parser::with(Ts&... nodes) {
  if (!accept("with")) return;
  do {
    if (token().kind != Token::name) fail_expected("the name of a field");
    const Token name = take();
    const auto one = [&](auto& node) {
      return syntax::with_field(node, name.text, [&]<class V>(V& value) {
        if constexpr (std::is_same_v<V, bool>) {
          if (!next_is("=")) {
            value = true;
            return;
          }
        }
        expect("=");
        field(value, syntax::wanted_type(node, name.text));
      });
    };
    if (!(one(nodes) || ...)) fail(name, format("no field '{}' here", name.text));
  } while (accept(","));
}

}  // namespace tw::ir
