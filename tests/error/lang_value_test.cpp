// Errors of values while tracing: types, casts, divisions.
#include "tests/error/lang_testing.h"

namespace tw {
namespace {

Expr of(DType dtype) { return Expr(ir::Var::make(to_text(dtype), dtype)); }

TEST(TypeErrors, MixedTypes) {
  expect_error([] { of(bf16) + of(f16); },
               "@: error[E-TYPE-02]: +: operands are bf16 and f16, neither holds the other\n"
               "  help: cast one of them, or both to f32");
  expect_error([] { cast(of(f32), bf16, {.round = Rounding::rs, .rbits = of(u64)}); },
               "@: error[E-TYPE-02]: cast: a value of u64 where u32 is needed\n"
               "  help: write cast(..., u32)");
}

TEST(TypeErrors, NumbersThatDoNotFit) {
  expect_error([] { of(i8) + 300; },
               "@: error[E-TYPE-03]: +: the number 300 does not fit i8\n"
               "  help: cast the other operand to a wider type first");
  expect_error([] { of(i32) * 0.5; },
               "@: error[E-TYPE-03]: *: the number 0.5 does not fit i32\n"
               "  help: cast the other operand to a float type first");
  expect_error([] { of(u32) - -1; },
               "@: error[E-TYPE-03]: -: the number -1 does not fit u32\n"
               "  help: cast the other operand to a wider type first");
  expect_error([] { max(of(f16), 1e6); },
               "@: error[E-TYPE-03]: max: the number 1000000 does not fit f16\n"
               "  help: cast the other operand to a wider type first");
  expect_error([] { less(of(i64), ~uint64_t{0}); },
               "@: error[E-TYPE-03]: <: the number 18446744073709551615 does not fit i64\n"
               "  help: cast the other operand to a wider type first");
  expect_program_error(
      [](Builder& k) {
        const Buffer x = k.input("x", u8, {4});
        safe_value(x, 256);
      },
      "@: error[E-TYPE-03]: safe_value: the number 256 does not fit u8\n"
      "  help: cast the other operand to a wider type first");
}

TEST(TypeErrors, DivisionByTheConstantZero) {
  expect_error([] { of(i32) / 0; }, "@: error[E-TYPE-04]: /: division by the constant 0");
  expect_error([] { of(i32) % 0; }, "@: error[E-TYPE-04]: %: division by the constant 0");
  expect_error([] { floordiv(of(i64), Expr(2) - 2); },
               "@: error[E-TYPE-04]: floordiv: division by the constant 0");
}

TEST(TypeErrors, BitsOfAnotherWidth) {
  expect_error([] { bitcast(of(f32), i64); },
               "@: error[E-TYPE-05]: bitcast: f32 has 32 bits, i64 has 64");
}

TEST(TypeErrors, OperatorsThatATypeDoesNotHave) {
  expect_error([] { of(bool_) + of(bool_); },
               "@: error[E-TYPE-06]: +: not available on bool\n"
               "  help: cast to an integer first, or use && and ||");
  expect_error([] { exp(of(i32)); },
               "@: error[E-TYPE-06]: exp: not available on i32\n"
               "  help: cast to a float type first");
  expect_error([] { of(f8_e4m3) & 1; },
               "@: error[E-TYPE-06]: &: not available on e4m3\n"
               "  help: reinterpret the bits with bitcast first");
  expect_error([] { popcount(of(f32)); },
               "@: error[E-TYPE-06]: popcount: not available on f32\n"
               "  help: reinterpret the bits with bitcast first");
  expect_error([] { byte_permute(of(u64), of(u64), of(u64)); },
               "@: error[E-TYPE-06]: byte_permute: not available on u64\n"
               "  help: cast to u32 first");
  expect_error([] { inf(f8_e4m3); }, "@: error[E-TYPE-06]: inf: e4m3 has no such value");
  expect_trace_error([](const Tensors& t) { t.a(t.s) = 0; },
                     "@: error[E-TYPE-06]: a: an index is f32, it must be an integer\n"
                     "  help: write cast(..., i64)");
  expect_trace_error([](const Tensors& t) { view_at(t.ids(0), f32, {4}); },
                     "@: error[E-TYPE-06]: view_at: the address is i32, it must be u64 or i64");
}

TEST(TypeErrors, RoundingsThatATypeDoesNotHave) {
  expect_error([] { ieee::add(of(bf16), 1, Rounding::rz); },
               "@: error[E-TYPE-07]: ieee::add: not available on bf16 with rz\n"
               "  help: use f32 or f64 with rn, rz, rp or rm");
  expect_error([] { ieee::sqrt(of(f32), Rounding::rs); },
               "@: error[E-TYPE-07]: ieee::sqrt: not available on f32 with rs\n"
               "  help: use f32 or f64 with rn, rz, rp or rm");
}

TEST(TypeErrors, PackedTypesWithAnOddRow) {
  expect_trace_error(
      [](const Tensors&) { shared(f4_e2m1, {4, 7}); },
      "@: error[E-TYPE-08]: shared: e2m1 has two elements a byte, the innermost extent 7 must be "
      "even");
  expect_program_error([](Builder& k) { k.input("w", f4_e2m1, {4, 7}); },
                       "@: error[E-TYPE-08]: w: e2m1 has two elements a byte, the innermost extent "
                       "7 must be even");
}

TEST(CastErrors, PairsWithoutConversion) {
  expect_error([] { cast(of(i32), f8_e4m3); },
               "@: error[E-COPY-03]: cast: no rn conversion from i32 to e4m3\n"
               "  help: go through f32");
  expect_trace_error(
      [](const Tensors& t) {
        const Buffer f = fragment(f8_e4m3, {4});
        f(0) = t.ids(0);
      },
      "@: error[E-COPY-03]: fragment: no conversion from i32 to e4m3\n"
      "  help: cast to f32 first");
}

TEST(CastErrors, RoundingsAndSaturation) {
  expect_error([] { cast(of(f32), f8_e4m3, {.round = Rounding::rz}); },
               "@: error[E-CAST-01]: cast: no rz conversion from f32 to e4m3");
  expect_error([] { cast(of(f32), bf16, {.saturate = false}); },
               "@: error[E-CAST-02]: cast: no unsaturated rn conversion from f32 to bf16");
  expect_error([] { cast(of(f32), bf16, {.round = Rounding::rs}); },
               "@: error[E-CAST-03]: cast: no rs conversion from f32 to bf16\n"
               "  help: give a random word in rbits");
  expect_error([] { cast(of(f32), bf16, {.rbits = of(u32)}); },
               "@: error[E-CAST-03]: cast: no rn conversion from f32 to bf16\n"
               "  help: drop rbits, or round with rs");
}

}  // namespace
}  // namespace tw
