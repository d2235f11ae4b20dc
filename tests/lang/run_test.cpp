// What expansions compute, executed by the interpreter.
#include <cmath>
#include <numeric>

#include "tests/lang/lang_testing.h"
#include "tilewright/sim/interpreter.h"

namespace tw {
namespace {

/// Runs a program and expects no findings.
void run(const ir::Program& p, const std::vector<sim::Argument>& arguments) {
  const sim::RunResult result = sim::interpret(p, arguments);
  for (const sim::Finding& finding : result.findings) ADD_FAILURE() << to_text(finding);
}

template <class T>
sim::Argument tensor(std::vector<T>& data, DType dtype, std::vector<int64_t> shape) {
  return sim::Argument::tensor(data.data(), dtype, std::move(shape));
}

/// The four words of philox for a key and a counter of 128 bits.
std::vector<uint32_t> philox_words(uint64_t key, uint64_t low, uint64_t high) {
  std::vector<uint32_t> words(4);
  run(program("philox",
              [&](Builder& k) {
                const Buffer out = k.output("out", u32, {4});
                k.launch({1}, [&](Expr) {
                  const auto w = philox(key, low, high);
                  for (int n = 0; n < 4; ++n) out(n) = w[static_cast<size_t>(n)];
                });
              }),
      {tensor(words, u32, {4})});
  return words;
}

TEST(Philox, GivesThePublishedWords) {
  // Known answers of Random123, philox4x32 with 10 rounds.
  EXPECT_EQ(philox_words(0, 0, 0),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_words(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_words(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, EmitsTheWordsOfItsSubsequenceFromItsOffset) {
  std::vector<uint32_t> words(6);
  run(program("rng",
              [&](Builder& k) {
                const Buffer out = k.output("out", u32, {6});
                k.launch({1}, [&](Expr) {
                  Random g = rng(7, 3, 2);
                  serial(6, [&](Expr i) { out(i) = g.next(); });
                });
              }),
      {tensor(words, u32, {6})});
  const auto first = philox_words(7, 0, 3), second = philox_words(7, 1, 3);
  EXPECT_EQ(words, (std::vector<uint32_t>{first[2], first[3], second[0], second[1], second[2],
                                          second[3]}));
}

TEST(Rng, IsUniformAboveZeroAndUpToOne) {
  std::vector<uint32_t> in = {0, 1u << 31, ~0u};
  std::vector<float> out(3);
  run(program("uniform",
              [](Builder& k) {
                const Buffer x = k.input("x", u32, {3}), y = k.output("y", f32, {3});
                k.launch({3}, [&](Expr b) { y(b) = uniform(x(b)); });
              }),
      {tensor(in, u32, {3}), tensor(out, f32, {3})});
  EXPECT_EQ(out, (std::vector<float>{0x1p-33f, 0.5f + 0x1p-33f, 1.0f}));
}

/// How often each tile of a domain is visited by W blocks.
std::vector<int> visits(int64_t rows, int64_t columns, int64_t workers,
                        const std::function<void(Expr block, const Buffer& seen)>& body) {
  std::vector<int> seen(static_cast<size_t>(rows * columns));
  run(program("visits",
              [&](Builder& k) {
                const Buffer s = k.inout("seen", i32, {rows, columns});
                k.launch({workers}, [&](Expr b) { body(b, s); });
              }),
      {tensor(seen, i32, {rows, columns})});
  return seen;
}

TEST(Persistent, VisitsEveryTileOnce) {
  for (const auto& [rows, columns, workers, group] : std::vector<std::array<int64_t, 4>>{
           {4, 10, 3, 8}, {1, 1, 4, 1}, {5, 7, 2, 3}, {3, 4, 16, 9}}) {
    const auto seen = visits(rows, columns, workers, [&](Expr b, const Buffer& s) {
      persistent({rows, columns}, {.wave = workers, .index = b, .group = group},
                 [&](Expr m, Expr n) { atomic_add(s(m, n), 1); });
    });
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << rows << " x " << columns;
  }
}

TEST(Persistent, DecodesAsTheWorkedExample) {
  // A5: linear 33 is tile (0, 9), linear 37 is skipped.
  std::vector<int> order(64, -1);
  run(program("decode",
              [&](Builder& k) {
                const Buffer out = k.inout("out", i32, {64});
                k.launch({64}, [&](Expr b) {
                  persistent({4, 10}, {.wave = 64, .index = b, .group = 8},
                             [&](Expr m, Expr n) { out(b) = cast(m * 10 + n, i32); });
                });
              }),
      {tensor(order, i32, {64})});
  EXPECT_EQ(order[33], 9);
  EXPECT_EQ(order[37], -1);
}

TEST(TileScheduler, VisitsEveryTileOnce) {
  for (const bool column_major : {false, true}) {
    for (const int64_t swizzle : {1, 2, 3, 8}) {
      const auto seen = visits(4, 5, 3, [&](Expr b, const Buffer& s) {
        TileScheduler tiles(4, 5, b, 3, {.swizzle = swizzle, .column_major = column_major});
        while_(tiles.valid(), [&] {
          const auto [m, n] = tiles.coord();
          atomic_add(s(m, n), 1);
          tiles.next();
        });
      });
      EXPECT_EQ(seen, std::vector<int>(20, 1)) << "swizzle " << swizzle;
    }
  }
}

TEST(TileScheduler, DecodesAsTheWorkedExample) {
  // A6: id 9 is (0, 3), id 17 is (1, 4).
  std::vector<int> tiles(20);
  run(program("decode",
              [&](Builder& k) {
                const Buffer out = k.output("out", i32, {20});
                k.launch({20}, [&](Expr b) {
                  const TileScheduler s(4, 5, b, 20, {.swizzle = 2, .column_major = true});
                  const auto [m, n] = s.coord();
                  out(b) = cast(m * 10 + n, i32);
                });
              }),
      {tensor(tiles, i32, {20})});
  EXPECT_EQ(tiles[9], 3);
  EXPECT_EQ(tiles[17], 14);
}

TEST(Functions, OfTheLibraryAreExact) {
  std::vector<float> x = {-100, -3, -0.5f, 0, 1e-4f, 0.5f, 3, 100}, y(x.size() * 5);
  const auto n = static_cast<int64_t>(x.size());
  run(program("functions",
              [&](Builder& k) {
                const Buffer in = k.input("in", f32, {n}), out = k.output("out", f32, {5, n});
                k.launch({n}, [&](Expr b) {
                  out(0, b) = sigmoid(in(b));
                  out(1, b) = silu(in(b));
                  out(2, b) = softplus(in(b));
                  out(3, b) = gelu(in(b));
                  out(4, b) = gelu_tanh(in(b));
                });
              }),
      {tensor(x, f32, {n}), tensor(y, f32, {5, n})});
  const std::vector<std::function<double(double)>> exact = {
      [](double v) { return 1 / (1 + std::exp(-v)); },
      [](double v) { return v / (1 + std::exp(-v)); },
      [](double v) { return std::max(v, 0.) + std::log1p(std::exp(-std::abs(v))); },
      [](double v) { return v * 0.5 * std::erfc(-v * M_SQRT1_2); },
      [](double v) {
        return v / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      }};
  for (size_t f = 0; f < exact.size(); ++f) {
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = exact[f](x[i]);
      EXPECT_NEAR(y[f * x.size() + i], want, 1e-6 * std::max(1., std::abs(want)))
          << f << " of " << x[i];
    }
  }
}

TEST(Gemm, ScaledInSoftwareIsTheProductOfScaledOperands) {
  constexpr int64_t m = 4, n = 8, k_size = 64, groups = 4;
  std::vector<float> a(m * k_size), b(n * k_size), sa(m * groups), sb(2 * groups), c(m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  for (size_t i = 0; i < sa.size(); ++i) sa[i] = std::ldexp(1.f, static_cast<int>(i % 3) - 1);
  for (size_t i = 0; i < sb.size(); ++i) sb[i] = std::ldexp(1.f, static_cast<int>(i % 4) - 1);
  run(program("scaled",
              [&](Builder& k) {
                const Buffer ga = k.input("a", f32, {m, k_size}),
                             gb = k.input("b", f32, {n, k_size});
                const Buffer gsa = k.input("sa", f32, {m, groups}),
                             gsb = k.input("sb", f32, {2, groups});
                const Buffer gc = k.output("c", f32, {m, n});
                k.launch({1}, [&](Expr) {
                  const Buffer tile_a = shared(f32, {m, k_size}), tile_b = shared(f32, {n, k_size});
                  const Buffer tile_c = fragment(f32, {m, n});
                  copy(ga, tile_a);
                  copy(gb, tile_b);
                  gemm_scaled_software(tile_a, tile_b, tile_c, gsa, gsb,
                                       {.trans_b = true, .clear = true});
                  copy(tile_c, gc);
                });
              }),
      {tensor(a, f32, {m, k_size}), tensor(b, f32, {n, k_size}), tensor(sa, f32, {m, groups}),
       tensor(sb, f32, {2, groups}), tensor(c, f32, {m, n})});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float want = 0;
      for (int64_t l = 0; l < k_size; ++l) {
        const int64_t g = l / (k_size / groups);
        want += a[i * k_size + l] * sa[i * groups + g] * b[j * k_size + l] * sb[j / 4 * groups + g];
      }
      EXPECT_EQ(c[i * n + j], want) << i << ", " << j;
    }
  }
}

TEST(Settle, NothingIsReadOutsideItsGuard) {
  // The interpreter reports every access outside a block's buffer.
  std::vector<float> out(8, -1);
  run(program("guards",
              [](Builder& k) {
                const Buffer y = k.inout("y", f32, {8});
                k.launch({8}, [&](Expr b) {
                  const Buffer f = local(f32, {4}, "f");
                  serial(4, [&](Expr i) { f(i) = i + 1; });
                  const Expr v = f(b);
                  const Expr big = b < 4 && v > 2 && v * v < 16;
                  const Expr chosen = if_else(b >= 4, 0, v + v);
                  f(0) = 0;
                  y(b) = select(big, chosen, 0);
                });
              }),
      {tensor(out, f32, {8})});
  EXPECT_EQ(out, (std::vector<float>{0, 0, 6, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace tw
