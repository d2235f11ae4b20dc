// Lesson 5: a matrix product, and how it is tuned. c = a b, a tile of c at a time; tiles of a and b
// are staged in shared memory by a pipelined loop, which may fetch the next ones early.
//
// The sizes of the tiles are tunables: what they are does not change the result, only the speed.
//
// Prints two lines such as "tiles of 64 x 128, 64 deep: 51.4 GFLOP/s".
#include <array>
#include <cstdio>
#include <vector>

#include "tilewright/runtime/profile.h"
#include "tilewright/tilewright.h"

using namespace tw;

void matmul(Builder& k) {
  const Expr m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
  const int64_t bm = k.tunable("bm", 32), bn = k.tunable("bn", 32), bk = k.tunable("bk", 32);
  const Buffer a = k.input("a", f32, {m, depth}), b = k.input("b", f32, {depth, n});
  const Buffer c = k.output("c", f32, {m, n});
  k.launch({cdiv(n, bn), cdiv(m, bm)}, [&](Expr x, Expr y) {
    const Buffer a_tile = shared(f32, {bm, bk}), b_tile = shared(f32, {bk, bn});
    const Buffer sums = fragment(f32, {bm, bn});
    clear(sums);
    pipelined(cdiv(depth, bk), [&](Expr step) {
      copy(a(y * bm, step * bk), a_tile);  // a base is enough: a_tile says how much
      copy(b(step * bk, x * bn), b_tile);
      gemm(a_tile, b_tile, sums);  // sums += a_tile b_tile
    });
    copy(sums, c(y * bm, x * bn));
  });
}

int main() {
  // Small whole numbers: their sums are exact in any order.
  constexpr int64_t m = 190, n = 210, depth = 230;
  std::vector<float> a(m * depth), b(depth * n), c(m * n), expected(m * n);
  for (int64_t i = 0; i < m * depth; ++i) a[i] = static_cast<float>(i % 7 - 3);
  for (int64_t i = 0; i < depth * n; ++i) b[i] = static_cast<float>(i % 5 - 2);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t l = 0; l < depth; ++l) {
      for (int64_t j = 0; j < n; ++j) expected[i * n + j] += a[i * depth + l] * b[l * n + j];
    }
  }
  const KernelDef definition = define_kernel("matmul", matmul);
  for (const auto& [bm, bn, bk] : {std::array{16, 16, 16}, std::array{64, 128, 64}}) {
    Schedule schedule;
    schedule.set("bm", bm).set("bn", bn).set("bk", bk);
    const Kernel kernel = compile(definition.trace(targets::cpu, {}, schedule));
    const auto run = [&] {
      kernel(
          {Tensor(a.data(), {m, depth}), Tensor(b.data(), {depth, n}), Tensor(c.data(), {m, n})});
    };
    const auto time = runtime::bench(run, {.warmup_ms = 5, .repeat_ms = 20});
    if (c != expected) return 1;
    std::printf("tiles of %d x %d, %d deep: %.1f GFLOP/s\n", bm, bn, bk,
                1e3 * time.tflop_per_s(2.0 * m * n * depth));
  }
}
