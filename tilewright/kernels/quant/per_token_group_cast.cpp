// q, sf = x in groups of columns, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/scale.h"

namespace tw::kernels {
namespace {

// Columns past the end of a row load as zero, which changes no maximum, and are not stored.
void dataflow(Builder& k, DType dtype) {
  const Expr m = k.dim("m"), width = k.dim("k");
  const int64_t group = k.constant("group");
  const bool round_sf = k.constant("round_sf") != 0;
  // Tensors without gaps may come as one row: no division then, for which the loads would wait.
  const bool one_row = k.constant("one_row") != 0;
  const int64_t rows = k.tunable("rows", 1);
  // Groups of a row that are computed together, and how often a block does that.
  const int64_t together = k.tunable("together", 1), turns = k.tunable("turns", 1 << 20);
  const Expr groups = cdiv(width, group), parts = cdiv(groups, together);
  const Buffer x = k.input("x", dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  const Buffer q = k.output("q", f8_e4m3, {m, width}, {.strides = {k.dim("q_row"), 1}});
  const Buffer sf = k.output("sf", f32, {m, groups}, {.strides = {k.dim("sf_row"), 1}});
  const Expr across = cdiv(parts, turns);
  k.launch({cdiv(m, rows) * across}, [&](Expr block) {  // one dimension: GPUs limit the others
    const Expr strip = one_row ? Expr(int64_t{0}) : let(block / across);
    const Expr turn = let(block - strip * across);
    assume(0 <= strip && strip * rows < m && 0 <= turn);
    const auto here = at(strip * rows, rows);
    const auto cast_part = [&](const Expr& part) {
      const auto columns = at(part * (group * together), group * together);
      const Tile v = reshape(cast(load(x(here, columns)), f32), {rows, together, group});
      const Scale scale = e4m3_scale(abs_max(v, 2), round_sf);
      store(sf(here, at(part * together, together)), reshape(scale.factor, {rows, together}));
      store(q(here, columns), reshape(e4m3_codes(v, scale.inverse), {rows, together * group}));
    };
    if (turns == 1) {
      cast_part(turn);
    } else {
      serial(turn * turns, min(parts, (turn + 1) * turns), cast_part);
    }
  });
}

/// A block has 2048 elements of one row, each of its 128 threads 16 of them.
void schedule_gpu(Schedule& s, const Case& c) {
  s.threads(128).set("rows", 1).set("turns", 1).set("together", 2048 / c.constant("group"));
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("per_token_group_cast", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void per_token_group_cast(const Tensor& x, const Tensor& q, const Tensor& sf,
                          const GroupCastArgs& args, Stream stream) {
  TW_REQUIRE(args.group == 32 || args.group == 64 || args.group == 128,
             "per_token_group_cast: the group is {}, it must be 32, 64 or 128", args.group);
  check_rank("per_token_group_cast", {"x", x}, 2);
  check_dtype("per_token_group_cast", {"x", x}, {f32, bf16});
  check_dtype("per_token_group_cast", {"q", q}, {f8_e4m3});
  check_shape("per_token_group_cast", {"q", q}, x.shape(), "like x");
  check_apart("per_token_group_cast", {"q", q}, {{"x", x}, {"sf", sf}});
  check_apart("per_token_group_cast", {"sf", sf}, {{"x", x}});
  check_dtype("per_token_group_cast", {"sf", sf}, {f32});
  check_shape("per_token_group_cast", {"sf", sf}, {x.dim(0), lang::cdiv(x.dim(1), args.group)},
              "[m, ceil(k / group)]");
  // A block of the cpu has whole rows.
  const bool one_row = x.device().kind != DeviceKind::cpu && x.dim(1) % args.group == 0 &&
                       x.is_compact() && q.is_compact() && sf.is_compact();
  const auto row = [&](const Tensor& t) { return one_row ? t.reshape({1, t.numel()}) : t; };
  kernel()({x.dtype()}, {{"group", args.group}, {"round_sf", args.round_sf}, {"one_row", one_row}},
           x.device().kind)
      .launch(stream, {row(x), row(q), row(sf)});
}

}  // namespace tw::kernels
