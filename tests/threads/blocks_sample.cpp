// Programs whose blocks work together.
#include "tests/threads/sample.h"
#include "tilewright/base/format.h"
#include "tilewright/lang/lang.h"

namespace tw::test {
namespace {

constexpr int64_t kWidth = 64;

/// Each block reads, behind a barrier of the grid, what the next one has written.
Sample grid_exchange(int64_t threads) {
  constexpr int64_t kBlocks = 6;
  Sample s{.name = format("grid_exchange_{}", threads)};
  s.program = program("grid_exchange", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {kBlocks, kWidth}), h = k.inout("H", f32, {kBlocks, kWidth}),
                 y = k.output("Y", f32, {kBlocks, kWidth});
    k.launch({3, 2}, {.threads = {threads}, .cooperative = true}, [&](Expr bx, Expr by) {
      const Expr b = bx + by * 3;
      parallel({kWidth}, [&](Expr i) { h(b, i) = x(b, i) * 2.f; });
      grid_sync();
      serial(thread_idx(), kWidth, threads,
             [&](Expr i) { y(b, i) = h((b + 1) % kBlocks, kWidth - 1 - i); });
    });
  });
  s.tensors = {{f32, {kBlocks, kWidth}, counted(kBlocks * kWidth)},
               {f32, {kBlocks, kWidth}, {}},
               {f32, {kBlocks, kWidth}, {}}};
  for (int64_t b = 0; b < kBlocks; ++b) {
    for (int64_t i = 0; i < kWidth; ++i) {
      s.expected.push_back(static_cast<double>(2 * ((b + 1) % kBlocks * kWidth + kWidth - 1 - i)));
    }
  }
  return s;
}

/// A grid that stays: a few blocks share many rows, and go round several times.
Sample grid_turns() {
  constexpr int64_t kRows = 7, kBlocks = 3, kTurns = 4;
  Sample s{.name = "grid_turns"};
  s.program = program("grid_turns", [&](Builder& k) {
    const Buffer x = k.inout("X", i32, {2, kRows, kWidth}), y = k.output("Y", i32, {kRows, kWidth});
    k.launch({kBlocks}, {.threads = {kWidth}, .cooperative = true}, [&](Expr b) {
      serial(kTurns, [&](Expr turn) {
        serial(b, kRows, kBlocks, [&](Expr row) {
          const Expr t = thread_idx();
          x((turn + 1) % 2, (row + 1) % kRows, kWidth - 1 - t) = x(turn % 2, row, t) + 1;
        });
        grid_sync();
      });
      serial(b, kRows, kBlocks, [&](Expr row) { copy(x(kTurns % 2, row), y(row)); });
    });
  });
  s.tensors = {{i32, {2, kRows, kWidth}, counted(kRows * kWidth)}, {i32, {kRows, kWidth}, {}}};
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t from = (row + kRows - kTurns % kRows) % kRows;
      s.expected.push_back(static_cast<double>(from * kWidth + i + kTurns));
    }
  }
  return s;
}

}  // namespace

std::vector<Sample> block_samples() { return {grid_exchange(64), grid_exchange(96), grid_turns()}; }

}  // namespace tw::test
