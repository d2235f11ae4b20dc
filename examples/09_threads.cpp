// Lesson 9: code for single threads. Tile operations say what a block does; where that isn't
// enough, an author writes what each thread does: which one it is, what the lanes of a warp tell
// each other, where threads wait, and copies that an engine makes meanwhile.
//
// Sums rows: one thread has an engine bring a row to shared memory, all wait for it, each adds
// every 128th element, and warps fold by shuffles. It runs in the twin, which executes the threads
// on the CPU one by one and reports races, missing waits and deadlocks.
#include <cstdio>
#include <vector>

#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/thread/thread_pipeline.h"
#include "tilewright/sim/twin/twin.h"
#include "tilewright/tilewright.h"

using namespace tw;

namespace {

constexpr int64_t kThreads = 128, kColumns = 1024;

void row_sums(Builder& k) {
  const Expr n = k.dim("n");
  const Buffer x = k.input("x", f32, {n, kColumns}), y = k.output("y", f32, {n});
  k.launch({n}, {.threads = {kThreads}}, [&](Expr row) {
    const Buffer tile = shared(f32, {kColumns}, "tile"),
                 sums = shared(f32, {kThreads / 32}, "sums");
    // 1. A barrier whose phase is over when one thread has arrived and the bytes that it announced
    // have come. The block starts one load.
    const PhaseBarriers here = barrier({1});
    tma_load(x(row), tile, here[0]);
    here[0].wait(0);
    // 2. Values of a thread: `sum` is another one in each. No barrier is needed, the wait is one.
    Variable sum = var(f32, 0);
    serial(thread_idx(), kColumns, kThreads, [&](Expr i) { sum += tile(i); });
    const Expr of_warp = warp_reduce(ReduceKind::sum, sum);
    // 3. Through memory: the compiler puts a barrier between what some threads write and others
    // read.
    if_(lane_idx() == 0, [&] { sums(warp_idx()) = of_warp; });
    if_(elect(), [&] {
      Variable total = var(f32, 0);
      serial(kThreads / 32, [&](Expr w) { total += sums(w); });
      y(row) = total;
    });
  });
}

}  // namespace

int main() {
  const ir::Program program = tw::program("row_sums", row_sums);
  // The CPU has no threads that a program could see.
  bool refused = false;
  try {
    compile(program);
  } catch (const Error& error) {
    refused = true;
    std::printf("%s\n", error.what());
  }

  constexpr int64_t kRows = 3;
  std::vector<float> x(kRows * kColumns), y(kRows);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  const ir::Program threads =
      pass::run(program, pass::thread_pipeline(pass::BlockLimits()), {}).program;
  const sim::TwinResult result =
      sim::run_twin(threads, {sim::Argument::tensor(x.data(), f32, {kRows, kColumns}),
                              sim::Argument::tensor(y.data(), f32, {kRows})});
  for (const sim::Finding& finding : result.findings) std::puts(to_text(finding).c_str());

  bool right = result.findings.empty();
  for (size_t row = 0; row < kRows; ++row) {
    float wanted = 0;
    for (size_t i = 0; i < kColumns; ++i) wanted += x[row * kColumns + i];
    right = right && y[row] == wanted;
  }
  std::printf("sums in the twin: %g, %g, %g\n", y[0], y[1], y[2]);
  return refused && right ? 0 : 1;
}
