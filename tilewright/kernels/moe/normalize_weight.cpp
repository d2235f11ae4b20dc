// denominator, normalized = D(weights), weights / D(weights), see moe.h for D.
// Memory bound: weights are read once, normalized written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/weights.h"

namespace tw::kernels {
namespace {

// Columns behind the last weight load as zero and are not stored.
void dataflow(Builder& k) {
  const Expr tokens = k.dim("tokens");
  const int64_t count = k.constant("k"), rows = k.tunable("rows", 16);
  const auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  const Buffer weights = k.input("weights", f32, {tokens, count});
  const Buffer denominators = k.output("denominator", f32, {tokens});
  const Buffer normalized = k.output("normalized", f32, {tokens, count});
  k.launch({cdiv(tokens, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows), columns = at(0, width);
    const Tile w = load(weights(here, columns));
    const Tile d = denominator(w);
    store(denominators(here), reshape(d, {rows}));
    store(normalized(here, columns), w / d);
  });
}

/// No weight has two threads: in place, one could write it before the other reads it.
void schedule_gpu(Schedule& s, const Case& c) {
  s.threads(c.constant("k") > 1 ? 128 : 64).set("rows", 64);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("normalize_weight", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

// Wide rows one by one: the order of their sums leaves no other way.
void wide_dataflow(Builder& k) {
  const Expr tokens = k.dim("tokens"), count = k.dim("k");
  const int64_t rows = k.tunable("rows", 1);
  const Buffer weights = k.input("weights", f32, {tokens, count});
  const Buffer denominators = k.output("denominator", f32, {tokens});
  const Buffer normalized = k.output("normalized", f32, {tokens, count});
  k.launch({cdiv(tokens, rows)}, [&](Expr block) {
    parallel({rows}, [&](Expr i) {
      const Expr row = let(block * rows + i);
      Variable sum = var(f32, 1e-20F);
      serial(count, [&](Expr j) { sum += weights(row, j); });
      denominators(row) = sum;
      serial(count, [&](Expr j) { normalized(row, j) = ieee::div(weights(row, j), sum); });
    });
  });
}

const Jit& wide_kernel() {
  static const Jit jit(
      define_kernel("normalize_weight_wide", wide_dataflow)
          .schedule("cuda", [](Schedule& s, const Case&) { s.threads(128).set("rows", 128); }));
  return jit;
}

}  // namespace

void normalize_weight(const Tensor& weights, const Tensor& denominator, const Tensor& normalized,
                      const NormalizeWeightArgs& args, Stream stream) {
  constexpr const char* f = "normalize_weight";
  const Named w{"weights", weights}, d{"denominator", denominator}, n{"normalized", normalized};
  check_rank(f, w, 2);
  check_dtype(f, w, {f32});
  const int64_t tokens = weights.dim(0), count = weights.dim(1);
  TW_REQUIRE(count <= kMostChoices || args.wide_rows,
             "{}: weights is {}, a token may have at most {} weights", f, weights, kMostChoices);
  check_dtype(f, d, {f32});
  check_shape(f, d, {tokens}, "[tokens]");
  check_like(f, n, w);
  check_apart(f, d, {w, n});
  check_apart(f, n, {w}, /*in_place=*/true);
  const DeviceKind device = weights.device().kind;
  if (count > kMostChoices) {
    return wide_kernel()({}, {}, device).launch(stream, {weights, denominator, normalized}, true);
  }
  kernel()({}, {{"k", count}}, device).launch(stream, {weights, denominator, normalized}, true);
}

}  // namespace tw::kernels
