// What a warm call from C++ costs: a kernel of one block, 16 elements and four arrays.
#include <array>

#include <benchmark/benchmark.h>

#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"

namespace {

constexpr std::string_view kText = R"(tilewright ir 1
program "multiply_add" {
  input a: f32[16]
  input b: f32[16]
  input c: f32[16]
  output y: f32[16]
  launch block in 1 {
    parallel i in 16 {
      y[i] = a[i] * b[i] + c[i]
    }
  }
}
)";

void call(benchmark::State& state) {
  const tw::Kernel kernel = tw::compile(tw::ir::parse_program(kText));
  std::array<std::array<float, 16>, 4> arrays{};
  const auto tensor = [&](int i) { return tw::Tensor(arrays[i].data(), {16}); };
  const tw::Tensor a = tensor(0), b = tensor(1), c = tensor(2), y = tensor(3);
  for (auto _ : state) {
    kernel.launch({}, {a, b, c, y});
    benchmark::ClobberMemory();
  }
}
BENCHMARK(call);

}  // namespace

BENCHMARK_MAIN();
