// What a warm call from C++ costs: a kernel of one block, 16 elements and four arrays. And what a
// function of the library costs, from C++ and through the C API.
#include <array>

#include <benchmark/benchmark.h>

#include "tilewright/capi/norm.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"
#include "tilewright/kernels/norm.h"

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

struct Row {
  std::array<float, 16> x{}, w{}, y{};
};

void rms_norm_from_cpp(benchmark::State& state) {
  Row row;
  for (auto _ : state) {
    const tw::Tensor x(row.x.data(), {1, 16}), w(row.w.data(), {16}), y(row.y.data(), {1, 16});
    tw::kernels::rms_norm(x, w, 1, y);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(rms_norm_from_cpp);

void rms_norm_from_c(benchmark::State& state) {
  Row row;
  for (auto _ : state) {
    const tw_tensor x{.data = row.x.data(), .dtype = TW_F32, .rank = 2, .shape = {1, 16}};
    const tw_tensor w{.data = row.w.data(), .dtype = TW_F32, .rank = 1, .shape = {16}};
    const tw_tensor y{.data = row.y.data(), .dtype = TW_F32, .rank = 2, .shape = {1, 16}};
    if (tw_rms_norm(&x, &w, 1, &y, nullptr) != TW_OK) state.SkipWithError(tw_last_error());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(rms_norm_from_c);

}  // namespace

BENCHMARK_MAIN();
