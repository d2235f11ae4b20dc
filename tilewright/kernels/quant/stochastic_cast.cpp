// y = x, each element rounded up or down at random.
// Memory bound: x is read once, y written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/stochastic.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k, const Case& c) {
  const int64_t quads = k.tunable("quads", 1024);  // of a block
  const Expr n = k.dim("n");
  const Buffer x = k.input("x", c.dtype(0), {n}), y = k.output("y", c.dtype(1), {n});
  k.launch({cdiv(n, quads * kQuad)}, [&](Expr block) {
    const Expr first = let(block * (quads * kQuad));
    const Buffer v = fragment(f32, {quads * kQuad}, "v");
    const Buffer parts = fragment(u32, {quads, kQuad}, "parts"),
                 hash = fragment(u32, {quads}, "hash");
    parallel({quads * kQuad}, [&](Expr i) { v(i) = cast(x(first + i), f32); });
    parallel({quads, kQuad},
             [&](Expr q, Expr r) { parts(q, r) = random_part(v(q * kQuad + r), r); });
    reduce_sum(parts, hash, 1);
    parallel({quads}, [&](Expr q) { hash(q) = random_hash(hash(q), first / kQuad + q); });
    parallel({quads * kQuad}, [&](Expr i) {
      y(first + i) = cast(
          v(i), c.dtype(1),
          {.round = Rounding::rs, .rbits = random_bits(c.dtype(1), hash(i / kQuad), i % kQuad)});
    });
  });
}

/// Each of a block's 128 threads has two vectors of 16 bytes of x.
void schedule_gpu(Schedule& s, const Case& c) {
  s.threads(128).set("quads", 2 * 128 * 128 / c.dtype(0).bits() / kQuad);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("stochastic_cast", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void stochastic_cast(const Tensor& x, const Tensor& y, Stream stream) {
  constexpr const char* f = "stochastic_cast";
  check_dtype(f, {"x", x}, {f32, bf16});
  check_dtype(f, {"y", y}, {bf16, f8_e4m3});
  TW_REQUIRE(x.dtype() != y.dtype(), "{}: x and y are both {}, y must have fewer bits", f,
             x.dtype());
  check_shape(f, {"y", y}, x.shape(), "like x");
  for (const Named& t : {Named{"x", x}, Named{"y", y}}) {
    TW_REQUIRE(t.tensor.is_compact(), "{}: {} is {}, it must be contiguous", f, t.name, t.tensor);
  }
  const int64_t n = x.numel();
  TW_REQUIRE(n % kQuad == 0, "{}: x has {} elements, the number must be a multiple of 4; pad x", f,
             n);
  check_apart(f, {"y", y}, {{"x", x}});
  if (n == 0) return;
  const auto flat = [n](const Tensor& t) { return Tensor(t.data(), t.dtype(), {n}, t.device()); };
  kernel()({x.dtype(), y.dtype()}, {}, x.device().kind).launch(stream, {flat(x), flat(y)});
}

}  // namespace tw::kernels
