// x = x rotated by angles that depend on the position, in place.
// Memory bound: x is read and written once.
#include <algorithm>
#include <vector>

#include "tilewright/base/integer.h"
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/transform.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

/// Where the elements of a pair lie: half a row apart, or side by side; then as one word, where
/// addresses and strides allow it.
enum class Pairs : uint8_t { halves, neighbors, words };

// A block is a warp, whose threads ask for four vectors each before the first has come. On an H200
// (8192 tokens, 64 heads of 128 and 8 of the key) that takes 73 us, two vectors a thread 94, blocks
// of two warps 77. On the CPU a block has as many heads.
constexpr int64_t kThreads = 32, kBytesOfThread = 64;

/// So many that the last block of a token has few less; one where there is none.
int64_t heads_of_block(int64_t heads, int64_t d, DType dtype) {
  if (heads == 0) return 1;
  const int64_t most = kThreads * kBytesOfThread / (d * dtype.bits() / 8);
  return ceil_div(heads, ceil_div(heads, most));
}

// A block has some heads of a token, of x or behind them of the key. What it rotates is asked for
// before the position, on which all else waits.
void dataflow(Builder& k, const Case& c) {
  const DType dtype = c.dtype(0), position_type = c.dtype(1);
  const auto pairs = static_cast<Pairs>(k.constant("pairs"));
  const bool conjugate = k.constant("conjugate") != 0;
  const bool has_positions = k.constant("has_positions") != 0;
  const int64_t half = k.constant("d") / 2, h = k.constant("h"),
                key_heads = k.constant("key_heads");
  const bool in_words = pairs == Pairs::words;
  const DType element = !in_words ? dtype : dtype == bf16 ? u32 : u64;
  const Expr b = k.dim("b"), s = k.dim("s"), rows = k.dim("rows");
  const auto rotated = [&](const std::string& name, int64_t h) {
    const Buffer x = k.inout(
        name, element, {b, s, h, in_words ? half : 2 * half},
        {.strides = {k.dim(name + "_batch"), k.dim(name + "_token"), k.dim(name + "_head"), 1}});
    relaxed_global(x);  // a thread reads what it writes, before
    return x;
  };
  const Buffer x = rotated("x", h), key = key_heads > 0 ? rotated("key", key_heads) : Buffer();
  const Buffer cos_sin = k.input("cos_sin", f32, {rows, 2 * half}, {.strides = {k.dim("row"), 1}});
  Buffer positions;
  if (has_positions) {
    positions = k.input("positions", position_type, {b, s}, {.strides = {k.dim("batch"), 1}});
  }
  const Expr offset = k.scalar("offset", i64);

  const int64_t heads = heads_of_block(h, 2 * half, dtype);
  const int64_t together = heads_of_block(key_heads, 2 * half, dtype);
  const int64_t parts_of_x = ceil_div(h, heads), parts = parts_of_x + ceil_div(key_heads, together);
  k.launch({b * s * parts}, [&](Expr block) {
    const Expr token = let(block / parts), part = let(block % parts);
    const Expr batch = let(token / s), t = let(token - batch * s);
    assume(0 <= batch && batch < b && 0 <= t && t < s);  // what quotients hide
    const auto first = [=](const Expr& j) { return pairs == Pairs::neighbors ? 2 * j : j; };
    const auto second = [=](const Expr& j) {
      return pairs == Pairs::neighbors ? 2 * j + 1 : j + half;
    };
    const auto rotate = [&](const Buffer& x, const Expr& head, int64_t heads) {
      const Extents box = {heads, half};
      const auto load = [&](const char* name, auto&& column) {
        const Buffer tile = fragment(element, box, name);
        parallel(box, [&](Expr i, Expr j) { tile(i, j) = x(batch, t, head + i, column(j)); });
        return tile;
      };
      const auto store = [&](auto&& column, auto&& value) {
        parallel(box, [&](Expr i, Expr j) { x(batch, t, head + i, column(j)) = value(i, j); });
      };
      const Buffer us = load(in_words ? "words" : "u", first),
                   vs = in_words ? Buffer() : load("v", second);

      const Expr p = let((has_positions ? cast(positions(batch, t), i64) : t) + offset);
      const Buffer cosines = fragment(f32, {half}, "cosines"),
                   sines = fragment(f32, {half}, "sines");
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
        return store(first, [&](const Expr& i, const Expr& j) {
          const Expr word = us(i, j);
          if (dtype == bf16) {
            const Pair both = unpack(word, bf16);
            const Expr u = let(cast(both[0], f32)), v = let(cast(both[1], f32));
            return pack(rotated_first(u, v, j), rotated_second(u, v, j));
          }
          const Expr u = let(bitcast(cast(word, u32), f32)),
                     v = let(bitcast(cast(word >> 32, u32), f32));
          const auto bits = [](const Expr& value) { return cast(bitcast(value, u32), u64); };
          return bits(rotated_first(u, v, j)) | bits(rotated_second(u, v, j)) << 32;
        });
      }
      const auto u = [&](const Expr& i, const Expr& j) { return cast(us(i, j), f32); };
      const auto v = [&](const Expr& i, const Expr& j) { return cast(vs(i, j), f32); };
      store(first, [&](Expr i, Expr j) { return rotated_first(u(i, j), v(i, j), j); });
      store(second, [&](Expr i, Expr j) { return rotated_second(u(i, j), v(i, j), j); });
    };
    const auto of_x = [&] { rotate(x, part * heads, heads); };
    const auto of_key = [&] { rotate(key, (part - parts_of_x) * together, together); };
    if (key_heads == 0) return of_x();
    if (h == 0) return of_key();
    if_(part < parts_of_x, of_x, of_key);
  });
}

