// y[s, :] = mean of x[t, :] over the tokens of sequence s, divided by its norm if asked for.
// Memory bound: x is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/pool.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr tokens = k.dim("tokens"), b = k.dim("b");
  const Expr x_row = k.dim("x_row"), y_row = k.dim("y_row");
  const int64_t h = k.constant("h");
  const Buffer x = k.input("x", dtype, {tokens, h}, {.strides = {x_row, 1}});
  const Buffer cu_seqlens = k.input("cu_seqlens", index_type, {b + 1});
  const Buffer y = k.output("y", f32, {b, h}, {.strides = {y_row, 1}});
  k.launch({b}, [&](Expr s) {
    const Expr first = let(cast(cu_seqlens(s), i64)), last = let(cast(cu_seqlens(s + 1), i64));
    device_assert(0 <= first && first <= last && last <= tokens,
                  "masked_mean_pool: a sequence is from {} to {} of {} tokens",
                  {first, last, tokens});
    const Buffer sums = fragment(f32, {h}, "sums");
    clear(sums);
    serial(first, last,
           [&](Expr t) { parallel({h}, [&](Expr j) { sums(j) += cast(x(t, j), f32); }); });
    Tile row = value(sums) / cast(max(last - first, 1), f32);
    if (k.constant("l2_normalize") != 0) row = row / max(sqrt(sum(row * row, 0)), 1e-12F);
    store(y(s, all), row);
  });
}

const Jit& kernel() {
  static const Jit jit(define_kernel("masked_mean_pool", dataflow));
  return jit;
}

}  // namespace

void masked_mean_pool(const Tensor& x, const Tensor& cu_seqlens, const Tensor& y, bool l2_normalize,
                      Stream stream) {
  check_rank("masked_mean_pool", {"x", x}, 2);
  check_dtype("masked_mean_pool", {"x", x}, {f32, bf16, f16});
  check_rank("masked_mean_pool", {"cu_seqlens", cu_seqlens}, 1);
  check_dtype("masked_mean_pool", {"cu_seqlens", cu_seqlens}, {i32, i64});
  TW_REQUIRE(cu_seqlens.dim(0) > 0, "masked_mean_pool: cu_seqlens is {}, it must be [b + 1]",
             cu_seqlens);
  check_dtype("masked_mean_pool", {"y", y}, {f32});
  check_shape("masked_mean_pool", {"y", y}, {cu_seqlens.dim(0) - 1, x.dim(1)}, "[b, h]");
  check_apart("masked_mean_pool", {"y", y}, {{"x", x}, {"cu_seqlens", cu_seqlens}});
  if (y.numel() == 0) return;  // tiles have no extent of 0
  kernel()({x.dtype(), cu_seqlens.dtype()}, {{"h", x.dim(1)}, {"l2_normalize", l2_normalize}},
           y.device().kind)
      .launch(stream, {x, cu_seqlens, y});
}

}  // namespace tw::kernels
