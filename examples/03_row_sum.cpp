// Lesson 3: tiles in memory of a block. y[i] = sum of row i of x, for rows of any length, which
// are read a tile at a time.
//
// A fragment is a buffer that the block keeps in registers. Operations such as copy, fill and
// reduce work on whole tiles; a serial loop repeats them.
//
// Prints "the sums of 37 rows of 1000 numbers".
#include <cstdio>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

void row_sum(Builder& k) {
  constexpr int64_t kRows = 8, kColumns = 64;  // of a tile
  const Expr n = k.dim("n"), m = k.dim("m");
  const Buffer x = k.input("x", f32, {n, m});
  const Buffer y = k.output("y", f32, {n});
  k.launch({cdiv(n, kRows)}, [&](Expr block) {
    const Buffer tile = fragment(f32, {kRows, kColumns});
    const Buffer sums = fragment(f32, {kRows});
    clear(sums);
    serial(cdiv(m, kColumns), [&](Expr step) {
      copy(x(at(block * kRows, kRows), at(step * kColumns, kColumns)), tile);  // 0 outside x
      reduce_sum(tile, sums, /*dim=*/1, {.clear = false});                     // adds to sums
    });
    copy(sums, y(at(block * kRows, kRows)));
  });
}

int main() {
  const Kernel kernel = compile(program("row_sum", row_sum));

  constexpr int64_t n = 37, m = 1000;
  std::vector<float> x(n * m), y(n);
  for (int64_t i = 0; i < n * m; ++i) x[i] = static_cast<float>(i % 10);
  kernel({Tensor(x.data(), {n, m}), Tensor(y.data(), {n})});

  // Ten numbers from 0 to 9 add up to 45, and each row has a hundred times ten.
  for (const float sum : y) {
    if (sum != 4500) return 1;
  }
  std::printf("the sums of %d rows of %d numbers\n", int{n}, int{m});
}
