// What the printer and the parser of the text form share: operators, heads of statements, the type
// that a literal takes from its place.
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/build.h"

namespace tw::ir::syntax {

// ---- expressions ----
struct Infix {
  OpCode code;
  std::string_view text;
  int precedence;  // a higher one binds stronger
};
inline constexpr int kCompare = 3, kUnary = 10;  // comparisons do not chain
const Infix* infix_of(OpCode code);
const Infix* infix_named(std::string_view text);
/// '-', '!' or '~', else 0.
char prefix_of(OpCode code);

/// The type of an operation's result that follows from its operands; empty for bitcast.
std::optional<DType> result_type(OpCode code, const std::vector<Expr>& args);
/// The operands from here on have one type; those before it stand alone.
inline size_t first_alike(OpCode code) { return op_row(code).op_class == OpClass::choice ? 1 : 0; }
/// Whether those operands have the type of the result.
bool alike_result(OpCode code);

/// A literal as it stands where `wanted` is expected (i64 and f32 if nothing is).
std::string literal_text(const Const& literal, std::optional<DType> wanted);

/// Words that are not names: of statements, memory spaces and dtypes.
bool is_reserved(std::string_view word);
/// A dtype's own name, not its aliases.
std::optional<DType> dtype_word(std::string_view word);

// ---- statements ----
/// The form of a statement: words as they stand, {field}, {vars in extents} (both lists, pairwise),
/// [optional part]. Statements without a form are `name with field=value, ...`. `Alloc`, `Store`
/// and `Seq` are not of this shape and known to printer and parser.
template <class T>
inline constexpr std::string_view kForm = "";
template <>
inline constexpr std::string_view kForm<Let> = "let {var} = {value}";
template <>
inline constexpr std::string_view kForm<For> = "for {var} in {lo}:{hi}[:{step}][ {loop}]{body}";
template <>
inline constexpr std::string_view kForm<Parallel> = "parallel {vars in extents}{body}";
template <>
inline constexpr std::string_view kForm<If> = "if {cond}{then_body}[ else{else_body}]";
template <>
inline constexpr std::string_view kForm<While> = "while {cond}{body}";
template <>
inline constexpr std::string_view kForm<Copy> = "copy {src} -> {dst}";
template <>
inline constexpr std::string_view kForm<Fill> = "fill {dst} = {value}";
template <>
inline constexpr std::string_view kForm<Gemm> = "gemm {a}, {b} -> {c}";
template <>
inline constexpr std::string_view kForm<Reduce> = "reduce {reduce} {src} -> {dst} over {dims}";
template <>
inline constexpr std::string_view kForm<Scan> = "scan {scan} {src} -> {dst} along {dim}";
template <>
inline constexpr std::string_view kForm<ReducerInit> = "init {reducer}[ = {initial}]";
template <>
inline constexpr std::string_view kForm<ReducerUpdate> = "update {reducer}{indices} = {value}";
template <>
inline constexpr std::string_view kForm<ReducerFinalize> = "finalize {reducer} -> {dst}";
template <>
inline constexpr std::string_view kForm<Atomic> = "atomic {op} {buffer}{indices}[, {value}]";
template <>
inline constexpr std::string_view kForm<Print> = "print {message}[ {values}]";
template <>
inline constexpr std::string_view kForm<Assert> = "assert {cond}, {message}[ {values}]";
template <>
inline constexpr std::string_view kForm<Assume> = "assume {cond}";
template <>
inline constexpr std::string_view kForm<WarpOp> = "warp {code}[ {args}]";
template <>
inline constexpr std::string_view kForm<Move> =
    "move {src}{src_indices} -> {dst}{dst_indices} x {count}";
template <>
inline constexpr std::string_view kForm<AsyncCopy> =
    "async {engine} {src} -> {dst}[ on {barrier}{at}]";
template <>
inline constexpr std::string_view kForm<Sync> = "sync {code}[ on {barrier}{at}][, {value}]";
template <>
inline constexpr std::string_view kForm<Launch> = "launch {block_vars in grid}{body}";

struct Piece {
  std::string text;    // words and signs as printed; empty for a field
  std::string field;   // name of the field
  std::string paired;  // of {vars in extents}: the second field
  int part = 0;        // number of the optional part it is in; 0: none
};

/// The pieces of a node's form. The first begins with the word that the statement begins with.
std::vector<Piece> split_form(std::string_view form, std::string_view node_name);
template <class T>
const std::vector<Piece>& pieces() {
  static const std::vector<Piece> list = split_form(kForm<T>, T::kName);
  return list;
}

/// Whether a statement has a form: all but those that printer and parser know.
template <class T>
inline constexpr bool kHasForm =
    !std::is_same_v<T, Seq> && !std::is_same_v<T, Alloc> && !std::is_same_v<T, Store>;
/// The word that the statement begins with; "alloc" and so on where it has no form.
template <class T>
std::string first_word() {
  if constexpr (!kHasForm<T>) return "alloc";
  const std::string& text = pieces<T>().front().text;
  return text.substr(0, text.find(' '));
}

/// Calls f on the field of that name; tells whether there is one.
template <class T, class F>
bool with_field(T& node, std::string_view name, F&& f) {
  bool found = false;
  T::visit_fields(node, [&](const char* field, auto& value) {
    if (!found && name == field) {
      found = true;
      f(value);
    }
  });
  return found;
}

/// The type that a literal takes in a field of a node that is filled up to it.
template <class T>
std::optional<DType> wanted_type(const T& node, std::string_view field) {
  const auto of = [](const auto& handle) -> std::optional<DType> {
    if (!handle) return std::nullopt;
    return handle->dtype;
  };
  if (field == "values" || field == "args" || field == "cond" || field == "clear")
    return std::nullopt;
  if constexpr (std::is_same_v<T, BufferNode>) {
    if (field == "safe_value") return node.dtype;
  }
  if (field == "value" || field == "initial" || field == "compare") {
    if constexpr (requires { node.dst.buffer; }) return of(node.dst.buffer);
    if constexpr (requires { node.reducer; }) return of(node.reducer);
    if constexpr (requires { node.buffer; }) return of(node.buffer);
  }
  if constexpr (requires { node.var; }) return of(node.var);
  return i64;
}

/// Whether a field has the value that is not written: what a new node has, a loop's step of 1, a
/// multiply that does not clear.
template <class T>
bool is_default(const T& node, std::string_view field) {
  if constexpr (std::is_same_v<T, For>) {
    if (field == "step") return is_int(node.step, 1) && node.step.dtype() == node.var.dtype();
  }
  if constexpr (std::is_same_v<T, Gemm>) {
    if (field == "clear") return is_false(node.clear);
  }
  static const T blank{};
  bool same = true;
  with_field(node, field, [&]<class V>(const V& value) {
    if constexpr (requires { value.get(); }) {
      same = !value;
    } else if constexpr (requires { value.empty(); }) {
      same = value.empty();
    } else if constexpr (std::is_same_v<V, Region>) {
      same = !value.buffer;
    } else {
      with_field(blank, field, [&]<class W>(const W& other) {
        if constexpr (std::is_same_v<V, W>) same = value == other;
      });
    }
  });
  return same;
}

}  // namespace tw::ir::syntax
