// Lesson 1: a kernel, from its program to its result. It copies a vector, a block of 256 elements
// at a time.
//
// Prints the program in its text form, then "copied 1000 numbers".
#include <cstdio>
#include <numeric>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

int main() {
  // The function below runs once, now, and writes down what the kernel will do. An Expr stands for
  // a number that is known when the kernel runs; C++ numbers such as 256 are known already.
  const ir::Program copy_vector = program("copy_vector", [](Builder& k) {
    const Expr n = k.dim("n");  // taken from the shapes of the arguments at each call
    const Buffer x = k.input("x", f32, {n});
    const Buffer y = k.output("y", f32, {n});
    k.launch({cdiv(n, 256)}, [&](Expr block) {  // this many blocks, in parallel
      const auto part = at(block * 256, 256);   // 256 elements from block * 256 on
      copy(x(part), y(part));                   // the last part is cut where x and y end
    });
  });
  std::printf("%s", ir::print(copy_vector).c_str());

  const Kernel kernel = compile(copy_vector);  // for this machine; takes milliseconds

  std::vector<float> x(1000), y(1000);
  std::iota(x.begin(), x.end(), 1.0F);
  kernel({Tensor(x.data(), {1000}), Tensor(y.data(), {1000})});  // in the order of the parameters

  if (y != x) return 1;
  std::printf("copied %zu numbers\n", y.size());
}
