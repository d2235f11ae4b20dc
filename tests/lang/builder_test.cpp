#include <gtest/gtest.h>

#include "tests/ir/ir_testing.h"
#include "tilewright/lang/lang.h"

namespace tw {
namespace {

TEST(Program, TracesTheScaleAndAddKernelOfTheSpecification) {
  const ir::Program p = program("scale_add", [](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("x", bf16, {n, 1024}), y = k.output("y", bf16, {n, 1024});
    k.launch({cdiv(n, 64)}, {.threads = 128}, [&](Expr b) {
      const Buffer t = fragment(f32, {64, 1024}, "t");
      copy(x(at(b * 64, 64), all), t);
      parallel({64, 1024}, [&](Expr i, Expr j) { t(i, j) = t(i, j) * 2.f + 1.f; });
      copy(t, y(at(b * 64, 64), all));
    });
  });
  EXPECT_EQ(ir::print(p), R"(tilewright ir 1
program "scale_add" {
  symbol n: i64
  input x: bf16[n, 1024]
  output y: bf16[n, 1024]
  launch bx in (n + 63) // 64 with threads=[128] {
    alloc t: f32[64, 1024] fragment
    copy x[bx * 64 :+ 64, 0 :+ 1024] -> t
    parallel i in 64, j in 1024 {
      t[i, j] = t[i, j] * 2.0 + 1.0
    }
    copy t -> y[bx * 64 :+ 64, 0 :+ 1024]
  }
}
)");
}
TEST(Program, KnowsTheThreadsThatTheLaunchFixes) {
  program("threads", [](Builder& k) {
    k.launch({4}, {.threads = {32, 4}}, [&](Expr) {
      EXPECT_EQ(thread_extent(0), 32);
      EXPECT_EQ(thread_extent(1), 4);
      EXPECT_EQ(thread_extent(2), 1);
    });
  });
}

TEST(Program, ExpandsTheRmsNormOfTheStyleGuide) {
  const ir::Program p = program("rms_norm", [](Builder& k) {
    const Expr n = k.dim("n");
    const int64_t h = 256, rows = 4;
    const DType dtype = bf16;
    const Buffer x = k.input("x", dtype, {n, h}), w = k.input("w", f32, {h});
    const Buffer y = k.output("y", dtype, {n, h});
    const Expr eps = k.scalar("eps", f32);
    k.launch({cdiv(n, rows)}, [&](Expr block) {
      const auto here = at(block * rows, rows);
      const Tile v = cast(load(x(here, all)), f32);
      const Tile scale = rsqrt(sum(v * v, /*axis=*/1) / h + eps);  // [rows, 1]
      store(y(here, all), cast(v * scale * load(w), dtype));
    });
  });
  EXPECT_EQ(ir::print(p), R"(tilewright ir 1
program "rms_norm" {
  symbol n: i64
  input x: bf16[n, 256]
  input w: f32[256]
  output y: bf16[n, 256]
  scalar eps: f32
  launch bx in (n + 3) // 4 {
    alloc x_tile: bf16[4, 256] fragment
    copy x[bx * 4 :+ 4, 0 :+ 256] -> x_tile
    alloc tile: f32[4, 256] fragment
    parallel i in 4, j in 256 {
      let t: f32 = cast(x_tile[i, j], f32)
      tile[i, j] = t * t
    }
    alloc sum: f32[4, 1] fragment
    reduce sum tile -> sum over [1]
    alloc w_tile: f32[256] fragment
    copy w -> w_tile
    alloc tile_1: f32[4, 1] fragment
    parallel i in 4 {
      tile_1[i, 0] = rsqrt(sum[i, 0] / 256.0 + eps)
    }
    parallel i in 4, j in 256 {
      y[bx * 4 + i, j] = cast(cast(x_tile[i, j], f32) * tile_1[i, 0] * w_tile[j], bf16)
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
