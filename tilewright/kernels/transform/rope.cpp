// x = x rotated by angles that depend on the position, in place.
// Memory bound: x is read and written once.
#include <algorithm>
#include <bit>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/transform.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

/// Where the elements of a pair lie: half a row apart, or side by side; then as one word, where
/// addresses and strides allow it.
enum class Pairs : uint8_t { halves, neighbors, words };

// A block has some heads of a token.
void dataflow(Builder& k, const Case& c) {
  const DType dtype = c.dtype(0), position_type = c.dtype(1);
  const auto pairs = static_cast<Pairs>(k.constant("pairs"));
  const bool conjugate = k.constant("conjugate") != 0;
  const bool has_positions = k.constant("has_positions") != 0;
  const int64_t half = k.constant("d") / 2, heads = k.constant("heads");
  const bool in_words = pairs == Pairs::words;
  const Expr b = k.dim("b"), s = k.dim("s"), h = k.dim("h"), rows = k.dim("rows");
  const DType word = dtype == bf16 ? u32 : u64;
  const Buffer x = k.inout("x", in_words ? word : dtype, {b, s, h, in_words ? half : 2 * half},
                           {.strides = {k.dim("x_batch"), k.dim("x_token"), k.dim("x_head"), 1}});
  const Buffer cos_sin = k.input("cos_sin", f32, {rows, 2 * half}, {.strides = {k.dim("row"), 1}});
  Buffer positions;
  if (has_positions) {
    positions = k.input("positions", position_type, {b, s}, {.strides = {k.dim("batch"), 1}});
  }
  const Expr offset = k.scalar("offset", i64);
  relaxed_global(x);  // a thread reads what it writes, before
  const auto first = [=](const Expr& j) { return pairs == Pairs::neighbors ? 2 * j : j; };
  const auto second = [=](const Expr& j) {
    return pairs == Pairs::neighbors ? 2 * j + 1 : j + half;
  };

  const Expr parts = cdiv(h, heads);
  k.launch({b * s * parts}, [&](Expr block) {
    const Expr token = let(block / parts), head = let((block - token * parts) * heads);
    const Expr batch = let(token / s), t = let(token - batch * s);
    const Expr p = let((has_positions ? cast(positions(batch, t), i64) : t) + offset);
    const Extents box = {heads, half};
    const Buffer cosines = fragment(f32, {half}, "cosines"), sines = fragment(f32, {half}, "sines");
    parallel({half}, [&](Expr j) { cosines(j) = cos_sin(p, j); });
    parallel({half}, [&](Expr j) { sines(j) = cos_sin(p, half + j); });
    const auto rotated_first = [&](const Expr& u, const Expr& v, const Expr& j) {
      const Expr product = ieee::mul(v, sines(j));
      return cast(ieee::fma(u, cosines(j), conjugate ? product : -product), dtype);
    };
    const auto rotated_second = [&](const Expr& u, const Expr& v, const Expr& j) {
      const Expr sine = sines(j);
      return cast(ieee::fma(u, conjugate ? -sine : sine, ieee::mul(v, cosines(j))), dtype);
    };
    if (in_words) {
      const auto halves = [&](const Expr& w) -> Pair {
        if (dtype == bf16) {
          const Pair both = unpack(w, bf16);
          return {let(cast(both[0], f32)), let(cast(both[1], f32))};
        }
        return {let(bitcast(cast(w, u32), f32)), let(bitcast(cast(w >> 32, u32), f32))};
      };
      parallel(box, [&](Expr i, Expr j) {
        const auto [u, v] = halves(let(x(batch, t, head + i, j)));
        const Expr a = rotated_first(u, v, j), z = rotated_second(u, v, j);
        x(batch, t, head + i, j) =
            dtype == bf16 ? pack(a, z)
                          : cast(bitcast(a, u32), u64) | cast(bitcast(z, u32), u64) << 32;
      });
      return;
    }
    const Buffer us = fragment(f32, box, "u"), vs = fragment(f32, box, "v");
    parallel(box, [&](Expr i, Expr j) { us(i, j) = cast(x(batch, t, head + i, first(j)), f32); });
    parallel(box, [&](Expr i, Expr j) { vs(i, j) = cast(x(batch, t, head + i, second(j)), f32); });
    parallel(box, [&](Expr i, Expr j) {
      x(batch, t, head + i, first(j)) = rotated_first(us(i, j), vs(i, j), j);
    });
    parallel(box, [&](Expr i, Expr j) {
      x(batch, t, head + i, second(j)) = rotated_second(us(i, j), vs(i, j), j);
    });
  });
}

