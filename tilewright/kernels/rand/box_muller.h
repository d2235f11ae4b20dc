// Normals of random words by Box and Muller: what the kernels of this folder share.
#pragma once

#include <array>
#include <functional>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// The root of x, rounded to the nearest, by CUDA's own steps from the hardware's reciprocal root,
/// without its branch: x is 0 or well inside of the normal numbers.
Expr nearest_root(const Expr& x);

/// Two normals of two words.
using NormalsOf = std::function<std::array<Expr, 2>(const Expr& word0, const Expr& word1)>;

/// f32 [n] each: normal w of block `block(i)` of the subsequence at i of the w-th. Of the four
/// words of Philox 4x32-10 the first two make two normals, the last two the others.
std::array<Buffer, 4> normals_of_blocks(int64_t n, const Expr& seed,
                                        const std::function<Expr(const Expr& i)>& block,
                                        const std::function<Expr(const Expr& i)>& subsequence,
                                        const NormalsOf& normals);

}  // namespace tw::kernels
