// Lesson 4: tile values. y[i, :] = exp(x[i, :] - max) / sum of the same, written as the formula.
//
// load gives the tile that a region holds, as a value: operators and functions work on all of its
// elements, shapes broadcast, max and sum fold an axis, store writes. Fragments and loops like
// those of lesson 3 are what this becomes.
//
// Prints "softmax of 5 rows of 100 numbers".
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

/// The program for rows of `h` elements. A tile has a constant shape, so h is a C++ number, known
/// while tracing; the number of rows may differ from call to call.
ir::Program softmax(int64_t h) {
  return program("softmax", [h](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("x", f32, {n, h});
    const Buffer y = k.output("y", f32, {n, h});
    k.launch({n}, [&](Expr row) {
      const Tile v = load(x(at(row, 1), all));     // [1, h]
      const Tile e = exp(v - max(v, /*axis=*/1));  // [1, h] minus [1, 1]
      store(y(at(row, 1), all), e / sum(e, /*axis=*/1));
    });
  });
}

int main() {
  constexpr int64_t n = 5, h = 100;
  std::vector<float> x(n * h), y(n * h);
  for (int64_t i = 0; i < n * h; ++i) x[i] = std::sin(static_cast<float>(i));
  compile(softmax(h))({Tensor(x.data(), {n, h}), Tensor(y.data(), {n, h})});

  for (int64_t row = 0; row < n; ++row) {
    const float *in = &x[row * h], *out = &y[row * h];
    double sum = 0;
    for (int64_t j = 0; j < h; ++j) sum += std::exp(double{in[j]});
    for (int64_t j = 0; j < h; ++j) {
      if (std::abs(out[j] - std::exp(double{in[j]}) / sum) > 1e-7) return 1;
    }
  }
  std::printf("softmax of %d rows of %d numbers\n", int{n}, int{h});
}