/// Each thread has 8 pairs.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t pairs = c.constant("heads") * c.constant("d") / 2;
  s.threads(std::clamp<int64_t>(pairs / 8, 32, 256));
}

const Jit& kernel() {
  static const Jit jit(define_kernel("apply_rotary", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

/// [t, ...] as one sequence.
Tensor with_batch(const Tensor& t, int rank) {
  if (t.rank() == rank) return t;
  Shape shape = Shape::filled(rank, 1), strides = Shape::filled(rank, 0);
  std::copy(t.shape().begin(), t.shape().end(), &shape[1]);
  std::copy(t.strides().begin(), t.strides().end(), &strides[1]);
  return {t.data(), t.dtype(), shape, strides, t.device()};
}

/// Pairs of neighbors as words; none where they don't lie at multiples of a word.
Tensor as_words(const Tensor& x) {
  const auto size = static_cast<uintptr_t>(x.dtype().bits() / 4);
  if (reinterpret_cast<uintptr_t>(x.data()) % size != 0) return {};
  Shape shape = x.shape(), strides = x.strides();
  for (int i = 0; i < 3; ++i) {
    if (strides[i] % 2 != 0) return {};
    strides[i] /= 2;
  }
  shape[3] /= 2;
  return {x.data(), x.dtype() == bf16 ? u32 : u64, shape, strides, x.device()};
}

}  // namespace

void apply_rotary(const Tensor& x_, const Tensor& cos_sin, const RotaryArgs& args, Stream stream) {
  constexpr const char* f = "apply_rotary";
  const Named x{"x", x_}, table{"cos_sin", cos_sin};
  TW_REQUIRE(x_.rank() == 3 || x_.rank() == 4,
             "{}: x is {}, it must be [t, heads, d] or [b, s, heads, d]", f, x_);
  check_dtype(f, x, {f32, bf16});
  const int64_t d = x_.dim(-1);
  TW_REQUIRE(d == 64 || d == 128, "{}: x is {}, its heads must have 64 or 128 elements", f, x_);
  check_rank(f, table, 2);
  check_dtype(f, table, {f32});
  check_shape(f, table, {cos_sin.dim(0), d}, "[rows, d]");
  check_apart(f, x, {table});
  Tensor positions;
  if (args.positions != nullptr) {
    const Named given{"positions", *args.positions};
    check_dtype(f, given, {i32, i64});
    check_shape(f, given, x_.rank() == 3 ? Shape{x_.dim(0)} : Shape{x_.dim(0), x_.dim(1)},
                "like tokens of x");
    check_apart(f, x, {given});
    positions = with_batch(*args.positions, 2);
  }
  if (x_.numel() == 0) return;
  const Tensor batched = with_batch(x_, 4);
  Tensor words;
  if (args.interleaved && x_.stride(-1) == 1) words = as_words(batched);
  const bool in_words = words.data() != nullptr;
  const Pairs pairs = !args.interleaved ? Pairs::halves
                      : in_words        ? Pairs::words
                                        : Pairs::neighbors;
  const auto heads =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(x_.dim(-2), 32))));
  const bool has_positions = args.positions != nullptr;
  const Kernel& compiled = kernel()({x_.dtype(), has_positions ? positions.dtype() : i64},
                                    {{"pairs", static_cast<int64_t>(pairs)},
                                     {"conjugate", args.conjugate},
                                     {"has_positions", has_positions},
                                     {"d", d},
                                     {"heads", heads}},
                                    x_.device().kind);
  const Tensor& to = in_words ? words : batched;
  if (has_positions) return compiled.launch(stream, {to, cos_sin, positions, args.offset});
  compiled.launch(stream, {to, cos_sin, args.offset});
}

}  // namespace tw::kernels
