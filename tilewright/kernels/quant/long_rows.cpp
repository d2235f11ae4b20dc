#include "tilewright/kernels/quant/long_rows.h"

#include <optional>

#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/factors.h"
#include "tilewright/kernels/quant/stochastic.h"
#include "tilewright/kernels/reduce/strips.h"

namespace tw::kernels {

// A block has one row, strip by strip: once for the largest magnitude, of which each place of a
// strip has one of its own, and once for the codes, which reads from a cache. Columns past the end
// load as zero, which changes no maximum, and are not stored.
void cast_long_rows(Builder& k, const Case& c) {
  const DType x_dtype = c.dtype(0), format = c.dtype(1), sf_dtype = c.dtype(2);
  const auto part = static_cast<Part>(k.constant("part"));
  const auto kind = static_cast<ScaleKind>(k.constant("kind"));
  const int64_t width = k.constant("k");
  const int64_t x_rows = k.constant("x_rows"), x_columns = k.constant("x_columns");
  const bool scaled = x_columns != 0, stochastic = k.constant("stochastic") != 0;
  const int64_t strip = k.tunable("strip", 4096);
  const Expr m = k.dim("m");
  const Buffer x = k.input("x", x_dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  std::optional<Factors> x_sf;
  if (scaled) x_sf.emplace(k, "x_sf", c.dtype(3), cdiv(m, x_rows), cdiv(width, x_columns), false);
  Buffer q;
  if (part != Part::factors) {
    q = k.output("q", format, {m, width}, {.strides = {k.dim("q_row"), 1}});
  }
  const Factors sf(k, "sf", sf_dtype, m, 1, part != Part::codes);
  const Expr least = part == Part::codes ? Expr() : k.scalar("least", f32);

  const int64_t run = scaled ? x_columns : strip, runs = strip / run;  // with one factor of x
  k.launch({m}, [&](Expr row) {
    const Buffer of_x = scaled ? fragment(f32, {runs}, "of_x") : Buffer();
    const auto read_factors = [&](const Expr& first) {
      if (!scaled) return;
      parallel({runs}, [&](Expr s) { of_x(s) = x_sf->load(row / x_rows, first / run + s); });
    };
    const auto element = [&](const Expr& first, const Expr& s, const Expr& j) {
      return cast(x(row, first + s * run + j), f32);
    };
    Scale scale;
    if (part == Part::codes) {
      const Buffer given = fragment(f32, {1, 1}, "given");
      parallel({1}, [&](Expr i) { given(i, 0) = sf.load(row, 0); });
      scale.inverse = inverse_of(value(given));
    } else {
      const Buffer most = fragment(f32, {runs, run}, "most"), amax = fragment(f32, {1, 1}, "amax");
      clear(most);
      for_each_strip(width, strip, [&](Expr first) {
        read_factors(first);
        parallel({runs, run}, [&](Expr s, Expr j) {
          const Expr a = abs(element(first, s, j));
          most(s, j) = max(most(s, j), scaled ? ieee::mul(a, of_x(s)) : a);
        });
      });
      reduce(ReduceKind::abs_max, most, amax, {0, 1});
      scale = scale_of(value(amax), least, format, kind);
      const Buffer factor = scale.factor.fragment();
      parallel({sf.padded()}, [&](Expr i) { sf.store(row, i, factor(0, 0)); });
    }
    if (part == Part::factors) return;
    const Buffer inverse = scale.inverse.fragment(), by = fragment(f32, {runs}, "by");
    for_each_strip(width, strip, [&](Expr first) {
      read_factors(first);
      // As in per_token_cast.cpp: zeros must not meet an infinite product of factors.
      parallel({runs}, [&](Expr s) {
        by(s) =
            scaled ? min(ieee::mul(of_x(s), inverse(0, 0)), max_value(f32)) : inverse(0, 0).value();
      });
      if (!stochastic) {
        parallel({runs, run}, [&](Expr s, Expr j) {
          q(row, first + s * run + j) = cast(ieee::mul(element(first, s, j), by(s)), format);
        });
        return;
      }
      const Extents quads = {runs, run / kQuad, kQuad};
      const Buffer v = fragment(f32, {runs, run}, "v"), parts = fragment(u32, quads, "parts"),
                   hash = fragment(u32, {runs, run / kQuad}, "hash");
      parallel({runs, run},
               [&](Expr s, Expr j) { v(s, j) = ieee::mul(element(first, s, j), by(s)); });
      parallel(quads, [&](Expr s, Expr n, Expr r) {
        parts(s, n, r) = random_part(v(s, n * kQuad + r), r);
      });
      reduce_sum(parts, hash, 2);
      parallel({runs, run / kQuad}, [&](Expr s, Expr n) {
        hash(s, n) = random_hash(hash(s, n), (first + s * run) / kQuad + n);
      });
      parallel({runs, run}, [&](Expr s, Expr j) {
        const Expr bits = random_bits(format, hash(s, j / kQuad), j % kQuad);
        q(row, first + s * run + j) = cast(v(s, j), format, {.round = Rounding::rs, .rbits = bits});
      });
    });
  });
}

}  // namespace tw::kernels
