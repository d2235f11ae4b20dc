// q, sf = x as codes of 12 bits with a factor for each row, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once. Rows that are too long to be held are read
// twice, the second time from a cache.
#include <algorithm>
#include <vector>

#include "tilewright/base/format.h"
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/e5m6.h"
#include "tilewright/kernels/quant/factors.h"
#include "tilewright/kernels/reduce/strips.h"

namespace tw::kernels {
namespace {

constexpr float kLeast = 1e-4F;

// A block has whole rows, in strips in which a thread has eight neighbors: three words. These go
// through memory of the block, from where vectors of neighbors are written.
void dataflow(Builder& k, const Case& c) {
  const DType x_dtype = c.dtype(0), sf_dtype = c.dtype(1);
  const auto kind = static_cast<ScaleKind>(k.constant("kind"));
  const int64_t width = k.constant("k");
  const int64_t rows = k.tunable("rows", 1), most = k.tunable("width", 1024);
  const int64_t strips = cdiv(width, most);
  const int64_t held = std::min(strips, k.tunable("held", 1));  // together
  const int64_t runs = cdiv(width / kCodesTogether, strips);    // of a strip
  const int64_t strip = runs * kCodesTogether, span = held * strip;
  const Expr m = k.dim("m");
  const Buffer x = k.input("x", x_dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  const Buffer q = k.output("q", u32, {m, width / kCodesTogether * kWordsTogether},
                            {.strides = {k.dim("q_row"), 1}});
  const Factors sf(k, "sf", sf_dtype, m, 1, true);

  k.launch({cdiv(m, rows)}, [&](Expr block) {
    const Expr row0 = let(block * rows);
    std::vector<Buffer> v;
    for (int64_t s = 0; s < held; ++s) {
      v.push_back(fragment(x_dtype, {rows, strip}, format("v_{}", s)));
    }
    const auto read = [&](const Expr& first) {
      for (int64_t s = 0; s < held; ++s) copy(x(row0, first + s * strip), v[s]);
    };
    const Buffer part = fragment(x_dtype, {rows, strip}, "part"),
                 most_of = fragment(x_dtype, {rows, 1});
    clear(part);
    for_each_strip(width, span, [&](Expr first) {
      read(first);
      parallel({rows, strip}, [&](Expr i, Expr j) {
        Expr largest = part(i, j);
        for (const Buffer& each : v) largest = max(abs(each(i, j)), largest);
        part(i, j) = largest;
      });
    });
    reduce_max(part, most_of, 1);
    const Tile amax = cast(value(most_of), f32);
    const Scale scale = scale_of(amax, Expr(kLeast), kLargestE5m6, kind);
    const Buffer factor = scale.factor.fragment(), inverse = scale.inverse.fragment();
    parallel({rows, sf.padded()}, [&](Expr i, Expr j) { sf.store(row0 + i, j, factor(i, 0)); });

    const Buffer words = shared(u32, {rows, held * runs * kWordsTogether}, "words");
    for_each_strip(width, span, [&](Expr first) {
      if (width > span) read(first);
      parallel({rows, runs}, [&](Expr i, Expr r) {
        for (int64_t s = 0; s < held; ++s) {
          Codes codes;
          for (size_t n = 0; n < codes.size(); ++n) {
            const Expr e = cast(v[s](i, r * kCodesTogether + n), f32);
            codes[n] = e5m6_code(let(ieee::mul(e, inverse(i, 0))));
          }
          const CodeWords three = packed(codes);
          for (size_t n = 0; n < three.size(); ++n) {
            words(i, (s * runs + r) * kWordsTogether + n) = three[n];
          }
        }
      });
      copy(words, q(row0, first / kCodesTogether * kWordsTogether));
    });
  });
}

/// A thread has eight elements of a strip, which are one vector of 16 bits each.
void schedule_gpu(Schedule& s, const Case& c) {
  constexpr int64_t kThreads = 128, kElements = kThreads * kCodesTogether;
  s.threads(kThreads).set("width", kElements).set("held", 8);
  s.set("rows", std::clamp<int64_t>(kElements / c.constant("k"), 1, 32));
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("per_token_cast_to_e5m6", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void per_token_cast_to_e5m6(const Tensor& x, const Tensor& q, const Tensor& sf, bool round_sf,
                            Stream stream) {
  constexpr const char* f = "per_token_cast_to_e5m6";
  const Named from{"x", x}, codes{"q", q}, named_sf{"sf", sf};
  check_rank(f, from, 2);
  check_dtype(f, from, {f32, bf16});
  check_columns(f, from);  // without, a row has no largest magnitude
  const int64_t m = x.dim(0), k = x.dim(1);
  TW_REQUIRE(k % kCodesTogether == 0, "{}: x is {}, its rows must be a multiple of 8", f, x);
  const Tensor words = as_words(f, codes);
  check_shape(f, codes, {m, k / 2 * 3}, "12 bits for each of x");
  check_dtype(f, named_sf, {f32, i32});
  check_rounding(f, sf, round_sf);
  const Tensor factors = as_factors(f, named_sf, m, 1);
  check_apart(f, codes, {from, named_sf});
  check_apart(f, named_sf, {from});
  if (x.numel() == 0) return;
  kernel()({x.dtype(), factors.dtype()},
           {{"kind", static_cast<int64_t>(kind_of(round_sf, sf.dtype()))}, {"k", k}},
           x.device().kind)
      .launch(stream, {x, words, factors});
}

}  // namespace tw::kernels
