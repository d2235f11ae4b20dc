// x = code * sf in groups of columns of each row, see quant.h for the formula.
// Memory bound: x is read once and written once.
#include <algorithm>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"

namespace tw::kernels {
namespace {

// Blocks share out the groups of all rows. Columns past the end of a row load as zero, which
// changes no maximum, and are not stored.
void dataflow(Builder& k, const Case& c) {
  const DType x_dtype = c.dtype(0), format = c.dtype(1);
  const auto kind = static_cast<ScaleKind>(k.constant("kind"));
  const int64_t width = k.constant("k"), group = k.constant("group");
  const int64_t together = k.tunable("together", 1);  // groups of a block
  const Expr m = k.dim("m");
  const Buffer x = k.inout("x", x_dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  relaxed_global(x);  // a thread reads what it writes, and nothing else
  const Expr least = k.scalar("least", f32);
  const int64_t groups = cdiv(width, group);
  k.launch({cdiv(m * groups, together)}, [&](Expr block) {
    const Expr first = let(block * together), row0 = let(first / groups),
               group0 = let(first % groups);
    const auto row = [&](const Expr& i) { return row0 + (group0 + i) / groups; };
    const auto column = [&](const Expr& i) { return (group0 + i) % groups * group; };
    const Buffer v = fragment(x_dtype, {together, group}, "v");
    parallel({together, group}, [&](Expr i, Expr j) { v(i, j) = x(row(i), column(i) + j); });
    const Tile largest = cast(abs_max(value(v), 1), f32);
    const Scale scale = scale_of(largest, least, format, kind);
    const Buffer factor = scale.factor.fragment();
    const DType product = product_type(x_dtype, format, kind);
    const Buffer by = multiplier(scale, product).fragment();
    parallel({together, group}, [&](Expr i, Expr j) {
      const Expr code = code_of(v(i, j), by(i, 0), format, product);
      x(row(i), column(i) + j) = cast(ieee::mul(cast(code, f32), factor(i, 0)), x_dtype);
    });
  });
}

/// Each of a block's 128 threads has 16 elements; of e2m1, which takes more instructions, a block
/// has a row if that fills it.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t width = c.constant("k"), group = c.constant("group");
  const int64_t threads =
      c.dtype() == bf16 && c.dtype(1) == f4_e2m1 ? threads_of_row(width, group) : 0;
  if (threads != 0) {
    s.threads(threads).set("together", width / group);
    return;
  }
  s.threads(128).set("together", std::max<int64_t>(2048 / group, 1));
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("per_token_cast_and_cast_back", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void per_token_cast_and_cast_back(const Tensor& x, DType format, const FakeCastArgs& args,
                                  Stream stream) {
  constexpr const char* f = "per_token_cast_and_cast_back";
  check_rank(f, {"x", x}, 2);
  check_dtype(f, {"x", x}, {f32, bf16});
  TW_REQUIRE(format == f8_e4m3 || format == f4_e2m1,
             "{}: the format is {}, it must be e4m3 or e2m1", f, format);
  const int64_t g = args.group;
  TW_REQUIRE(g == 16 || g == 32 || g == 64 || g == 128,
             "{}: the group is {}, it must be 16, 32, 64 or 128", f, g);
  TW_REQUIRE(!args.round_sf || !args.e4m3_sf,
             "{}: factors are powers of two or e4m3, not both: leave round_sf or e4m3_sf out", f);
  if (x.numel() == 0) return;
  const DType sf = args.e4m3_sf ? f8_e4m3 : f32;
  kernel()(
      {x.dtype(), format},
      {{"kind", static_cast<int64_t>(kind_of(args.round_sf, sf))}, {"k", x.dim(1)}, {"group", g}},
      x.device().kind)
      .launch(stream, {x, least_or_default(args.least, format, sf)});
}

}  // namespace tw::kernels
