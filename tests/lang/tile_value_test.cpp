// Tile values (language 10.1): what they expand to.
#include "tests/lang/lang_testing.h"

namespace tw {
namespace {

TEST(TileValues, AChainIsOneLoopIntoItsDestination) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const auto here = at(t.b * 8, 8);
              const Tile v = load(t.x(here, all));
              store(t.y(here, all), max(v * 2 - t.s, 0.f) + 1);
            }),
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[bx * 8 :+ 8, 0 :+ 64] -> x_tile\n"
            "parallel i in 8, j in 64 {\n"
            "  y[bx * 8 + i, j] = max(x_tile[i, j] * 2.0 - s, 0.0) + 1.0\n"
            "}\n");
}

TEST(TileValues, ALoadThatIsStoredIsACopy) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile v = load(t.x(at(0, 8), all));
              store(t.y(at(0, 8), all), v);
              store(t.y(at(8, 8), all), cast(v, f32));
            }),
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "copy x_tile -> y[0 :+ 8, 0 :+ 64]\n"
            "copy x_tile -> y[8 :+ 8, 0 :+ 64]\n");
}

TEST(TileValues, SoftmaxKeepsWhatItUsesAgain) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const auto row = at(t.b, 1);
              const Tile v = load(t.x(row, all));
              const Tile e = exp(v - max(v, 1));
              store(t.y(row, all), e / sum(e, 1));
            }),
            "alloc x_tile: f32[1, 64] fragment\n"
            "copy x[bx, 0 :+ 64] -> x_tile\n"
            "alloc max: f32[1, 1] fragment\n"
            "reduce max x_tile -> max over [1]\n"
            "alloc tile: f32[1, 64] fragment\n"
            "parallel i in 64 {\n"
            "  tile[0, i] = exp(x_tile[0, i] - max[0, 0])\n"
            "}\n"
            "alloc sum: f32[1, 1] fragment\n"
            "reduce sum tile -> sum over [1]\n"
            "parallel i in 64 {\n"
            "  y[bx, i] = tile[0, i] / sum[0, 0]\n"
            "}\n");
}

TEST(TileValues, ACostlyPartThatIsBroadcastIsComputedOnce) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile v = load(t.x(at(0, 8), all)), w = load(t.x(0));
              store(t.y(at(0, 8), all), v * exp(w) + w * 2);
            }),
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "alloc x_tile_1: f32[1, 64] fragment\n"
            "copy x[0, 0 :+ 64] -> x_tile_1\n"
            "alloc tile: f32[1, 64] fragment\n"
            "parallel i in 64 {\n"
            "  tile[0, i] = exp(x_tile_1[0, i])\n"
            "}\n"
            "parallel i in 8, j in 64 {\n"
            "  y[i, j] = x_tile[i, j] * tile[0, j] + x_tile_1[0, j] * 2.0\n"
            "}\n");
}

TEST(TileValues, ACostlyValueThatIsStoredTwiceIsComputedOnce) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile e = exp(load(t.x(at(0, 8), all)));
              store(t.y(at(0, 8), all), e);
              store(t.y(at(8, 8), all), e + 1);
            }),
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "alloc tile: f32[8, 64] fragment\n"
            "parallel i in 8, j in 64 {\n"
            "  tile[i, j] = exp(x_tile[i, j])\n"
            "}\n"
            "copy tile -> y[0 :+ 8, 0 :+ 64]\n"
            "parallel i in 8, j in 64 {\n"
            "  y[8 + i, j] = tile[i, j] + 1.0\n"
            "}\n");
}

TEST(TileValues, ACostlyValueOutsideALoopIsComputedOutside) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile e = exp(load(t.x(at(0, 8), all)));
              serial(4, [&](Expr i) { store(t.y(at(i * 8, 8), all), e + i); });
            }),
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "alloc tile: f32[8, 64] fragment\n"
            "parallel i in 8, j in 64 {\n"
            "  tile[i, j] = exp(x_tile[i, j])\n"
            "}\n"
            "for i in 0:4 {\n"
            "  parallel j in 8, k in 64 {\n"
            "    y[i * 8 + j, k] = tile[j, k] + cast(i, f32)\n"
            "  }\n"
            "}\n");
}

TEST(TileValues, BroadcastFromTheRight) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile column = load(t.a(at(0, 8)));
              store(t.y(at(0, 8), all), reshape(column, {8, 1}) + load(t.x(0)));
            }),
            "alloc a_tile: f32[8] fragment\n"
            "copy a[0 :+ 8] -> a_tile\n"
            "alloc x_tile: f32[1, 64] fragment\n"
            "copy x[0, 0 :+ 64] -> x_tile\n"
            "parallel i in 8, j in 64 {\n"
            "  y[i, j] = a_tile[i] + x_tile[0, j]\n"
            "}\n");
}

