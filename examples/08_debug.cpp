// Lesson 8: when something is wrong. Mistakes are exceptions that name the line; kernels can print
// and assert; and what the compiler made, from pass to pass, can be read.
//
// Prints a mistake in a program, one in a call, one that a kernel finds itself, and part of the
// generated code.
#include <cstdio>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

namespace {

/// Prints what the function throws; whether it threw.
template <class F>
bool fails(F f) {
  try {
    f();
    return false;
  } catch (const Error& error) {
    std::printf("%s\n\n", error.what());
    return true;
  }
}

void root(Builder& k) {
  const Expr n = k.dim("n");
  const Buffer x = k.input("x", f32, {n}), y = k.output("y", f32, {n});
  k.launch({n}, [&](Expr i) {
    device_assert(x(i) >= 0, "x[{}] is {}", {i, x(i)});
    if_(i == 0, [&] { print("the first root is", {sqrt(x(i))}); });
    y(i) = sqrt(x(i));
  });
}

}  // namespace

int main() {
  // 1. What the language forbids is found while tracing, or by the compiler's checks.
  const bool program_fails = fails([] {
    program("wrong", [](Builder& k) {
      const Buffer a = k.input("a", f32, {64, 32}), b = k.input("b", f32, {64, 32});
      k.launch({1}, [&](Expr) { gemm(a, b, fragment(f32, {64, 32})); });
    });
  });

  // 2. Arguments are checked at each call, before anything runs.
  const Kernel kernel = compile(program("root", root), {.keep_texts = true});
  std::vector<float> x{1, 4, -9}, y(3);
  const Tensor x_tensor(x.data(), {3}), y_tensor(y.data(), {3});
  const bool call_fails = fails([&] { kernel({x_tensor, Tensor(y.data(), {2})}); });

  // 3. An assertion stops the kernel. The option no_debug removes it, and what is printed.
  const bool run_fails = fails([&] { kernel({x_tensor, y_tensor}); });

  // 4. The IR after each pass, LLVM's, and assembly. CompileOptions::dump writes all of them, with
  // what each pass changed, into a folder.
  const std::string& assembly = kernel.text("asm");
  const size_t line = assembly.find("sqrt");
  std::printf("%s\n", assembly.substr(line, assembly.find('\n', line) - line).c_str());
  return program_fails && call_fails && run_fails ? 0 : 1;
}
