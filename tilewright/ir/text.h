// The text form of IR: it prints, and parses back to an equal program. Tests, dumps, bug reports
// and tw-opt use it.
//
//   tilewright ir 1                                   # the version of the format
//   program "scale" {
//     symbol n: i64 with multiple_of=16
//     input X: bf16[n, 64]                            # inout, output, pointer likewise
//     scalar a: f32
//     workspace W: f32[n] with zero
//     option fast_math="on"
//     launch bx in (n + 63) // 64 with threads=[128] {
//       alloc t: f32[64, 64] fragment                 # view v: f32[4096] fragment of t
//       var sum: f32 = 0.0                            # a scalar in memory: a buffer of rank 0
//       copy X[bx * 64 :+ 64, 0 :+ 64] -> t           # begin :+ extent; a bare name is all of it
//       for i in 0:n:2 unrolled with factor=4 {
//         sum = sum + a * X[i, 0]                     # loads and stores of sum
//       }
//       parallel i in 64, j in 64 {
//         let v: f32 = exp.fast(t[i, j])
//         t![i, j] = max(v, cast(X[i, j], f32))       # `![` marks an unchecked access
//       }
//     }
//   }
//
// Expressions. Infix as in C, but `/` divides floats, `//` and `%` floor, and comparisons bind
// weaker than bit operations. Everything else is name(operands), followed by `.fast`, `.ieee` or a
// rounding, and by the result type where it does not follow from the operands: cast(x, f32),
// bitcast(x, i32). A literal takes the type that its place wants: that of the stored element, of
// the other operands, or i64 of an index; alone it is i64 or f32. i8(3) and f64(nan) give it.
//
// Statements are separated by nothing or by `;`. Each begins with a word of ir/syntax.h; the fields
// that its head does not show follow as `with name=value, ...`, unless they have their default.
// `# ...` is a comment.
//
// What is printed can be read back: expressions up to kMaxHeight, statements inside each other up
// to twice kMaxNesting (ir/node.h).
//
// Names are made unique: what is visible in one place is printed apart (i, i_1). Positions
// follow a statement or, in brackets, an operation: `(a + b @ "file":line)`. What has none takes
// that of its surroundings.
#pragma once

#include <string>
#include <string_view>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

inline constexpr int kTextVersion = 1;

struct PrintOptions {
  bool locations = false;  // with `@ "file":line`
  bool canonical = false;  // names replaced by numbers: equal programs have equal texts
  bool free = false;       // of a statement or expression: `given` lines declare what it uses
};

std::string print(const Program& program, PrintOptions options = {});
std::string print(const Stmt& stmt, PrintOptions options = {});
std::string print(const Expr& expr, PrintOptions options = {});
/// As a use: its name.
std::string print(const Buffer& buffer, PrintOptions options = {});
std::string print(const Region& region, PrintOptions options = {});

/// For "{}" in messages.
inline std::string to_text(const Stmt& stmt) { return print(stmt); }
inline std::string to_text(const Expr& expr) { return print(expr); }
inline std::string to_text(const Region& region) { return print(region); }

/// The text that decides whether two programs are the same to a compiler: without names and
/// positions. Part of cache keys.
inline std::string canonical_text(const Program& program) {
  return print(program, {.canonical = true});
}

struct ParseOptions {
  std::string file = "text";  // in errors
  /// What has no position gets that in this text.
  bool locate = false;
  /// Declares unknown names by their use: a variable of the type that its place wants (i64), a
  /// buffer `f32 shared` with 1024 elements in each dimension, a `variable` of f32 where a name
  /// without indices is stored to.
  bool infer_free = false;
};

/// All three throw Error with file, line, column and what was expected. A statement or expression
/// may be preceded by declarations of what it uses: `given X: f32[n, 64]`, `given n: i64`.
/// Several statements make a sequence, one is itself.
Program parse_program(std::string_view text, const ParseOptions& options = {});
Stmt parse_stmt(std::string_view text, const ParseOptions& options = {});
Expr parse_expr(std::string_view text, const ParseOptions& options = {});

}  // namespace tw::ir
