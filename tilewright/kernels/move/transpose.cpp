// y[b, j, i] = x[b, i, j].
// Memory bound: x is read once, y written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/move.h"
#include "tilewright/kernels/work.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kChunk = 16;          // bytes
constexpr int64_t kMostBlocks = 65535;  // along the second and third dimension of a grid
constexpr int64_t kNarrowestTile = 8;   // columns, of 64 bits where there is little work

// A tile of x goes through memory of the block, where it lies transposed: column c of the tile is a
// row of words there. With `pack` values to a word, a thread that has vectors of `pack` rows of x
// writes whole words. With `run` > 0, that many neighboring columns have their chunks of 16 bytes
// exchanged in the same way: place q holds chunk q ^ (c / run % chunks). So threads of a warp,
// whose vectors of x begin `run` columns apart, write to different banks, and what y wants is still
// whole chunks.
void dataflow(Builder& k, DType dtype) {
  const Expr batch = k.dim("batch"), m = k.dim("m"), n = k.dim("n");
  const int64_t down = k.tunable("tile_m", 32), across = k.tunable("tile_n", 32);
  const int64_t pack = k.tunable("pack", 1), run = k.tunable("run", 0);
  const Buffer x =
      k.input("x", dtype, {batch, m, n}, {.strides = {k.dim("x_batch"), k.dim("x_row"), 1}});
  const Buffer y =
      k.output("y", dtype, {batch, n, m}, {.strides = {k.dim("y_batch"), k.dim("y_row"), 1}});
  const DType word = pack == 1 ? dtype : u32;
  // Index i of row c, where the chunks of `size` entries are exchanged.
  const auto place = [&](const Expr& c, const Expr& i, int64_t size, int64_t entries) {
    if (run == 0) return i;
    return ((i / size) ^ (c / run % (entries / size))) * size + i % size;
  };
  // GPUs limit all dimensions of a grid but the first.
  const bool in_grid = k.tunable("in_grid", 0) != 0;
  const Expr tiles_m = cdiv(m, down), tiles_n = cdiv(n, across);
  const Extents grid =
      in_grid ? Extents{tiles_m, tiles_n, batch} : Extents{batch * tiles_m * tiles_n};
  k.launch(grid, [&](const std::vector<Expr>& block) {
    // Neighboring blocks write neighboring parts of y.
    const Expr strip = in_grid ? Expr() : let(block[0] / tiles_m);
    const Expr b = in_grid ? block[2] : let(strip / tiles_n);
    const Expr row = let((in_grid ? block[0] : block[0] - strip * tiles_m) * down);
    const Expr column = let((in_grid ? block[1] : strip - b * tiles_n) * across);
    assume(0 <= b && b < batch && 0 <= row && 0 <= column);  // what quotients hide
    if (k.tunable("whole", 0) != 0) assume(row + down <= m && column + across <= n);
    const Buffer tile = shared(dtype, {across, down}, "tile");
    const Buffer words = pack == 1 ? tile : view(tile, word, {across, down / pack});
    parallel({down / pack, across}, [&](Expr w, Expr c) {
      Expr value = x(b, row + w * pack, column + c);
      for (int64_t i = 1; i < pack; ++i) {
        const Expr next = x(b, row + w * pack + i, column + c);
        value = cast(value, word) | (cast(next, word) << (i * dtype.bits()));
      }
      words(c, place(c, w, kChunk * 8 / word.bits(), down / pack)) = value;
    });
    parallel({across, down}, [&](Expr c, Expr i) {
      y(b, column + c, row + i) = tile(c, place(c, i, kChunk * 8 / dtype.bits(), down));
    });
  });
}

/// Both sides of a tile are whole lines of memory, or half of one where there is little work; rows
/// of the block's memory take all banks, and a thread has one vector of each row that shares a
/// word.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t bytes = c.dtype().bits() / 8, vector = kChunk / bytes;
  const bool little = c.constant("little") != 0;
  s.threads(little ? 128 : 256).set("in_grid", c.constant("in_grid"));
  s.set("tile_m", (bytes <= 2 ? 128 : 256) / bytes).set("tile_n", (little ? 4 : 8) * vector);
  s.set("pack", std::max<int64_t>(4 / bytes, 1)).set("run", vector);
}

/// Of whole tiles: nothing is guarded, which is half of the code.
void schedule_whole(Schedule& s, const Case& c) {
  schedule_gpu(s, c);
  s.set("whole", 1);
}

KernelDef definition(int64_t largest_tile) {
  return define_kernel("transpose", dataflow)
      .schedule("cuda", schedule_whole)
      .when([=](const Sizes& size) {
        return size("m") % largest_tile == 0 && size("n") % largest_tile == 0;
      })
      .schedule("cuda", schedule_gpu);
}

const Jit& kernel(DType dtype) {
  static const Jit of_bytes(definition(128)), of_more(definition(64));
  return dtype.bits() == 8 ? of_bytes : of_more;
}

/// As one of a batch.
Tensor in_batch(const Tensor& t) {
  if (t.rank() == 3) return t;
  return {t.data(), t.dtype(), {1, t.dim(0), t.dim(1)}, {0, t.stride(0), t.stride(1)}, t.device()};
}

}  // namespace

void transpose(const Tensor& x, const Tensor& y, Stream stream) {
  TW_REQUIRE(x.rank() == 2 || x.rank() == 3, "transpose: x is {}, it must have 2 or 3 dimensions",
             x);
  check_dtype("transpose", {"y", y}, {x.dtype()});
  check_shape("transpose", {"y", y}, x.transpose(x.rank() - 2, x.rank() - 1).shape(),
              "[..., n, m]");
  check_apart("transpose", {"y", y}, {{"x", x}});
  const Tensor from = in_batch(as_bits("transpose", {"x", x}));
  const Tensor to = in_batch(as_bits("transpose", {"y", y}));
  const DeviceKind device = x.device().kind;
  const bool in_grid = device != DeviceKind::cpu && from.dim(0) <= kMostBlocks &&
                       from.dim(2) <= kMostBlocks * kNarrowestTile;
  kernel(from.dtype())(
      {from.dtype()},
      {{"in_grid", in_grid}, {"little", work_of(2 * from.bytes(), device) == Work::little}}, device)
      .launch(stream, {from, to});
}

}  // namespace tw::kernels
