// Codes of 12 bits, as the casts of this folder share them (see quant.h).
#pragma once

#include <array>
#include <functional>

#include "tilewright/kernels/check.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

constexpr int64_t kCodesTogether = 8, kWordsTogether = 3;  // so many codes are so many words
constexpr int64_t kFour = kCodesTogether / 2;
constexpr float kLargestE5m6 = 65024;

using Codes = std::array<Expr, kCodesTogether>;
using CodeWords = std::array<Expr, kWordsTogether>;

/// The code of a number; larger ones than the largest become it, NaN becomes 0x7FF.
Expr e5m6_code(const Expr& y);
/// What code i of the first or second four of eight stands for, in f32; `word` gives their words.
Expr e5m6_value(const std::function<Expr(const Expr&)>& word, const Expr& quad, const Expr& i);

/// The words of eight codes of 12 bits, in u32.
CodeWords packed(const Codes& codes);

/// The words of the codes of eight numbers of bf16 times a power of two that keeps all their bits:
/// of those below a code's only the first can be set, so that all that is rounded are ties. `half`
/// gives the products, in f16 toward zero, `low` the numbers themselves, but for NaN this:
constexpr float kInsteadOfNaN = 0x1.FCp127F;  // the largest but one, whose last bit is 0
CodeWords tied_words(const std::function<Expr(int64_t)>& half,
                     const std::function<Expr(int64_t)>& low);

/// Bytes [m, 3 k / 2] as words [m, 3 k / 8]. Raises unless they are those of codes.
Tensor as_words(std::string_view function, const Named& q);

}  // namespace tw::kernels
