#include "tilewright/kernels/quant/e5m6.h"

namespace tw::kernels {
namespace {

constexpr int kBits = 12;
constexpr float kLargestF16 = 65504, kNoLowBits = 65536;
constexpr uint32_t kLow = (1U << 17) - 1;  // bits of an f32 below the six of a code's mantissa

}  // namespace

Expr e5m6_code(const Expr& y) {
  // Infinity becomes the largest f16, which is cut to the largest code.
  const Expr near = clamp(y, -kLargestF16, kLargestF16);
  const Expr half = bitcast(cast(near, f16, {.round = Rounding::rz}), u16);
  const Expr code = let(cast(half, u32) >> 4);
  // Up where the low bits are above a half, or are a half and the code is odd. Those of NaN, all of
  // whose bits are set, would carry into the sign: a minimum drops it.
  const Expr low = bitcast(min(abs(y), kNoLowBits), u32) & kLow;
  return code + ((low + (kLow >> 1) + (code & 1U)) >> 17);
}

Expr e5m6_value(const std::function<Expr(const Expr&)>& word, const Expr& quad, const Expr& i) {
  constexpr int64_t kWordBits = 32, kHalfBits = 16;
  // Four codes begin where the first of two words does, or end where the second does.
  const Expr words = cast(word(quad), u64) << kWordBits | cast(word(quad + 1), u64);
  const Expr four = words << cast(quad * kHalfBits, u64);
  // The code and four bits behind it, in whose place an f16 has zeros.
  const Expr half = cast(four >> cast(3 * kHalfBits - i * kBits, u64), u16);
  return cast(bitcast(cast(half & 0xFFF0U, u16), f16), f32);
}

CodeWords packed(const Codes& codes) {
  std::array<Expr, kCodesTogether / 2> pair;  // 24 bits
  for (size_t i = 0; i < pair.size(); ++i) {
    pair[i] = let((codes[2 * i] << kBits) + codes[2 * i + 1]);
  }
  return {pair[0] << 8 | pair[1] >> 16, pair[1] << 16 | pair[2] >> 8, pair[2] << 24 | pair[3]};
}

CodeWords tied_words(const std::function<Expr(int64_t)>& half,
                     const std::function<Expr(int64_t)>& low) {
  // Two elements of 16 bits, the first in the low half.
  const auto word = [](const auto& of, int64_t first) {
    const auto bits = [&](int64_t n) { return cast(bitcast(of(n), u16), u32); };
    return let(bits(first) | bits(first + 1) << 16);
  };
  std::array<Expr, kCodesTogether / 2> pair;  // 24 bits
  for (size_t i = 0; i < pair.size(); ++i) {
    const int64_t first = 2 * static_cast<int64_t>(i);
    const Expr h = word(half, first);
    // Up where the code, whose last bit is the fifth, and what is cut off are odd.
    const Expr codes = let(h + (word(low, first) << 4 & h & 0x00100010U));
    pair[i] = let((codes << 8 & 0xFFF000U) | codes >> 20);
  }
  return {byte_permute(pair[0], pair[1], 0x2106U), byte_permute(pair[1], pair[2], 0x1065U),
          byte_permute(pair[2], pair[3], 0x0654U)};
}

Tensor as_words(std::string_view function, const Named& q) {
  constexpr int64_t kBytes = 4;
  check_rank(function, q, 2);
  check_dtype(function, q, {u8});
  const Tensor& t = q.tensor;
  TW_REQUIRE(t.dim(1) % (kBytes * kWordsTogether) == 0,
             "{}: {} is {}, its rows must be a multiple of 12 bytes, which are 8 codes", function,
             q.name, t);
  const bool rows_fit = t.dim(0) < 2 || t.stride(0) % kBytes == 0;
  const bool is_dense = t.dim(1) == 0 || t.stride(1) == 1;
  TW_REQUIRE(rows_fit && is_dense && reinterpret_cast<uintptr_t>(t.data()) % kBytes == 0,
             "{}: {} has strides ({}, {}), its rows must be without gaps and begin at multiples "
             "of 4 bytes",
             function, q.name, t.stride(0), t.stride(1));
  return {t.data(), u32, {t.dim(0), t.dim(1) / kBytes}, {t.stride(0) / kBytes, 1}, t.device()};
}

}  // namespace tw::kernels
