// q, sf = x in blocks of 128 x 128, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once; a block of x stays in a near cache.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/scale.h"

namespace tw::kernels {
namespace {

constexpr int64_t kBlock = 128;

// Elements outside x load as zero, which changes no maximum, and are not stored.
void dataflow(Builder& k, DType dtype) {
  const Expr m = k.dim("m"), width = k.dim("k");
  const bool round_sf = k.constant("round_sf") != 0;
  const Expr down = cdiv(m, kBlock), across = cdiv(width, kBlock);
  const Buffer x = k.input("x", dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  const Buffer q = k.output("q", f8_e4m3, {m, width}, {.strides = {k.dim("q_row"), 1}});
  const Buffer sf = k.output("sf", f32, {down, across}, {.strides = {k.dim("sf_row"), 1}});
  k.launch({across, down}, [&](Expr bx, Expr by) {
    const auto rows = at(by * kBlock, kBlock), columns = at(bx * kBlock, kBlock);
    const Tile v = cast(load(x(rows, columns)), f32);
    const Scale scale = scale_of(abs_max(abs_max(v, 1), 0), least_amax(f8_e4m3, f32), f8_e4m3,
                                 round_sf ? ScaleKind::power_of_two : ScaleKind::exact);
    store(sf(at(by, 1), at(bx, 1)), scale.factor);
    store(q(rows, columns),
          map({"code", SourceLoc::here()}, {v, scale.inverse},
              [](const std::vector<Operand>& x) { return cast(ieee::mul(x[0], x[1]), f8_e4m3); }));
  });
}

const Jit& kernel() {
  static const Jit jit(define_kernel("per_block_cast", dataflow));
  return jit;
}

}  // namespace

void per_block_cast(const Tensor& x, const Tensor& q, const Tensor& sf, bool round_sf,
                    Stream stream) {
  check_rank("per_block_cast", {"x", x}, 2);
  check_dtype("per_block_cast", {"x", x}, {f32, bf16});
  check_dtype("per_block_cast", {"q", q}, {f8_e4m3});
  check_shape("per_block_cast", {"q", q}, x.shape(), "like x");
  check_apart("per_block_cast", {"q", q}, {{"x", x}, {"sf", sf}});
  check_apart("per_block_cast", {"sf", sf}, {{"x", x}});
  check_dtype("per_block_cast", {"sf", sf}, {f32});
  check_shape("per_block_cast", {"sf", sf},
              {lang::cdiv(x.dim(0), kBlock), lang::cdiv(x.dim(1), kBlock)},
              "[ceil(m / 128), ceil(k / 128)]");
  kernel()({x.dtype()}, {{"round_sf", round_sf}}, x.device().kind).launch(stream, {x, q, sf});
}

}  // namespace tw::kernels
