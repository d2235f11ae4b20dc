// c = activation((a * scale_a) (b * scale_b)^T + bias) + residual.
// Compute bound: 2 m n k operations. The products of 128 steps of k are added up by a multiply of
// their own, whose sums then get their scale.
#include <algorithm>
#include <array>
#include <string>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/gemm.h"
#include "tilewright/kernels/gemm/epilogue.h"

namespace tw::kernels {
namespace {

constexpr int64_t kGroup = 128;

void dataflow(Builder& b, DType out) {
  const Epilogue epilogue = Epilogue::of_code(b.constant("epilogue"));
  const int64_t bm = b.tunable("bm", 128), bn = b.tunable("bn", 128);  // bn: a multiple of kGroup
  const Expr m = b.dim("m"), n = b.dim("n"), k = b.dim("k"), groups = cdiv(k, kGroup);
  const auto matrix = [&](const char* name, DType dtype, const Expr& rows, const Expr& columns) {
    return b.input(name, dtype, {rows, columns},
                   {.strides = {b.dim(std::string(name) + "_row"), 1}});
  };
  const Buffer x = matrix("a", f8_e4m3, m, k), scale_x = matrix("scale_a", f32, m, groups);
  const Buffer y = matrix("b", f8_e4m3, n, k);
  const Buffer scale_y = matrix("scale_b", f32, cdiv(n, kGroup), groups);
  Buffer bias, residual;
  if (epilogue.bias) bias = b.input("bias", epilogue.bias_dtype, {n});
  if (epilogue.residual) residual = matrix("residual", epilogue.residual_dtype, m, n);
  const Buffer c = b.output("c", out, {m, n}, {.strides = {b.dim("c_row"), 1}});
  b.launch({cdiv(n, bn), cdiv(m, bm)}, [&](Expr bx, Expr by) {
    const Buffer x_tile = shared(f8_e4m3, {bm, kGroup}, "a_tile");
    const Buffer y_tile = shared(f8_e4m3, {bn, kGroup}, "b_tile");
    const Buffer sums = fragment(f32, {bm, bn}, "sums");
    const auto rows = at(by * bm, bm), columns = at(bx * bn, bn);
    clear(sums);
    pipelined(groups, [&](Expr i) {
      copy(x(rows, at(i * kGroup, kGroup)), x_tile);
      copy(y(columns, at(i * kGroup, kGroup)), y_tile);
      gemm_scaled_software(x_tile, y_tile, sums, scale_x(rows, at(i, 1)),
                           scale_y(at(bx * (bn / kGroup), bn / kGroup), at(i, 1)),
                           {.trans_b = true});
    });
    parallel({bm, bn}, [&](Expr i, Expr j) {
      const Expr row = let(by * bm + i), column = let(bx * bn + j);
      c(row, column) =
          cast(finish(epilogue.activation, sums(i, j), epilogue.bias ? Expr(bias(column)) : Expr(),
                      epilogue.residual ? Expr(residual(row, column)) : Expr()),
               out);
    });
  });
}

void schedule_cpu(Schedule& s, const Case& c) {
  s.set("bm", c.constant("rows")).set("bn", c.constant("columns"));
}

const Jit& kernel() {
  static const Jit jit(define_kernel("gemm_fp8", [](Builder& b, const Case& c) {
                         dataflow(b, c.dtype(0));
                       }).schedule(targets::cpu, schedule_cpu));
  return jit;
}

}  // namespace

void gemm_fp8(const Tensor& a, const Tensor& scale_a, const Tensor& b, const Tensor& scale_b,
              const Tensor& c, const GemmArgs& args, Stream stream) {
  TW_REQUIRE(!args.trans_a && !args.trans_b,
             "gemm_fp8: trans_a is {} and trans_b is {}, it takes a [m, k] and b [n, k] only",
             args.trans_a, args.trans_b);
  check_rank("gemm_fp8", {"a", a}, 2);
  check_dtype("gemm_fp8", {"a", a}, {f8_e4m3});
  check_rank("gemm_fp8", {"b", b}, 2);
  check_dtype("gemm_fp8", {"b", b}, {f8_e4m3});
  const int64_t m = a.dim(0), n = b.dim(0), k = a.dim(1), groups = lang::cdiv(k, kGroup);
  TW_REQUIRE(b.dim(1) == k, "gemm_fp8: K is {} in a {} but {} in b {}", k, a, b.dim(1), b);
  check_dtype("gemm_fp8", {"scale_a", scale_a}, {f32});
  check_shape("gemm_fp8", {"scale_a", scale_a}, {m, groups}, "[m, ceil(k / 128)]");
  check_dtype("gemm_fp8", {"scale_b", scale_b}, {f32});
  check_shape("gemm_fp8", {"scale_b", scale_b}, {lang::cdiv(n, kGroup), groups},
              "[ceil(n / 128), ceil(k / 128)]");
  check_shape("gemm_fp8", {"c", c}, {m, n}, "[m, n]");
  check_epilogue("gemm_fp8", c, args);
  check_apart("gemm_fp8", {"c", c},
              {{"a", a}, {"scale_a", scale_a}, {"b", b}, {"scale_b", scale_b}});

  // Few tiles of different sizes, so that few kernels are compiled.
  const int64_t rows = std::clamp<int64_t>((m + 31) / 32 * 32, 32, 128);
  const Kernel& run = kernel()({c.dtype()},
                               {{"rows", rows},
                                {"columns", n <= kGroup ? kGroup : 3 * kGroup},
                                {"epilogue", Epilogue(args).code()}},
                               c.device().kind);
  std::array<Arg, 7> list{a, scale_a, b, scale_b};
  size_t count = 4;
  if (args.bias != nullptr) list[count++] = *args.bias;
  if (args.residual != nullptr) list[count++] = *args.residual;
  list[count++] = c;
  run(std::span(list.data(), count),
      {.stream = stream, .in_place = true});  // c may be the residual
}

}  // namespace tw::kernels
