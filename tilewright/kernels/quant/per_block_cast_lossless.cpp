// q * sf = x * x_sf exactly, with a factor for larger blocks, see quant.h for the formula.
// Memory bound: x is read once, q written once.
#include <algorithm>
#include <bit>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/factors.h"

namespace tw::kernels {
namespace {

constexpr int64_t kMostElements = 1 << 15;  // of a block that is held
constexpr int64_t kCodes = 8;               // that make a word of x, and two of the result
constexpr int64_t kPiece = 16;              // codes of a thread and row
constexpr int64_t kWholeRows = 128;         // a multiple of the rows of most tiles
constexpr int32_t kRoom = 6;                // 2^6 times the largest e2m1 is e4m3,
constexpr int32_t kBelow = 5;               // and so is 2^-5 times the smallest

// A tile has some blocks of the result, each of some blocks of x, of which only factors need to
// meet. Outside of x there are none. Blocks of x are cut into pieces, of which each thread that has
// one loads the factor: they become 16 bytes of q, next to those that the next thread writes.
void dataflow(Builder& k, const Case& c) {
  const DType x_sf_dtype = c.dtype(0), sf_dtype = c.dtype(1);
  const int64_t width = k.constant("k");
  const int64_t x_rows = k.constant("x_rows"), x_columns = k.constant("x_columns");
  const int64_t rows = k.constant("rows"), columns = k.constant("columns");
  const int64_t strips = k.tunable("strips", 1), together = k.tunable("together", 1);  // of a tile
  const int64_t piece = std::min(x_columns, kPiece), pieces = x_columns / piece;       // of a block
  const int64_t inner_m = rows / x_rows, inner_k = columns / piece;
  const Expr m = k.dim("m");
  const Expr x_blocks = cdiv(m, x_rows);
  // Words of x and q, where all rows have whole ones, or elements.
  const bool in_words = k.constant("in_words") != 0;
  const int64_t run = in_words ? kCodes : 1;  // elements that are computed together
  const Buffer x =
      k.input("x", in_words ? u32 : f4_e2m1, {m, width / run}, {.strides = {k.dim("x_row"), 1}});
  const Factors x_sf(k, "x_sf", x_sf_dtype, x_blocks, cdiv(width, x_columns), false,
                     words_of(x_columns));
  const Buffer q =
      k.output("q", in_words ? u64 : f8_e4m3, {m, width / run}, {.strides = {k.dim("q_row"), 1}});
  const Factors sf(k, "sf", sf_dtype, cdiv(m, rows), cdiv(width, columns), true, words_of(columns));
  const int64_t across = cdiv(sf.padded(), together);
  k.launch({cdiv(sf.padded_rows(), strips) * across}, [&](Expr block) {
    const Expr strip0 = let(block / across * strips), first = let(block % across * together);
    if (k.tunable("whole", 0) != 0) assume((strip0 + strips) * rows <= m);
    const Extents blocks = {strips, inner_m, together, inner_k};
    const auto x_row = [&](const Expr& t, const Expr& r) { return (strip0 + t) * inner_m + r; };
    const auto x_piece = [&](const Expr& s, const Expr& i) { return (first + s) * inner_k + i; };
    const Extents box = {strips, inner_m, x_rows, together, inner_k, piece / run};
    const auto row = [&](const Expr& t, const Expr& r, const Expr& i) {
      return x_row(t, r) * x_rows + i;
    };
    const auto column = [&](const Expr& s, const Expr& b, const Expr& j) {
      return x_piece(s, b) * (piece / run) + j;
    };
    const Buffer v = fragment(x.dtype(), box, "v");
    parallel(box, [&](Expr t, Expr r, Expr i, Expr s, Expr b, Expr j) {
      v(t, r, i, s, b, j) = x(row(t, r, i), column(s, b, j));
    });
    const Buffer e = fragment(i32, blocks, "e"),
                 most = fragment(i32, {strips, 1, together, 1}, "most");
    parallel(blocks, [&](Expr t, Expr r, Expr s, Expr i) {
      e(t, r, s, i) = x_sf.load_exponent(x_row(t, r), x_piece(s, i) / pieces);
    });
    reduce(ReduceKind::max, e, most, {1, 3});
    const Buffer shared_e = fragment(i32, {strips, together}, "shared_e");
    parallel({strips, together}, [&](Expr t, Expr s) {
      shared_e(t, s) = max(most(t, 0, s, 0) - kRoom, 0);
      sf.store(strip0 + t, first + s, bitcast(shared_e(t, s) << 23, f32));
    });
    const auto distance = [&](const Expr& t, const Expr& r, const Expr& s, const Expr& i) {
      const Expr d = e(t, r, s, i) - shared_e(t, s);
      device_assert(d >= -kBelow || x_row(t, r) >= x_blocks ||
                        x_piece(s, i) >= cdiv(width, x_columns) * pieces,
                    "per_block_cast_lossless: factors of a block are too far apart",
                    {e(t, r, s, i), shared_e(t, s)});
      return d;
    };
    if (in_words) {
      // Codes of e4m3 of 0 .5 1 1.5 and of 2 3 4 6, times 2^d: 8 d more, but for 0.
      const Buffer low = fragment(u32, blocks, "low"), high = fragment(u32, blocks, "high");
      parallel(blocks, [&](Expr t, Expr r, Expr s, Expr i) {
        const Expr d = bitcast(distance(t, r, s, i), u32);
        low(t, r, s, i) = 0x3C383000U + d * 0x08080800U;
        high(t, r, s, i) = 0x4C484440U + d * 0x08080808U;
      });
      parallel(box, [&](Expr t, Expr r, Expr i, Expr s, Expr b, Expr j) {
        // Four nibbles choose magnitudes by their lower bits; bit 3 spreads the sign of a byte.
        const auto word = [&](const Expr& codes, const Expr& lower_bits) {
          const Expr magnitudes = byte_permute(low(t, r, s, b), high(t, r, s, b), lower_bits);
          const Expr signs = byte_permute(Expr(0x80808080U), Expr(0x80808080U), codes);
          return cast(magnitudes | (signs << 7 & 0x80808080U), u64);
        };
        const Expr codes = v(t, r, i, s, b, j), lower_bits = codes & 0x77777777U;
        q(row(t, r, i), column(s, b, j)) =
            word(codes, lower_bits) | word(codes >> 16, lower_bits >> 16) << 32;
      });
      return;
    }
    const Buffer by = fragment(f32, blocks, "by");
    parallel(blocks, [&](Expr t, Expr r, Expr s, Expr i) {
      by(t, r, s, i) = bitcast((distance(t, r, s, i) + 127) << 23, f32);
    });
    parallel(box, [&](Expr t, Expr r, Expr i, Expr s, Expr b, Expr j) {
      q(row(t, r, i), column(s, b, j)) =
          cast(ieee::mul(cast(v(t, r, i, s, b, j), f32), by(t, r, s, b)), f8_e4m3);
    });
  });
}

// Blocks of more elements: one at a time, row by row in strips, first the factors of x and then its
// codes. There are few of them, so that a device isn't filled.
void long_blocks(Builder& k, const Case& c) {
  const int64_t width = k.constant("k");
  const int64_t x_rows = k.constant("x_rows"), x_columns = k.constant("x_columns");
  const int64_t rows = k.constant("rows"), columns = k.constant("columns");
  const int64_t strip = std::min(k.tunable("strip", 4096), columns);
  const int64_t inner_m = rows / x_rows, inner_k = columns / x_columns;
  const int64_t used = std::min(columns, width);  // columns of a block that x has
  const Expr m = k.dim("m");
  const Expr x_blocks = cdiv(m, x_rows);
  const Buffer x = k.input("x", f4_e2m1, {m, width}, {.strides = {k.dim("x_row"), 1}});
  const Factors x_sf(k, "x_sf", c.dtype(0), x_blocks, cdiv(width, x_columns), false,
                     words_of(x_columns));
  const Buffer q = k.output("q", f8_e4m3, {m, width}, {.strides = {k.dim("q_row"), 1}});
  relaxed_global(q);  // each element is written once
  const Factors sf(k, "sf", c.dtype(1), cdiv(m, rows), cdiv(width, columns), true,
                   words_of(columns));
  k.launch({sf.padded_rows() * sf.padded()}, [&](Expr block) {
    const Expr i = let(block / sf.padded()), j = let(block % sf.padded());
    const auto exponent = [&](const Expr& r, const Expr& b) { return x_sf.load_exponent(r, b); };
    const int64_t some = std::min(strip, inner_k);  // factors
    const Buffer most = fragment(i32, {some}, "most"), e = fragment(i32, {1}, "e");
    clear(most);
    serial(max(min(x_blocks - i * inner_m, inner_m), 0), [&](Expr r) {
      serial(cdiv(cdiv(used, x_columns), some), [&](Expr s) {
        parallel({some}, [&](Expr b) {
          most(b) = max(most(b), exponent(i * inner_m + r, j * inner_k + s * some + b));
        });
      });
    });
    reduce(ReduceKind::max, most, e, {0});
    const Buffer shared_e = fragment(i32, {1}, "shared_e");
    parallel({1}, [&](Expr one) {
      shared_e(one) = max(e(one) - kRoom, 0);
      sf.store(i, j + one, bitcast(shared_e(one) << 23, f32));
    });
    const int64_t run = std::min(x_columns, strip);  // with one factor of x
    const Buffer by = fragment(f32, {strip / run}, "by");
    serial(max(min(m - i * rows, rows), 0), [&](Expr row_of_block) {
      const Expr row = let(i * rows + row_of_block);
      serial(cdiv(used, strip), [&](Expr s) {
        const Expr first = let(j * columns + s * strip);
        parallel({strip / run}, [&](Expr b) {
          const Expr column = first / x_columns + b * run / x_columns;
          const Expr from = exponent(row / x_rows, column), d = from - shared_e(0);
          device_assert(d >= -kBelow || column >= cdiv(width, x_columns),
                        "per_block_cast_lossless: factors of a block are too far apart",
                        {from, shared_e(0)});
          by(b) = bitcast((d + 127) << 23, f32);
        });
        parallel({strip / run, run}, [&](Expr b, Expr n) {
          const Expr column = first + b * run + n;
          q(row, column) = cast(ieee::mul(cast(x(row, column), f32), by(b)), f8_e4m3);
        });
      });
    });
  });
}

/// Each thread has 32 elements, of rows of up to 256.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t rows = c.constant("rows"), columns = c.constant("columns");
  const int64_t together = std::max<int64_t>(256 / columns, 1);
  const int64_t strips = std::max<int64_t>(8192 / (rows * columns * together), 1);
  const int64_t elements = strips * rows * together * columns;
  s.threads(std::clamp<int64_t>(elements / 32, 32, 512));
  s.set("together", together).set("strips", strips);
}
/// Of whole tiles: nothing is guarded.
void schedule_whole(Schedule& s, const Case& c) {
  schedule_gpu(s, c);
  s.set("whole", kWholeRows % c.constant("rows") == 0);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("per_block_cast_lossless", dataflow)
                           .schedule("cuda", schedule_whole)
                           .when([](const Sizes& size) { return size("m") % kWholeRows == 0; })
                           .schedule("cuda", schedule_gpu));
  return jit;
}
const Jit& kernel_for_long_blocks() {
  static const Jit jit(
      define_kernel("per_block_cast_lossless_long", long_blocks)
          .schedule("cuda", [](Schedule& s, const Case&) { s.threads(256).set("strip", 2048); }));
  return jit;
}

