#include "tilewright/kernels/rand/box_muller.h"

namespace tw::kernels {

Expr nearest_root(const Expr& x) {
  const Expr inverse = let(fast::rsqrt(max(x, 1e-20F)));
  const Expr root = let(ieee::mul(x, inverse));
  return ieee::fma(ieee::fma(-root, root, x), ieee::mul(inverse, 0.5F), root);
}

std::array<Buffer, 4> normals_of_blocks(int64_t n, const Expr& seed,
                                        const std::function<Expr(const Expr&)>& block,
                                        const std::function<Expr(const Expr&)>& subsequence,
                                        const NormalsOf& normals) {
  std::array<Buffer, 4> z;
  for (Buffer& each : z) each = fragment(f32, {n}, "z");
  parallel({n}, [&](Expr i) {
    const auto words = philox(cast(seed, u64), block(i), subsequence(i));
    const auto a = normals(words[0], words[1]), b = normals(words[2], words[3]);
    z[0](i) = a[0];
    z[1](i) = a[1];
    z[2](i) = b[0];
    z[3](i) = b[1];
  });
  return z;
}

}  // namespace tw::kernels