TEST(TileValues, ReshapeAndTransposeMapIndices) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile v = load(t.x(at(0, 64), all));
              store(t.y(at(0, 64), all), transpose(v) + 1);
              store(t.y(at(0, 128), at(0, 32)), reshape(v, {128, 32}));
            }),
            "alloc x_tile: f32[64, 64] fragment\n"
            "copy x[0 :+ 64, 0 :+ 64] -> x_tile\n"
            "parallel i in 64, j in 64 {\n"
            "  y[i, j] = x_tile[j, i] + 1.0\n"
            "}\n"
            "parallel i in 128, j in 32 {\n"
            "  y[i, j] = x_tile[(i * 32 + j) // 64, (i * 32 + j) % 64]\n"
            "}\n");
}

TEST(TileValues, IotaAndFullReadNothing) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile column = iota({8, 64}, 1);
              store(t.y(at(0, 8), all), select(column < 3, full({8, 64}, t.s), 0));
            }),
            "parallel i in 8, j in 64 {\n"
            "  y[i, j] = select(cast(j, i32) < 3, s, 0.0)\n"
            "}\n");
}

TEST(TileValues, MixWithTheCore) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {8, 64}, "f");
              copy(t.x(0, 0), f);
              const Tile old = value(f);
              clear(f);
              store(t.y(at(0, 8), all), old * 2 + value(f));
              const Buffer a = (load(t.x(at(0, 8), all)) * 2).fragment();
              gemm(a, load(t.x(at(0, 64), all)).fragment(), f);
            }),
            "alloc f: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> f\n"
            "alloc tile: f32[8, 64] fragment\n"
            "copy f -> tile\n"
            "fill f = 0.0\n"
            "parallel i in 8, j in 64 {\n"
            "  y[i, j] = tile[i, j] * 2.0 + f[i, j]\n"
            "}\n"
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "alloc tile_1: f32[8, 64] fragment\n"
            "parallel i in 8, j in 64 {\n"
            "  tile_1[i, j] = x_tile[i, j] * 2.0\n"
            "}\n"
            "alloc x_tile_1: f32[64, 64] fragment\n"
            "copy x[0 :+ 64, 0 :+ 64] -> x_tile_1\n"
            "gemm tile_1, x_tile_1 -> f\n");
}

TEST(TileValues, StoreIntoWhatTheyRead) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = fragment(f32, {8, 8}, "f");
              clear(f);
              store(f, transpose(value(f)) + 1);
              store(t.y(at(0, 8), at(0, 8)), value(f));
            }),
            "alloc f: f32[8, 8] fragment\n"
            "fill f = 0.0\n"
            "alloc tile: f32[8, 8] fragment\n"
            "parallel i in 8, j in 8 {\n"
            "  tile[i, j] = f[j, i] + 1.0\n"
            "}\n"
            "copy tile -> f\n"
            "copy f -> y[0 :+ 8, 0 :+ 8]\n");
}

TEST(TileValues, Multiply) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Tile q = load(t.x(at(0, 8), all)), k = load(t.x(at(8, 16), all));
              const Tile scores = dot(q, transpose(k)) * 0.125;
              store(t.y(at(0, 8), all), dot(scores, k, q));
            }),
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "alloc x_tile_1: f32[16, 64] fragment\n"
            "copy x[8 :+ 16, 0 :+ 64] -> x_tile_1\n"
            "alloc dot: f32[8, 16] fragment\n"
            "gemm x_tile, x_tile_1 -> dot with trans_b, clear=true\n"
            "alloc tile: f32[8, 16] fragment\n"
            "parallel i in 8, j in 16 {\n"
            "  tile[i, j] = dot[i, j] * 0.125\n"
            "}\n"
            "alloc dot_1: f32[8, 64] fragment\n"
            "copy x_tile -> dot_1\n"
            "gemm tile, x_tile_1 -> dot_1\n"
            "copy dot_1 -> y[0 :+ 8, 0 :+ 64]\n");
}

TEST(TileValues, ReadValuesOfTheirPoint) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr factor = t.a(0);
              const Tile v = load(t.x(at(0, 8), all)) * factor;
              t.a(0) = 3;
              store(t.y(at(0, 8), all), v);
            }),
            "let t: f32 = a[0]\n"
            "alloc x_tile: f32[8, 64] fragment\n"
            "copy x[0 :+ 8, 0 :+ 64] -> x_tile\n"
            "a[0] = 3.0\n"
            "parallel i in 8, j in 64 {\n"
            "  y[i, j] = x_tile[i, j] * t\n"
            "}\n");
}

}  // namespace
}  // namespace tw
