// y = standard normals.
// Bound by instructions: ten rounds of two multiplies and two logic operations make four words,
// which become normals by two logarithms, roots, sines and cosines.
#include <algorithm>
#include <array>
#include <vector>

#include "tilewright/base/integer.h"
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/rand.h"
#include "tilewright/kernels/rand/box_muller.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kGroup = 256;  // streams that torch gives to a block

/// Two normals of two words, by the operations of cuRAND: its sine and cosine are those of the
/// hardware, its root is rounded to the nearest.
std::array<Expr, 2> normals(const Expr& word0, const Expr& word1, bool hardware) {
  constexpr float kTurn = 0x1.921fb6p-30F;  // 2 pi / 2^32
  const Expr square = let(log(uniform(word0)) * -2.0F);
  const Expr angle = let(ieee::fma(cast(word1, f32), kTurn, kTurn / 2));
  const Expr radius = let(hardware ? nearest_root(square) : sqrt(square));
  const auto scaled = [&](const Expr& x) { return ieee::fma(radius, x, 0.0F); };  // no -0
  if (hardware) return {scaled(fast::sin(angle)), scaled(fast::cos(angle))};
  return {scaled(sin(angle)), scaled(cos(angle))};
}

// A block has some neighboring streams of a step, or of several. What is behind y is not stored.
void dataflow(Builder& k, const Case& c) {
  const bool hardware = k.constant("hardware") != 0;
  const int64_t vector = k.constant("vector");  // elements that are all in y, or none
  const int64_t width = k.tunable("width", 1024), depth = k.tunable("depth", 1);
  const Expr n = k.dim("n");
  std::vector<Expr> shape = {n};
  if (vector > 1) shape.emplace_back(vector);
  const Buffer y = k.inout("y", c.dtype(0), shape);
  relaxed_global(y);  // each element is written once
  const Expr seed = k.scalar("seed", i64), first_block = k.scalar("block", i64),
             groups = k.scalar("groups", i64);
  const Expr streams = groups * (kGroup / vector), parts = cdiv(groups, width / kGroup);
  k.launch({parts * cdiv(n, streams * (4 * depth))}, [&](Expr block) {
    const Expr row = let(block / parts), part = let(block - row * parts);
    serial(depth, [&](Expr d) {
      const Expr step = let(row * depth + d);
      const auto z = normals_of_blocks(
          width, seed, [&](const Expr&) { return cast(first_block + step, u64); },
          [&](const Expr& j) { return cast(cast(part * width + j, u32), u64); },
          [&](const Expr& a, const Expr& b) { return normals(a, b, hardware); });
      const Expr stream = part * (width / vector);
      for (int64_t w = 0; w < 4; ++w) {
        const Expr first = let((step * 4 + w) * streams + stream);
        assume(first >= 0);
        const auto normal = [&](const Expr& i) {
          return cast(z[static_cast<size_t>(w)](i), c.dtype(0));
        };
        if (vector == 1) {
          parallel({width},
                   [&](Expr i) { if_(i < streams - stream, [&] { y(first + i) = normal(i); }); });
        } else {
          parallel({width / vector, vector}, [&](Expr i, Expr j) {
            if_(i < streams - stream, [&] { y(first + i, j) = normal(i * vector + j); });
          });
        }
      }
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("randn", dataflow).schedule("cuda", [](Schedule& s, const Case&) {
        s.threads(128).set("depth", 2);
      }));
  return jit;
}

void check_groups(const char* function, int64_t most_groups) {
  constexpr int64_t kMost = (int64_t{1} << 32) / kGroup;
  TW_REQUIRE(most_groups >= 1 && most_groups <= kMost, "{}: most_groups is {}, it must be 1 to {}",
             function, most_groups, kMost);
}

int64_t groups_of(int64_t numel, int64_t most_groups) {
  return std::min(most_groups, ceil_div(numel, kGroup));
}

}  // namespace

uint64_t randn_words(int64_t numel, int64_t most_groups) {
  TW_REQUIRE(numel >= 0, "randn_words: numel is {}, it must not be negative", numel);
  check_groups("randn_words", most_groups);
  if (numel == 0) return 0;
  const int64_t at_once = 4 * kGroup * groups_of(numel, most_groups);
  return static_cast<uint64_t>((numel - 1) / at_once + 1) * 4;
}

void randn(const Tensor& y, const RandnArgs& args, Stream stream) {
  constexpr const char* f = "randn";
  check_dtype(f, {"y", y}, {f32, bf16, f16});
  TW_REQUIRE(y.is_compact(), "{}: y is {}, it must be contiguous", f, y);
  TW_REQUIRE(args.offset % 4 == 0, "{}: the offset is {}, it must be a multiple of 4", f,
             args.offset);
  check_groups(f, args.most_groups);
  const int64_t n = y.numel();
  if (n == 0) return;
  const bool hardware = y.device().kind == DeviceKind::cuda;
  // A CPU looks at each element: it makes vectors of its own.
  const int64_t in_vector = 128 / y.dtype().bits();
  const int64_t vector = hardware && n % in_vector == 0 ? in_vector : 1;
  const Shape shape = vector == 1 ? Shape{n} : Shape{n / vector, vector};
  kernel()({y.dtype()}, {{"hardware", hardware}, {"vector", vector}}, y.device().kind)
      .launch(stream,
              {Tensor(y.data(), y.dtype(), shape, y.device()), static_cast<int64_t>(args.seed),
               static_cast<int64_t>(args.offset / 4), groups_of(n, args.most_groups)});
}

}  // namespace tw::kernels
