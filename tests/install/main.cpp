// Compiles and calls a kernel with what is installed: headers, core, and the CPU backend beside it.
#include <vector>

#include "tilewright/tilewright.h"

int main() {
  const tw::Kernel twice = tw::compile(tw::program("twice", [](tw::Builder& k) {
    const tw::Expr n = k.dim("n");
    const tw::Buffer x = k.input("x", tw::f32, {n});
    const tw::Buffer y = k.output("y", tw::f32, {n});
    k.launch({tw::cdiv(n, 64)}, [&](tw::Expr block) {
      const auto part = tw::at(block * 64, 64);
      tw::store(y(part), tw::load(x(part)) * 2.0f);
    });
  }));
  std::vector<float> x(100, 1.5f), y(100);
  twice({tw::Tensor(x.data(), {100}), tw::Tensor(y.data(), {100})});
  for (const float value : y) {
    if (value != 3.0f) return 1;
  }
  return 0;
}
