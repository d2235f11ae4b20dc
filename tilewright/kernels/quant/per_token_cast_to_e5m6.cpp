// q, sf = x as codes of 12 bits with a factor for each row, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once. Rows that are too long to be held are read
// twice, the second time from a cache.
#include <algorithm>
#include <functional>
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
constexpr int64_t kCodeBits = 12;

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

    // Writes codes from a column on, of which words_of(row, run, strip) gives eight.
    const auto write = [&](const Expr& first, size_t strips_of,
                           const std::function<CodeWords(Expr, Expr, size_t)>& words_of) {
      const int64_t held_runs = static_cast<int64_t>(strips_of) * runs;
      const Buffer words = shared(u32, {rows, held_runs * kWordsTogether}, "words");
      parallel({rows, runs}, [&](Expr i, Expr r) {
        for (size_t s = 0; s < strips_of; ++s) {
          const CodeWords three = words_of(i, r, s);
          for (size_t n = 0; n < three.size(); ++n) {
            words(i, (static_cast<int64_t>(s) * runs + r) * kWordsTogether + n) = three[n];
          }
        }
      });
      copy(words, q(row0, first / kCodesTogether * kWordsTogether));
    };
    const auto write_any = [&](const Expr& first, const std::vector<Buffer>& of) {
      write(first, of.size(), [&](const Expr& i, const Expr& r, size_t s) {
        Codes codes;
        for (size_t n = 0; n < codes.size(); ++n) {
          const Expr e = cast(of[s](i, r * kCodesTogether + n), f32);
          codes[n] = e5m6_code(let(ieee::mul(e, inverse(i, 0))));
        }
        return packed(codes);
      });
    };
    if (x_dtype != bf16 || kind != ScaleKind::power_of_two || width > span) {
      for_each_strip(width, span, [&](Expr first) {
        if (width > span) read(first);
        write_any(first, v);
      });
      return;
    }
    // Numbers of bf16 times a power of two need less, but where the product has no room for all
    // bits, or is of infinity. Those are rare: their loop is rolled and reads x again.
    const Buffer is_exact = fragment(bool_, {rows}, "is_exact");
    parallel({rows}, [&](Expr i) { is_exact(i) = inverse(i, 0) >= 1.0F; });
    if_(
        all_of(is_exact),
        [&] {
          std::vector<Buffer> half, low;
          for (const Buffer& each : v) {
            half.push_back(fragment(f16, {rows, strip}, "half"));
            low.push_back(fragment(bf16, {rows, strip}, "low"));
            parallel({rows, strip}, [&](Expr i, Expr j) {
              half.back()(i, j) = cast(ieee::mul(cast(each(i, j), f32), inverse(i, 0)), f16,
                                       {.round = Rounding::rz});
              low.back()(i, j) = min(each(i, j), kInsteadOfNaN);
            });
          }
          write(0, v.size(), [&](const Expr& i, const Expr& r, size_t s) {
            return tied_words([&](int64_t n) { return half[s](i, r * kCodesTogether + n); },
                              [&](int64_t n) { return low[s](i, r * kCodesTogether + n); });
          });
        },
        [&] {
          serial(strips, [&](Expr s) {
            parallel({rows, runs}, [&](Expr i, Expr r) {
              const Expr run = let(s * runs + r);
              if_(row0 + i < m && run < width / kCodesTogether, [&] {
                std::vector<Variable> word;
                for (int64_t n = 0; n < kWordsTogether; ++n) word.push_back(var(u32, 0));
                serial(kCodesTogether, [&](Expr n) {
                  const Expr e = cast(x(row0 + i, run * kCodesTogether + n), f32);
                  const Expr code = e5m6_code(let(ieee::mul(e, inverse(i, 0))));
                  word[0] = funnel_shl(word[1], word[0], kCodeBits);
                  word[1] = funnel_shl(word[2], word[1], kCodeBits);
                  word[2] = word[2] << kCodeBits | code;
                });
                for (int64_t n = 0; n < kWordsTogether; ++n) {
                  q(row0 + i, run * kWordsTogether + n) = word[n];
                }
              });
            });
          });
        });
  });
}

/// A thread has eight elements of a strip, which are one vector of 16 bits each.
void schedule_gpu(Schedule& s, const Case& c) {
  constexpr int64_t kThreads = 224, kElements = kThreads * kCodesTogether;
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
