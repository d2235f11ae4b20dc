// Lesson 2: elements, and sizes that divide nothing. z = a x + y, element by element, with one
// kernel for vectors of every length.
//
// A block may reach past the end of a tensor: a read there gives 0, a write there does nothing.
// The compiler leaves the checks out wherever it can prove that there is nothing to check.
//
// Prints "a x + y for 0, 1, 255, 256 and 1003 elements".
#include <cstdio>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

void scale_and_add(Builder& k) {
  const Expr n = k.dim("n");
  const Expr a = k.scalar("a", f32);  // a number that each call gives
  const Buffer x = k.input("x", f32, {n}), y = k.input("y", f32, {n});
  const Buffer z = k.output("z", f32, {n});
  k.launch({cdiv(n, 256)}, [&](Expr block) {
    // 256 iterations that do not depend on each other; they become vector instructions.
    parallel({256}, [&](Expr lane) {
      const Expr i = block * 256 + lane;
      z(i) = a * x(i) + y(i);
    });
  });
}

/// Whether the kernel is right for n elements, and leaves what lies behind them alone.
bool is_right(const Kernel& kernel, int64_t n) {
  const float untouched = -1;
  std::vector<float> x(n), y(n), z(n + 1, untouched);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 7);
    y[i] = static_cast<float>(i % 5);
  }
  kernel({2.0F, Tensor(x.data(), {n}), Tensor(y.data(), {n}), Tensor(z.data(), {n})});
  for (int64_t i = 0; i < n; ++i) {
    if (z[i] != 2 * x[i] + y[i]) return false;
  }
  return z[n] == untouched;
}

int main() {
  const Kernel kernel = compile(program("scale_and_add", scale_and_add));
  for (const int64_t n : {0, 1, 255, 256, 1003}) {
    if (!is_right(kernel, n)) return 1;
  }
  std::puts("a x + y for 0, 1, 255, 256 and 1003 elements");
}
