// Compiles and calls a kernel of its own and one of the library, with what is installed: headers,
// core, library, and the CPU backend beside them.
#include <vector>

#include "tilewright/kernels/norm.h"
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
  tw::kernels::softmax(tw::Tensor(x.data(), {1, 100}), 1.0f, tw::Tensor(y.data(), {1, 100}));
  return y[7] > 0.0099f && y[7] < 0.0101f ? 0 : 2;
}
