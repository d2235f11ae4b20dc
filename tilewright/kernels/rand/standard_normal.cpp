// y = standard normals, the same bits on every device.
// Bound by instructions: ten rounds of two multiplies and two logic operations make four words,
// which become normals by two logarithms, roots, sines and cosines.
//
// Every step is one IEEE operation in f32 or one integer operation, and nothing is contracted.
// Polynomials are own fits (weighted minimax by Lawson's iteration, rounded to f32 one coefficient
// after the other); errors are the largest of all words beside double precision.
#include <array>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/rand.h"
#include "tilewright/kernels/rand/box_muller.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr int64_t kQuad = 4;  // normals of a block of Philox

Expr bits(uint32_t n) { return cast(Expr(static_cast<int64_t>(n)), u32); }

/// c[0] + x (c[1] + x (...)).
template <size_t N>
Expr polynomial(const Expr& x, const std::array<float, N>& c) {
  Expr sum = Expr(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = ieee::fma(sum, x, c[i]);
  return sum;
}

/// sqrt(-2 log(u)) for u = word 2^-32 + 2^-33, rounded, in (0, 1]: at most 1.4 ulp off, -0 of 1.
/// u = 2^e (1 + f) with 1 + f in [2/3, 4/3), and -2 log(1 + f) = f p(f).
Expr radius(const Expr& word, bool hardware) {
  constexpr std::array<float, 9> kP = {-2.0F,           0x1.ffffd6p-1F,  -0x1.5554fcp-1F,
                                       0x1.00145p-1F,   -0x1.99d3a8p-2F, 0x1.503884p-2F,
                                       -0x1.1ea94cp-2F, 0x1.3b0e5cp-2F,  -0x1.1f243ap-2F};
  constexpr float kTwoLog2 = 0x1.62e43p+0F;
  const Expr u = let(bitcast(ieee::fma(cast(word, f32), 0x1p-32F, 0x1p-33F), u32));
  const Expr e = let((u - bits(0x3F2AAAAB)) & bits(0xFF800000));  // in the exponent's bits
  const Expr f = let(ieee::sub(bitcast(u - e, f32), 1.0F));
  const Expr square = let(
      ieee::fma(cast(bitcast(e, i32), f32), kTwoLog2 * -0x1p-23F, ieee::mul(f, polynomial(f, kP))));
  return hardware ? nearest_root(square) : ieee::sqrt(square);  // of 0 or in [2^-23, 46)
}

/// Sine and cosine of 2 pi (word + 1/2) / 2^32: at most 2.4 and 1.2 ulp off.
/// The angle is a number of right angles plus pi/4 t with |t| < 1.
std::array<Expr, 2> sine_and_cosine(const Expr& word) {
  constexpr std::array<float, 4> kSine = {0x1.921fb6p-1F, -0x1.4abc24p-4F, 0x1.4680a4p-9F,
                                          -0x1.33198ep-15F};
  constexpr std::array<float, 5> kCosine = {1.0F, -0x1.3bd3ccp-2F, 0x1.03c1bp-6F, -0x1.55b2b4p-12F,
                                            0x1.d4f632p-19F};
  const Expr t = let(ieee::mul(cast(bitcast((word << 2) | bits(2), i32), f32), 0x1p-31F));
  const Expr square = let(ieee::mul(t, t));
  const Expr sine = let(ieee::mul(t, polynomial(square, kSine)));
  const Expr cosine = let(polynomial(square, kCosine));
  const Expr quadrant = let(word + bits(0x20000000));  // in the two highest bits
  const Expr odd = let(bitcast(quadrant << 1, i32) < 0);
  const auto with_sign = [](const Expr& x, const Expr& sign) {
    return bitcast(bitcast(x, u32) ^ (sign & bits(0x80000000)), f32);
  };
  return {with_sign(select(odd, cosine, sine), quadrant),
          with_sign(select(odd, sine, cosine), quadrant + bits(0x40000000))};
}

std::array<Expr, 2> normals(const Expr& word0, const Expr& word1, bool hardware) {
  const Expr r = let(radius(word0, hardware));
  const auto [sine, cosine] = sine_and_cosine(word1);
  return {ieee::fma(r, sine, 0.0F), ieee::fma(r, cosine, 0.0F)};  // no -0
}

// A thread has the four neighbors that a block of Philox makes.
void dataflow(Builder& k, const Case& c) {
  const bool hardware = k.constant("hardware") != 0;
  const int64_t quads = k.tunable("quads", 1024);  // of a block
  const Expr n = k.dim("n");
  const Buffer y = k.inout("y", c.dtype(0), {n});
  const Expr seed = k.scalar("seed", i64), subsequence = k.scalar("subsequence", i64);
  k.launch({cdiv(n, quads * kQuad)}, [&](Expr block) {
    const Expr quad = let(block * quads), first = let(quad * kQuad);
    const auto z = normals_of_blocks(
        quads, seed, [&](const Expr& q) { return cast(quad + q, u64); },
        [&](const Expr&) { return cast(subsequence, u64); },
        [&](const Expr& a, const Expr& b) { return normals(a, b, hardware); });
    const auto store = [&] {
      parallel({quads, kQuad}, [&](Expr q, Expr w) {
        const Expr low = select(w == 0, z[0](q), z[1](q)), high = select(w == 2, z[2](q), z[3](q));
        y(first + (q * kQuad + w)) = cast(select(w < 2, low, high), c.dtype(0));
      });
    };
    // Most blocks are inside: one look for all of their elements.
    if_(
        first + quads * kQuad <= n,
        [&] {
          assume(0 <= first && first + quads * kQuad <= n);
          store();
        },
        store);
  });
}

// Four quads of a thread are at once on their way: on an H200 94.7 us for 8192 x 7168 in f32, one
// 115.2, two in turn 111.5.
const Jit& kernel() {
  static const Jit jit(
      define_kernel("standard_normal", dataflow).schedule("cuda", [](Schedule& s, const Case&) {
        s.threads(128).set("quads", 512);
      }));
  return jit;
}

}  // namespace

void standard_normal(const Tensor& y, const NormalArgs& args, Stream stream) {
  constexpr const char* f = "standard_normal";
  check_dtype(f, {"y", y}, {f32, bf16, f16});
  TW_REQUIRE(y.is_compact(), "{}: y is {}, it must be contiguous", f, y);
  const int64_t n = y.numel();
  if (n == 0) return;
  const bool hardware = y.device().kind == DeviceKind::cuda;
  kernel()({y.dtype()}, {{"hardware", hardware}}, y.device().kind)
      .launch(stream, {Tensor(y.data(), y.dtype(), {n}, y.device()),
                       static_cast<int64_t>(args.seed), static_cast<int64_t>(args.subsequence)});
}

}  // namespace tw::kernels
