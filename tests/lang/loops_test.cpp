// Loops and conditions (language 5) and the constructs that expand to them.
#include "tests/lang/lang_testing.h"

namespace tw {
namespace {

TEST(Loops, RecordTheirKindAndBounds) {
  EXPECT_EQ(traced([](const Tensors& t) {
              serial(1, t.n, 2, [&](Expr i) { t.a(i) = 0; });
              unroll(4, [&](Expr i) { t.a(i) = 1; });
              unroll(t.n, 4, [&](Expr i) { t.a(i) = 2; });
              vectorized(8, [&](Expr i) { t.a(i) = 3; });
              pipelined(t.n, {.stages = 3, .name = "rows"}, [&](Expr i) { t.a(i) = 4; });
              parallel({t.n, 64}, {.max_vector = 4}, [&](Expr i, Expr j) { t.y(i, j) = 5; });
            }),
            "for i in 1:n:2 {\n"
            "  a[i] = 0.0\n"
            "}\n"
            "for i in 0:4 unrolled {\n"
            "  a[i] = 1.0\n"
            "}\n"
            "for i in 0:n unrolled with factor=4 {\n"
            "  a[i] = 2.0\n"
            "}\n"
            "for i in 0:8 vectorized {\n"
            "  a[i] = 3.0\n"
            "}\n"
            "for i in 0:n pipelined with stages=3, name=\"rows\" {\n"
            "  a[i] = 4.0\n"
            "}\n"
            "parallel i in n, j in 64 with max_vector=4 {\n"
            "  y[i, j] = 5.0\n"
            "}\n");
}

TEST(Loops, NameIndicesByNesting) {
  EXPECT_EQ(traced([](const Tensors& t) {
              serial(4, [&](Expr i) {
                parallel({2, 3}, [&](Expr j, Expr k) { t.y(i, j * 3 + k) = 0; });
              });
            }),
            "for i in 0:4 {\n"
            "  parallel j in 2, k in 3 {\n"
            "    y[i, j * 3 + k] = 0.0\n"
            "  }\n"
            "}\n");
}

TEST(Loops, TakeAVectorOfIndices) {
  EXPECT_EQ(traced([](const Tensors& t) {
              parallel({4, 64}, [&](const std::vector<Expr>& i) { t.y(i[0], i[1]) = 0; });
            }),
            "parallel i in 4, j in 64 {\n"
            "  y[i, j] = 0.0\n"
            "}\n");
}

TEST(Parallel, PerfectlyNestedLoopsAreOneBox) {
  EXPECT_EQ(traced([](const Tensors& t) {
              parallel({4}, [&](Expr i) {
                const Expr v = t.a(i);
                parallel({64}, [&](Expr j) { t.y(i, j) = v; });
              });
            }),
            "parallel i in 4, j in 64 {\n"
            "  let t: f32 = a[i]\n"
            "  y[i, j] = t\n"
            "}\n");
}

TEST(Conditions, HaveTwoBranches) {
  EXPECT_EQ(
      traced([](const Tensors& t) { if_(t.ids(0), [&] { t.a(0) = 1; }, [&] { t.a(0) = 2; }); }),
      "if ids[0] != 0 {\n"
      "  a[0] = 1.0\n"
      "} else {\n"
      "  a[0] = 2.0\n"
      "}\n");
}

TEST(Conditions, LeaveLoops) {
  EXPECT_EQ(traced([](const Tensors& t) {
              while_(true, [&] {
                if_(t.a(0) > 3, [&] { break_(); });
                serial(4, [&](Expr i) {
                  if_(i == 2, [&] { continue_(); });
                  t.a(0) += 1;
                });
              });
            }),
            "while true {\n"
            "  if a[0] > 3.0 {\n"
            "    break\n"
            "  }\n"
            "  for i in 0:4 {\n"
            "    if i == 2 {\n"
            "      continue\n"
            "    }\n"
            "    a[0] = a[0] + 1.0\n"
            "  }\n"
            "}\n");
}

TEST(Persistent, ExpandsToALoopOverDecodedTiles) {
  EXPECT_EQ(traced([](const Tensors& t) {
              persistent({4, 10}, {.wave = 3, .index = t.b, .group = 8},
                         [&](Expr m, Expr n) { t.y(m, n) = 1; });
            }),
            "for i in bx:64:3 {\n"
            "  let tile: i64 = i // 8 // 4 * 8 + i % 8\n"
            "  if tile < 10 {\n"
            "    y[i // 8 % 4, tile] = 1.0\n"
            "  }\n"
            "}\n");
}

TEST(TileScheduler, ExpandsToAVariable) {
  EXPECT_EQ(traced([](const Tensors& t) {
              TileScheduler tiles(4, 5, t.b, 3, {.swizzle = 2, .column_major = true});
              while_(tiles.valid(), [&] {
                const auto [m, n] = tiles.coord();
                t.y(m, n) = 1;
                tiles.next();
              });
            }),
            "var tile_id: i64 = bx\n"
            "while tile_id < 20 {\n"
            "  let id: i64 = tile_id\n"
            "  let group: i64 = id // 8\n"
            "  let width: i64 = max(min(5 - group * 2, 2), 1)\n"
            "  let rest: i64 = id - group * 8\n"
            "  y[rest // width, group * 2 + rest % width] = 1.0\n"
            "  tile_id = tile_id + 3\n"
            "}\n");
}

}  // namespace
}  // namespace tw