/// Whether the rows of x and q are words of 4 and 8 bytes.
bool has_words(const Tensor& x, const Tensor& q, int64_t x_columns) {
  const auto begins = [](const Tensor& t, uintptr_t bytes) {
    return reinterpret_cast<uintptr_t>(t.data()) % bytes == 0 && t.stride(0) % kCodes == 0;
  };
  return x.dim(1) % kCodes == 0 && x_columns % kCodes == 0 && begins(x, 4) && begins(q, 8);
}
Tensor words_of(const Tensor& t, DType word) {
  return {t.data(), word, {t.dim(0), t.dim(1) / kCodes}, {t.stride(0) / kCodes, 1}, t.device()};
}

/// Of two, but for 1: codes are in pairs.
bool is_power(int64_t n) { return n > 1 && std::has_single_bit(static_cast<uint64_t>(n)); }

}  // namespace

void per_block_cast_lossless(const Tensor& x, const Tensor& x_sf, const Tensor& q, const Tensor& sf,
                             const LosslessCastArgs& o, Stream stream) {
  constexpr const char* f = "per_block_cast_lossless";
  check_rank(f, {"x", x}, 2);
  check_dtype(f, {"x", x}, {f4_e2m1});
  check_dtype(f, {"q", q}, {f8_e4m3});
  check_shape(f, {"q", q}, x.shape(), "like x");
  check_dtype(f, {"x_sf", x_sf}, {f32, i32});
  check_dtype(f, {"sf", sf}, {f32, i32});
  TW_REQUIRE(o.x_rows > 0 && is_power(o.x_columns) && o.rows > 0 && is_power(o.columns) &&
                 o.rows % o.x_rows == 0 && o.columns % o.x_columns == 0 &&
                 std::max(o.rows, o.columns) <= INT32_MAX,
             "{}: blocks of {} x {} are to become ones of {} x {}, which must be multiples below "
             "2^31, and columns powers of two from 2 on",
             f, o.x_rows, o.x_columns, o.rows, o.columns);
  const int64_t m = x.dim(0), k = x.dim(1);
  TW_REQUIRE(k % 2 == 0, "{}: rows of {} codes of e2m1 end within a byte, they must be even", f, k);
  const auto factors = [&](const Named& t, int64_t rows, int64_t columns) {
    return as_factors(f, t, lang::cdiv(m, rows), lang::cdiv(k, columns), words_of(columns));
  };
  const Named from{"x", x}, from_sf{"x_sf", x_sf}, to{"q", q}, to_sf{"sf", sf};
  const Tensor x_factors = factors(from_sf, o.x_rows, o.x_columns),
               new_factors = factors(to_sf, o.rows, o.columns);
  check_apart(f, to, {from, from_sf, to_sf});
  check_apart(f, to_sf, {from, from_sf});
  if (x.numel() == 0) return;
  const bool is_long = o.columns > kMostElements / o.rows;
  const bool in_words = !is_long && has_words(x, q, o.x_columns);
  const Jit& jit = is_long ? kernel_for_long_blocks() : kernel();
  jit({x_factors.dtype(), new_factors.dtype()},
      {{"in_words", in_words},
       {"k", k},
       {"x_rows", o.x_rows},
       {"x_columns", o.x_columns},
       {"rows", o.rows},
       {"columns", o.columns}},
      x.device().kind)
      .launch(stream, {in_words ? words_of(x, u32) : x, x_factors, in_words ? words_of(q, u64) : q,
                       new_factors});
}

}  // namespace tw::kernels