void schedule_gpu(Schedule& s, const Case&) { s.threads(kThreads); }

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
  if (x.stride(-1) != 1) return {};
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
  const int rank = x_.rank();
  TW_REQUIRE(rank == 3 || rank == 4, "{}: x is {}, it must be [t, heads, d] or [b, s, heads, d]", f,
             x_);
  check_dtype(f, x, {f32, bf16});
  const int64_t d = x_.dim(-1);
  TW_REQUIRE(d == 64 || d == 128, "{}: x is {}, its heads must have 64 or 128 elements", f, x_);
  check_rank(f, table, 2);
  check_dtype(f, table, {f32});
  check_shape(f, table, {cos_sin.dim(0), d}, "[rows, d]");
  check_apart(f, x, {table});
  if (args.key != nullptr) {
    const Named key{"key", *args.key};
    check_rank(f, key, rank);
    check_dtype(f, key, {x_.dtype()});
    Shape like_x = x_.shape();
    like_x[rank - 2] = args.key->dim(-2);
    check_shape(f, key, like_x, "like x but for its heads");
    check_apart(f, key, {x, table});
  }
  Tensor positions;
  if (args.positions != nullptr) {
    const Named given{"positions", *args.positions};
    check_dtype(f, given, {i32, i64});
    check_shape(f, given, rank == 3 ? Shape{x_.dim(0)} : Shape{x_.dim(0), x_.dim(1)},
                "like tokens of x");
    check_apart(f, x, {given});
    if (args.key != nullptr) check_apart(f, {"key", *args.key}, {given});
    positions = with_batch(*args.positions, 2);
  }
  const bool has_key = args.key != nullptr && args.key->numel() != 0,
             has_positions = args.positions != nullptr;
  if (x_.numel() == 0 && !has_key) return;
  Tensor query = with_batch(x_, 4), key = has_key ? with_batch(*args.key, 4) : Tensor();
  Pairs pairs = args.interleaved ? Pairs::neighbors : Pairs::halves;
  const Tensor query_words = as_words(query), key_words = has_key ? as_words(key) : Tensor();
  if (args.interleaved && query_words.data() != nullptr &&
      (!has_key || key_words.data() != nullptr)) {
    pairs = Pairs::words;
    query = query_words;
    key = key_words;
  }
  const Kernel& compiled = kernel()({x_.dtype(), has_positions ? positions.dtype() : i64},
                                    {{"pairs", static_cast<int64_t>(pairs)},
                                     {"conjugate", args.conjugate},
                                     {"has_positions", has_positions},
                                     {"h", x_.dim(-2)},
                                     {"key_heads", has_key ? key.dim(2) : 0},
                                     {"d", d}},
                                    x_.device().kind);
  std::vector<Arg> arguments = {query};
  if (has_key) arguments.emplace_back(key);
  arguments.emplace_back(cos_sin);
  if (has_positions) arguments.emplace_back(positions);
  arguments.emplace_back(args.offset);
  compiled(arguments, {.stream = stream});
}

}  // namespace tw::kernels
