// Lesson 7: kernels that travel. A compiled kernel becomes a file; whoever loads it needs neither
// the compiler nor LLVM, only the core library.
//
// `tilewright bench square.so --size n=100000` would time such a file from a shell.
//
// Prints what the file says of itself, then "the loaded kernel squares".
#include <cstdio>
#include <filesystem>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

namespace {

/// The side with the compiler. The target is named, since the file may run on another machine: any
/// x86-64 processor has what "cpu:baseline" needs.
void make(const std::string& path) {
  const ir::Program square = program("square", [](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("x", f32, {n}), y = k.output("y", f32, {n});
    k.launch({cdiv(n, 128)}, [&](Expr block) {
      const auto part = at(block * 128, 128);
      const Tile v = load(x(part));
      store(y(part), v * v);
    });
  });
  compile(square, {.target = "cpu:baseline"}).export_object(path);
}

/// The side without. Arguments are checked as always: a file has the kernel's whole signature.
bool use(const std::string& path) {
  const Kernel kernel = Kernel::load(path);
  std::printf("%s", kernel.explain().c_str());
  std::vector<float> x{1, 2, 3}, y(3);
  kernel({Tensor(x.data(), {3}), Tensor(y.data(), {3})});
  return y == std::vector<float>{1, 4, 9};
}

}  // namespace

int main() {
  const std::string path = "square.so";
  make(path);
  const bool right = use(path);
  std::filesystem::remove(path);
  if (!right) return 1;
  std::puts("the loaded kernel squares");
}
