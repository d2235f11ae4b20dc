// q, sf = x in groups of columns of each row, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once; but rows of more than 16384 that are a group
// are read twice (long_rows.cpp).
#include <algorithm>
#include <functional>
#include <optional>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/factors.h"
#include "tilewright/kernels/quant/long_rows.h"
#include "tilewright/kernels/quant/stochastic.h"

namespace tw::kernels {
namespace {

constexpr int64_t kRows = 8, kColumns = 256;  // of a tile
constexpr int64_t kFewThreads = 48;           // of a block that has a part of a row

// Blocks share out the groups of all rows, or tiles of some rows. Columns past the end of a row
// load as zero, which changes no maximum, and are not stored.
void dataflow(Builder& k, const Case& c) {
  if (c.constant("group") > kLongestHeld) return cast_long_rows(k, c);
  const DType x_dtype = c.dtype(0), format = c.dtype(1), sf_dtype = c.dtype(2);
  const auto part = static_cast<Part>(k.constant("part"));
  const auto kind = static_cast<ScaleKind>(k.constant("kind"));
  const int64_t width = k.constant("k"), group = k.constant("group");
  // Rows and columns of x that share a factor, if x is scaled itself.
  const int64_t x_rows = k.constant("x_rows"), x_columns = k.constant("x_columns");
  const bool scaled = x_columns != 0, stochastic = k.constant("stochastic") != 0;
  const int64_t together = k.tunable("together", 1);  // groups of a block
  const int64_t rows = k.tunable("rows", 0);          // of a tile, 0: there are none
  const Expr m = k.dim("m");
  const Buffer x = k.input("x", x_dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  std::optional<Factors> x_sf;
  if (scaled) x_sf.emplace(k, "x_sf", c.dtype(3), cdiv(m, x_rows), cdiv(width, x_columns), false);
  Buffer q;
  if (part != Part::factors) {
    q = k.output("q", format, {m, width}, {.strides = {k.dim("q_row"), 1}});
  }
  const Factors sf(k, "sf", sf_dtype, m, cdiv(width, group), part != Part::codes);
  const Expr least = part == Part::codes ? Expr() : k.scalar("least", f32);

  const int64_t groups = sf.padded();
  const int64_t run = scaled ? std::min(x_columns, group) : group;  // with one factor of x
  const int64_t runs = cdiv(group, run);
  const Extents box = {together, runs, run};
  // Where a block's group i is.
  struct Places {
    std::function<Expr(const Expr& i)> row, group;
  };
  const auto among_all = [=](const Expr& block) -> Places {
    const Expr first = let(block * together), row0 = let(first / groups),
               group0 = let(first % groups);
    return {[=](const Expr& i) { return row0 + (group0 + i) / groups; },
            [=](const Expr& i) { return (group0 + i) % groups; }};
  };
  const int64_t wide = rows == 0 ? groups : together / rows, across = groups / wide;  // of tiles
  const auto in_tile = [=](const Expr& block) -> Places {
    const Expr row0 = let(block / across * rows), group0 = let(block % across * wide);
    assume(row0 + rows <= m);
    return {[=](const Expr& i) { return row0 + i / wide; },
            [=](const Expr& i) { return group0 + i % wide; }};
  };
  const Expr blocks = rows == 0 ? cdiv(m * groups, together) : cdiv(m, rows) * across;
  k.launch({blocks}, [&](Expr block) {
    const Places place = rows == 0 ? among_all(block) : in_tile(block);
    const auto& row = place.row;
    const auto& group_of = place.group;
    const auto column = [&](const Expr& i, const Expr& s) { return group_of(i) * group + s * run; };

    const Buffer v = fragment(scaled || stochastic ? f32 : x_dtype, box, "v"),
                 of_x = fragment(f32, {together, runs}, "of_x");
    if (scaled) {
      parallel({together, runs}, [&](Expr i, Expr s) {
        of_x(i, s) = x_sf->load(row(i) / x_rows, column(i, s) / x_columns);
      });
    }
    parallel(box, [&](Expr i, Expr s, Expr j) {
      v(i, s, j) = cast(x(row(i), column(i, s) + j), v.dtype());
    });
    Scale scale;
    if (part == Part::codes) {
      const Buffer given = fragment(f32, {together, 1}, "given");
      parallel({together}, [&](Expr i) { given(i, 0) = sf.load(row(i), group_of(i)); });
      scale.inverse = inverse_of(value(given));
    } else {
      // Rounding keeps order: the largest product is that of the largest value.
      Tile largest = cast(abs_max(value(v), 2), f32);
      if (scaled) largest = largest * reshape(value(of_x), {together, runs, 1});
      scale = scale_of(reshape(abs_max(largest, 1), {together, 1}), least, format, kind);
      const Buffer factor = scale.factor.fragment();
      parallel({together}, [&](Expr i) { sf.store(row(i), group_of(i), factor(i, 0)); });
    }
    if (part == Part::factors) return;
    // What elements are multiplied with. That of x and the inverse may be infinite together,
    // which zeros must not meet; all others saturate by the largest number, too.
    const DType product = part == Part::codes ? f32 : product_type(v.dtype(), format, kind);
    const Buffer one = multiplier(scale, product).fragment(),
                 by = fragment(one.dtype(), {together, runs}, "by");
    parallel({together, runs}, [&](Expr i, Expr s) {
      by(i, s) = scaled ? min(ieee::mul(of_x(i, s), one(i, 0)), max_value(f32)) : one(i, 0).value();
    });
    if (!stochastic) {
      parallel(box, [&](Expr i, Expr s, Expr j) {
        q(row(i), column(i, s) + j) = code_of(v(i, s, j), by(i, s), format, product);
      });
      return;
    }
    const Extents quads = {together, runs, run / kQuad, kQuad};
    const Buffer parts = fragment(u32, quads, "parts"),
                 hash = fragment(u32, {together, runs, run / kQuad}, "hash");
    parallel(box, [&](Expr i, Expr s, Expr j) { v(i, s, j) = ieee::mul(v(i, s, j), by(i, s)); });
    parallel(quads, [&](Expr i, Expr s, Expr c, Expr r) {
      parts(i, s, c, r) = random_part(v(i, s, c * kQuad + r), r);
    });
    reduce_sum(parts, hash, 3);
    parallel({together, runs, run / kQuad}, [&](Expr i, Expr s, Expr c) {
      hash(i, s, c) = random_hash(hash(i, s, c), column(i, s) / kQuad + c);
    });
    parallel(box, [&](Expr i, Expr s, Expr j) {
      q(row(i), column(i, s) + j) = cast(
          v(i, s, j), format,
          {.round = Rounding::rs, .rbits = random_bits(format, hash(i, s, j / kQuad), j % kQuad)});
    });
  });
}

/// Of codes, to e2m1 and of factors alone, where instructions count, a block has a row if that
/// fills it: no thread divides by the number of groups then, nothing is guarded, and all loads come
/// first. Of factors alone, which writes little, it has an equal part of a row and about two warps.
/// Else each of a block's 128 threads has 16 elements, or 32 where less than two vectors would be
/// read for 16; of bf16, two of which are computed at once, each of 64 threads has 32.
void schedule_gpu(Schedule& s, const Case& c) {
  if (c.constant("group") > kLongestHeld) {
    s.threads(256);
    return;
  }
  const int64_t group = c.constant("group"), width = c.constant("k");
  const bool alone = static_cast<Part>(c.constant("part")) == Part::factors;
  const bool is_dense =
      c.dtype() != f32 && (c.dtype().bits() <= 8 || c.dtype(1) == f4_e2m1 || alone);
  int64_t threads = threads_of_row(width, group), together = width / group;
  if (is_dense && threads != 0) {
    while (alone && together % 2 == 0 && threads >= 2 * kFewThreads) {
      threads /= 2;
      together /= 2;
    }
    s.threads(threads).set("together", together).set("rows", alone ? 1 : 0);
    return;
  }
  const int64_t elements = c.dtype().bits() <= 8 ? 4096 : 2048;
  s.threads(c.dtype() == bf16 && group <= elements ? 64 : 128);
  s.set("together", std::max<int64_t>(elements / group, 1));
}

/// To e4m3 of codes or bf16, with packed factors of up to 64, of whole tiles: 8 words of factors,
/// of neighbors in a column, fill a sector of memory together, which blocks of single rows would
/// write in parts. Threads have 64 codes, or 32 of bf16.
void schedule_tiles(Schedule& s, const Case& c) {
  const int64_t group = c.constant("group"), groups = kColumns / group;
  const bool is_coded = c.dtype().bits() <= 8;
  if (!(is_coded || c.dtype() == bf16) || c.dtype(1) != f8_e4m3 || c.dtype(2) != u8 ||
      static_cast<Part>(c.constant("part")) != Part::both || group > 64 ||
      c.constant("k") % kColumns != 0) {
    return schedule_gpu(s, c);
  }
  s.threads(is_coded ? 32 : 64).set("rows", kRows).set("together", kRows * groups);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("per_token_cast", dataflow)
                           .schedule("cuda", schedule_tiles)
                           .when([](const Sizes& size) { return size("m") % kRows == 0; })
                           .schedule("cuda", schedule_gpu));
  return jit;
}

struct Arguments {
  const char* function;
  Part part;
  const Tensor& x;
  DType format;
  const Tensor* q;
  const Tensor& sf;
  const TokenCastArgs& options;
};

void run(const Arguments& a, Stream stream) {
  const char* f = a.function;
  const Named x{"x", a.x}, sf{"sf", a.sf};
  const TokenCastArgs& o = a.options;
  const bool scaled = o.x_sf != nullptr;
  if (a.q != nullptr) {
    check_dtype(f, {"q", *a.q}, {f8_e4m3, f4_e2m1});
  } else {
    TW_REQUIRE(a.format == f8_e4m3 || a.format == f4_e2m1,
               "{}: the format is {}, it must be e4m3 or e2m1", f, a.format);
  }
  TW_REQUIRE(!scaled || a.part == Part::both, "{}: x with factors of its own has no such form", f);
  check_rank(f, x, 2);
  const int64_t m = a.x.dim(0), k = a.x.dim(1);
  TW_REQUIRE(o.group == 16 || o.group == 32 || o.group == 64 || o.group == 128 || o.group == k,
             "{}: the group is {}, it must be 16, 32, 64, 128, or a row of {}", f, o.group, k);
  TW_REQUIRE(k % 2 == 0 || a.format != f4_e2m1,
             "{}: rows of {} codes of e2m1 end within a byte, they must be even", f, k);
  TW_REQUIRE(k % kQuad == 0 || !o.stochastic,
             "{}: rows of {} elements, for stochastic rounding they must be a multiple of 4", f, k);
  if (scaled) {
    check_dtype(f, x, {f8_e4m3, f4_e2m1});
    const auto one_of = [](int64_t v, std::initializer_list<int64_t> all) {
      return std::find(all.begin(), all.end(), v) != all.end();
    };
    TW_REQUIRE(one_of(o.x_rows, {1, 32, 128}) && one_of(o.x_columns, {16, 32, 64, 128}),
               "{}: x has a factor for blocks of {} x {}, they must be 1, 32 or 128 rows of 16, "
               "32, 64 or 128 columns",
               f, o.x_rows, o.x_columns);
  } else {
    check_dtype(f, x, {f32, bf16});
  }
  if (a.part != Part::codes) check_rounding(f, a.sf, o.round_sf);
  const Tensor factors = as_factors(f, sf, m, lang::cdiv(k, std::max<int64_t>(o.group, 1)));
  check_apart(f, sf, {x});
  if (a.q != nullptr) {
    const Named q{"q", *a.q};
    check_shape(f, q, a.x.shape(), "like x");
    check_apart(f, q, {x, sf});
  }
  const float least = least_or_default(o.least, a.format, a.sf.dtype());
  Tensor x_factors;
  if (scaled) {
    x_factors =
        as_factors(f, {"x_sf", *o.x_sf}, lang::cdiv(m, o.x_rows), lang::cdiv(k, o.x_columns));
    check_apart(f, sf, {{"x_sf", *o.x_sf}});
    check_apart(f, {"q", *a.q}, {{"x_sf", *o.x_sf}});
  }
  if (a.x.numel() == 0) return;
  const Kernel& compiled =
      kernel()({a.x.dtype(), a.format, factors.dtype(), scaled ? x_factors.dtype() : f32},
               {{"part", static_cast<int64_t>(a.part)},
                {"kind", static_cast<int64_t>(kind_of(o.round_sf, a.sf.dtype()))},
                {"stochastic", o.stochastic},
                {"k", k},
                {"group", o.group},
                {"x_rows", scaled ? o.x_rows : 0},
                {"x_columns", scaled ? o.x_columns : 0}},
               a.x.device().kind);
  if (a.part == Part::codes) return compiled.launch(stream, {a.x, *a.q, factors});
  if (a.part == Part::factors) return compiled.launch(stream, {a.x, factors, least});
  if (scaled) return compiled.launch(stream, {a.x, x_factors, *a.q, factors, least});
  compiled.launch(stream, {a.x, *a.q, factors, least});
}

}  // namespace

float least_amax(DType format, DType sf) {
  const float smallest = sf == f8_e4m3 ? 0x1p-9F : 0x1p-126F;  // factor
  return format == f8_e4m3 && sf != f8_e4m3 ? 1e-4F
                                            : static_cast<float>(max_finite(format)) * smallest;
}

void per_token_cast(const Tensor& x, const Tensor& q, const Tensor& sf, const TokenCastArgs& args,
                    Stream stream) {
  run({"per_token_cast", Part::both, x, q.dtype(), &q, sf, args}, stream);
}

void per_token_cast_with_sf_only(const Tensor& x, DType format, const Tensor& sf,
                                 const TokenCastArgs& args, Stream stream) {
  run({"per_token_cast_with_sf_only", Part::factors, x, format, nullptr, sf, args}, stream);
}

void per_token_cast_with_precomputed_sf(const Tensor& x, const Tensor& sf, const Tensor& q,
                                        const TokenCastArgs& args, Stream stream) {
  run({"per_token_cast_with_precomputed_sf", Part::codes, x, q.dtype(), &q, sf, args}, stream);
}

}  // namespace tw::kernels
