// q, sf = x in groups of rows of each column, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/factors.h"
#include "tilewright/kernels/work.h"

namespace tw::kernels {
namespace {

constexpr int64_t kTile = 128;  // rows of a tile, one group or some
constexpr int64_t kWord = 4;    // codes
// Of a block that stays, more than memory has: tiles are counted in 32 bits.
constexpr int64_t kMostTurns = int64_t{1} << 20;

/// What of a tile has come to shared memory before its turn: elements, and factors by row.
struct Ahead {
  Buffer x, factors;
};

// A tile stays in registers. Its rows are in parts, and a part's maxima of columns need no other
// threads; where they meet, a thread has one column of a group, and makes its scale. Elements
// outside x load as zero, which changes no maximum, and are not stored.
//
// Where the result is transposed, codes go through memory of the block, in words of four rows. Word
// w of column c has place w ^ (c / run % words): threads of a warp, whose vectors of x begin `run`
// columns apart, write to different banks.
void dataflow(Builder& k, const Case& c) {
  const DType x_dtype = c.dtype(0), sf_dtype = c.dtype(1);
  const auto kind = static_cast<ScaleKind>(k.constant("kind"));
  const int64_t width = k.constant("k"), rows = k.constant("rows");
  const int64_t x_columns =
      k.constant("x_columns");  // of x with one factor, if it is scaled itself
  const bool gathers = k.constant("gathers") != 0, turns = k.constant("turns") != 0;
  const int64_t parts = k.tunable("parts", 16), tile_k = k.tunable("tile_k", 128);
  const int64_t vector = k.tunable("vector", 8);
  // Codes that are scaled are converted twice, so that they need few registers.
  const bool holds_codes = k.tunable("holds_codes", 0) != 0;

  const Expr m = k.dim("m"), x_m = gathers ? k.dim("x_m") : m;
  const Buffer x = k.input("x", x_dtype, {x_m, width}, {.strides = {k.dim("x_row"), 1}});
  std::optional<Factors> x_sf;
  if (x_columns != 0) x_sf.emplace(k, "x_sf", c.dtype(2), x_m, cdiv(width, x_columns), false);
  const Buffer index = gathers ? k.input("index", i32, {m}) : Buffer();
  const Buffer q = k.output("q", f8_e4m3, turns ? Extents{width, m} : Extents{m, width},
                            {.strides = {k.dim("q_row"), 1}});
  relaxed_global(q);  // all is written once
  const Factors sf(k, "sf", sf_dtype, cdiv(m, rows), width, true, Words::of_columns);
  const Expr least = k.scalar("least", f32);

  const int64_t groups = kTile / rows, apart = parts / groups, depth = kTile / parts;
  const int64_t run = x_sf ? std::min(x_columns, tile_k) : tile_k, runs = tile_k / run;
  const int64_t across = cdiv(width, tile_k), panel = k.tunable("panel", across);  // tiles
  const auto each = [&](auto f) {
    for (int64_t r = 0; r < depth; ++r) f(r);
  };
  // Casts a tile. Of x, and of what rows have one of, it reads what has come ahead, or the tensors.
  const auto cast_tile = [&](const Expr& strip, const Expr& column0, const Ahead& ahead) {
    const auto row = [&](int64_t r, const Expr& p) { return strip * kTile + p * depth + r; };
    // Row r of each part: a thread has one vector of it. Of what a row has one, the block's threads
    // read one each, for all.
    std::vector<Buffer> v, from;
    each([&](int64_t) { v.push_back(fragment(x_dtype, {parts, runs, run}, "v")); });
    const Buffer row_of = gathers ? shared(i32, {kTile}, "row_of") : Buffer();
    if (gathers) {
      parallel({kTile}, [&](Expr i) {
        row_of(i) = select(strip * kTile + i < m, index(strip * kTile + i), -1);
      });
      each([&](int64_t) { from.push_back(fragment(i32, {parts}, "from")); });
      parallel({parts},
               [&](Expr p) { each([&](int64_t r) { from[r](p) = row_of(p * depth + r); }); });
    }
    parallel({parts, runs, run}, [&](Expr p, Expr s, Expr j) {
      each([&](int64_t r) {
        v[r](p, s, j) = ahead.x ? Expr(ahead.x(p * depth + r, s * run + j))
                                : x(gathers ? Expr(from[r](p)) : row(r, p), column0 + s * run + j);
      });
    });
    Buffer of_x = ahead.factors;
    if (x_sf && !of_x) {
      of_x = shared(f32, {runs, kTile}, "of_x");
      parallel({runs, kTile}, [&](Expr s, Expr i) {
        of_x(s, i) = x_sf->load(gathers ? Expr(row_of(i)) : strip * kTile + i,
                                (column0 + s * run) / x_columns);
      });
    }
    const auto element = [&](int64_t r, const Expr& p, const Expr& s, const Expr& j) -> Expr {
      if (!holds_codes) return v[r](p, s, j);
      return ieee::mul(cast(v[r](p, s, j), f32), of_x(s, p * depth + r));
    };
    if (x_sf && !holds_codes) {
      each([&](int64_t r) {
        const Buffer codes = std::exchange(v[r], fragment(f32, {parts, runs, run}, "v"));
        parallel({parts, runs, run}, [&](Expr p, Expr s, Expr j) {
          v[r](p, s, j) = ieee::mul(cast(codes(p, s, j), f32), of_x(s, p * depth + r));
        });
      });
    }

    const DType compared = x_sf ? f32 : x_dtype;
    const Buffer partial = shared(compared, {parts, tile_k}, "partial");
    parallel({parts, runs, run}, [&](Expr p, Expr s, Expr j) {
      Expr largest = cast(0.F, compared);
      each([&](int64_t r) { largest = max(largest, abs(element(r, p, s, j))); });
      partial(p, s * run + j) = largest;
    });
    const Buffer amax = fragment(f32, {groups, tile_k}, "amax");
    parallel({groups, tile_k}, [&](Expr g, Expr i) {
      Expr largest = 0.F;
      for (int64_t a = 0; a < apart; ++a) {
        largest = max(largest, abs(cast(partial(g * apart + a, i), f32)));
      }
      amax(g, i) = largest;
    });
    const Scale scale = scale_of(value(amax), least, f8_e4m3, kind);
    const Buffer factor = scale.factor.fragment(), inverses = shared(f32, {groups, tile_k}, "inv");
    parallel({groups, tile_k},
             [&](Expr g, Expr i) { sf.store(strip * groups + g, column0 + i, factor(g, i)); });
    store(inverses, scale.inverse);
    const Buffer inverse = fragment(f32, {parts, runs, run}, "inverse");
    parallel({parts, runs, run},
             [&](Expr p, Expr s, Expr j) { inverse(p, s, j) = inverses(p / apart, s * run + j); });
    const auto code = [&](int64_t r, const Expr& p, const Expr& s, const Expr& j) {
      return cast(ieee::mul(cast(element(r, p, s, j), f32), inverse(p, s, j)), f8_e4m3);
    };
    if (!turns) {
      each([&](int64_t r) {  // one store a loop: such are vectors
        parallel({parts, runs, run}, [&](Expr p, Expr s, Expr j) {
          q(row(r, p), column0 + s * run + j) = code(r, p, s, j);
        });
      });
      return;
    }
    const Buffer turned = shared(f8_e4m3, {tile_k, kTile}, "turned");
    const Buffer words = view(turned, u32, {tile_k, kTile / kWord});
    const auto place = [&](const Expr& i, const Expr& w) {
      return w ^ (i / vector % (kTile / kWord));
    };
    for (int64_t w = 0; w < depth / kWord; ++w) {
      parallel({parts, runs, run}, [&](Expr p, Expr s, Expr j) {
        Expr word = cast(bitcast(code(w * kWord, p, s, j), u8), u32);
        for (int64_t i = 1; i < kWord; ++i) {
          word = word | cast(bitcast(code(w * kWord + i, p, s, j), u8), u32) << (8 * i);
        }
        const Expr column = s * run + j;
        words(column, place(column, p * (depth / kWord) + w)) = word;
      });
    }
    parallel({tile_k, kTile}, [&](Expr i, Expr r) {
      q(column0 + i, strip * kTile + r) = turned(i, place(i, r / kWord) * kWord + r % kWord);
    });
  };
  const bool whole = k.tunable("whole", 0) != 0;
  const int64_t blocks = k.constant("blocks");
  if (!whole || blocks == 0) {
    // Of a strip tiles of one panel run together, of panels one after the other.
    const Extents grid = {cdiv(sf.padded_rows(), groups) * panel, cdiv(across, panel)};
    k.launch(grid, [&](Expr block, Expr n) {
      const Expr strip = let(block / panel), column0 = let((n * panel + block % panel) * tile_k);
      if (whole) assume((strip + 1) * kTile <= m);
      cast_tile(strip, column0, {});
    });
    return;
  }
  // Blocks that stay, for whole tiles of many codes: while one is cast, the next ones come.
  const Expr tiles = m / kTile * across;
  k.launch({min(tiles, blocks)}, [&](Expr block) {
    pipelined(min(cdiv(tiles - block, blocks), kMostTurns), [&](Expr turn) {
      const Expr tile = let(block + turn * blocks);
      const Expr strip = let(tile / across), column0 = let(tile % across * tile_k);
      const Ahead ahead = {shared(x_dtype, {kTile, tile_k}, "ahead"),
                           shared(f32, {runs, kTile}, "of_x")};
      copy(x(at(strip * kTile, kTile), at(column0, tile_k)), ahead.x, {.max_vector = 16});
      parallel({runs, kTile}, [&](Expr s, Expr i) {
        ahead.factors(s, i) = x_sf->load(strip * kTile + i, (column0 + s * run) / x_columns);
      });
      assume((strip + 1) * kTile <= m);
      cast_tile(strip, column0, ahead);
    });
  });
}

/// Threads have up to 64 elements of x, in vectors of up to 16 bytes: the more rows a thread has,
/// the fewer partial results there are. Small blocks, some of which read while others compute; of
/// codes a tile is as wide as the blocks that share a factor. Where rows are gathered, threads wait
/// for their numbers first: there are more of them, which hold codes.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t vector = c.dtype() == f32 ? 4 : 8;
  s.max_vector(vector).set("vector", vector).set("parts", 16);
  if (c.dtype() == f32) {
    s.threads(256).min_blocks_per_sm(4).set("tile_k", 64);
  } else if (c.dtype() == bf16) {
    s.threads(128).min_blocks_per_sm(8).set("tile_k", 64);
  } else {
    const bool gathers = c.constant("gathers") != 0;
    s.threads(256).min_blocks_per_sm(gathers ? 5 : 3).set("tile_k", 128);
    // Rows that are gathered more than once stay in the L2 cache while a panel runs.
    if (gathers) {
      s.set("holds_codes", 1).set("panel", std::gcd(cdiv(c.constant("k"), 128), int64_t{4}));
    }
  }
}

/// Of whole tiles: no row is guarded. Of many codes two blocks stay on a multiprocessor, each with
/// two tiles on their way: 30.6 us for 8192 x 7168 instead of 31.9 (H200, 2026-12-03).
void schedule_whole(Schedule& s, const Case& c) {
  schedule_gpu(s, c);
  s.set("whole", 1);
  if (c.constant("blocks") != 0) s.min_blocks_per_sm(2).stages(3);
}

KernelDef definition(int64_t whole_rows) {
  return define_kernel("per_channel_cast", dataflow)
      .schedule("cuda", schedule_whole)
      .when([=](const Sizes& size) { return size("m") % whole_rows == 0; })
      .schedule("cuda", schedule_gpu);
}

/// Words of factors have those of 4 groups, behind x zeros, which blocks without a row write.
const Jit& kernel(bool words_have_more_rows_than_tiles) {
  static const Jit jit(definition(kTile)), of_words(definition(4 * kTile));
  return words_have_more_rows_than_tiles ? of_words : jit;
}

void run(const char* f, const Tensor& x, const Tensor& q, const Tensor& sf, bool turns,
         const ChannelCastArgs& o, Stream stream) {
  const Named from{"x", x}, codes{"q", q}, named_sf{"sf", sf};
  const bool scaled = o.x_sf != nullptr, gathers = o.index != nullptr;
  check_rank(f, from, 2);
  if (scaled) {
    check_dtype(f, from, {f8_e4m3});
    TW_REQUIRE(o.x_columns == 32 || o.x_columns == 128,
               "{}: x has a factor for each {} columns, they must be 32 or 128", f, o.x_columns);
  } else {
    check_dtype(f, from, {f32, bf16});
  }
  TW_REQUIRE(o.group == 32 || o.group == 128, "{}: the group is {}, it must be 32 or 128", f,
             o.group);
  const int64_t x_m = x.dim(0), k = x.dim(1);
  if (gathers) {
    check_rank(f, {"index", *o.index}, 1);
    check_dtype(f, {"index", *o.index}, {i32});
  }
  const int64_t m = gathers ? o.index->dim(0) : x_m;
  check_dtype(f, codes, {f8_e4m3});
  check_shape(f, codes, turns ? Shape{k, m} : Shape{m, k}, turns ? "x transposed" : "");
  check_rounding(f, sf, o.round_sf);
  const Tensor factors = as_factors(f, named_sf, lang::cdiv(m, o.group), k, Words::of_columns);
  Tensor x_factors;
  if (scaled) x_factors = as_factors(f, {"x_sf", *o.x_sf}, x_m, lang::cdiv(k, o.x_columns));
  for (const Named& out : {codes, named_sf}) {
    check_apart(f, out, {from});
    if (scaled) check_apart(f, out, {{"x_sf", *o.x_sf}});
    if (gathers) check_apart(f, out, {{"index", *o.index}});
  }
  check_apart(f, codes, {named_sf});
  if (q.numel() == 0) return;
  const bool stays =
      scaled && !gathers && !turns && work_of(x.numel() + q.numel(), x.device().kind) == Work::much;
  const Kernel& compiled = kernel(sf.dtype() == i32 && 4 * o.group > kTile)(
      {x.dtype(), factors.dtype(), scaled ? x_factors.dtype() : f32},
      {{"kind", static_cast<int64_t>(kind_of(o.round_sf, sf.dtype()))},
       {"k", k},
       {"rows", o.group},
       {"x_columns", scaled ? o.x_columns : 0},
       {"gathers", gathers},
       {"turns", turns},
       {"blocks", stays ? blocks_that_stay() : 0}},
      x.device().kind);
  const float least = least_or_default(o.least, f8_e4m3, sf.dtype());
  if (scaled && gathers) {
    return compiled.launch(stream, {x, x_factors, *o.index, q, factors, least});
  }
  if (scaled) return compiled.launch(stream, {x, x_factors, q, factors, least});
  if (gathers) return compiled.launch(stream, {x, *o.index, q, factors, least});
  compiled.launch(stream, {x, q, factors, least});
}

}  // namespace

void per_channel_cast(const Tensor& x, const Tensor& q, const Tensor& sf,
                      const ChannelCastArgs& args, Stream stream) {
  run("per_channel_cast", x, q, sf, false, args, stream);
}

void per_channel_cast_and_transpose(const Tensor& x, const Tensor& q, const Tensor& sf,
                                    const ChannelCastArgs& args, Stream stream) {
  run("per_channel_cast_and_transpose", x, q, sf, true, args, stream);
}

}  // namespace tw::kernels
