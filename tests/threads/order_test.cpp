// Barriers that the compiler puts around code of single threads, and copies at odd places: what is
// accepted runs clean in the twin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"
#include "tests/threads/sample.h"
#include "tilewright/base/diagnostics.h"
#include "tilewright/base/format.h"
#include "tilewright/lang/lang.h"
#include "tilewright/pass/checks.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::test {
namespace {

using testing::ElementsAre;

/// A block of threads on input x: f32[64] and output y: f32[64].
ir::Program block(const std::function<void(const Buffer&, const Buffer&)>& author,
                  int64_t threads = 64) {
  return program("p", [&](Builder& k) {
    const Buffer x = k.input("x", f32, {64}), y = k.output("y", f32, {64});
    k.launch({1}, {.threads = {threads}}, [&](Expr) { author(x, y); });
  });
}

/// Runs it in the twin, with several orders of threads, and expects y[i] = expected(i).
void expect_clean(const ir::Program& program, const std::function<double(int)>& expected) {
  Diagnostics diagnostics;
  pass::check_program(program, diagnostics);
  EXPECT_EQ(to_text(diagnostics), "");
  const ir::Program threads = pass::after(program, "simplify_threads");
  Sample sample{.tensors = {{f32, {64}, counted(64)}, {f32, {64}, {}}}};
  for (int i = 0; i < 64; ++i) sample.expected.push_back(expected(i));
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const SampleMemory memory(sample);
    const auto result = sim::run_twin(threads, memory.arguments(), {.seed = seed});
    ASSERT_EQ(sim::to_text(result.findings), "") << ir::print(threads);
    ASSERT_EQ(memory.result(), sample.expected) << ir::print(threads);
  }
}

std::vector<std::string> barriers(const ir::Program& program) {
  return pass::barriers(pass::after(program, "insert_barriers"));
}

TEST(ThreadOrder, AReadAfterAConditionalWriteWaits) {
  const ir::Program p = block([](const Buffer& x, const Buffer& y) {
    const Buffer s = shared(f32, {64}, "s");
    const Expr t = thread_idx();
    if_(t < 32, [&] {
      s(t) = x(t);
      s(t + 32) = x(t) + 100.f;
    });
    y(t) = s(63 - t);
  });
  EXPECT_THAT(barriers(p), ElementsAre("s is written before it is read"));
  expect_clean(p, [](int i) { return i < 32 ? 131 - i : 63 - i; });
}

TEST(ThreadOrder, ConditionsThatHandOnValuesStayApart) {
  const ir::Program p = block(
      [](const Buffer& x, const Buffer& y) {
        const Buffer s = shared(f32, {64}, "s");
        const Expr t = thread_idx();
        if_(t < 64, [&] { s(t) = x(t); });
        if_(t < 64, [&] { y(t) = s(63 - t); });
      },
      96);
  EXPECT_THAT(barriers(p), ElementsAre("s is written before it is read"));
  expect_clean(p, [](int i) { return 63 - i; });
}

TEST(ThreadOrder, AnAuthorsBarrierIsEnough) {
  const ir::Program p = block([](const Buffer& x, const Buffer& y) {
    const Buffer s = shared(f32, {64}, "s");
    const Expr t = thread_idx();
    s(t) = x(t);
    sync();
    y(t) = s(63 - t);
  });
  EXPECT_THAT(barriers(p), ElementsAre(""));
  expect_clean(p, [](int i) { return 63 - i; });
}

TEST(ThreadOrder, ALoopWaitsBetweenItsTurns) {
  expect_clean(block([](const Buffer& x, const Buffer& y) {
                 const Buffer s = shared(f32, {64}, "s");
                 const Expr t = thread_idx();
                 s(t) = x(t);
                 serial(6, [&](Expr i) {
                   const Expr v = let(s((t + 1) % 64));
                   s(t) = v;
                   if_(i == 5, [&] { y(t) = s(t); });
                 });
               }),
               [](int i) { return (i + 6) % 64; });
}

TEST(ThreadOrder, AValueReadBeforeABarrierIsThatBeforeIt) {
  expect_clean(block([](const Buffer& x, const Buffer& y) {
                 const Buffer s = shared(f32, {64}, "s");
                 const Expr t = thread_idx();
                 s(t) = x(t);
                 sync();
                 const Expr before = s(63 - t);
                 sync();
                 s(t) = 0.f;
                 y(t) = before + s(t);
               }),
               [](int i) { return 63 - i; });
}

TEST(ThreadOrder, LocalArraysAreEachThreadsOwn) {
  expect_clean(block([](const Buffer& x, const Buffer& y) {
                 const Buffer mine = local(f32, {4}, "mine");
                 const Expr t = thread_idx();
                 serial(4, [&](Expr i) { mine(i) = 0.f; });
                 serial(4, [&](Expr i) { mine(3 - i) = x(t) * cast(i, f32); });
                 y(t) = mine(0) + mine(2);
               }),
               [](int i) { return 4 * i; });
}

TEST(ThreadOrder, ThreadsLeaveALoopWhenTheyLike) {
  expect_clean(block([](const Buffer&, const Buffer& y) {
                 Variable turns = var(i32, 0);
                 const Expr t = thread_idx();
                 while_(true, [&] {
                   if_(turns >= cast(t, i32) % 7, [] { break_(); });
                   turns += 1;
                 });
                 y(t) = cast(turns, f32);
               }),
               [](int i) { return i % 7; });
}

TEST(ThreadOrder, ALoopThatPrefersEnginesIsDoneAfterIt) {
  expect_clean(block([](const Buffer& x, const Buffer& y) {
                 const Buffer s = shared(f32, {64}, "s");
                 parallel({64}, {.prefer_async = true}, [&](Expr i) { s(i) = x(i); });
                 parallel({64}, [&](Expr i) { y(i) = s(63 - i); });
               }),
               [](int i) { return 63 - i; });
}

TEST(ThreadOrder, AnAtomicOfTheBlockIsMadeOnce) {
  expect_clean(block([](const Buffer& x, const Buffer& y) {
                 const Buffer c = shared(i32, {2}, "c");
                 fill(c, 0);
                 const Expr once = atomic_add(c(0), 5, {.ret = true});
                 const Expr each = atomic_add(c(1), cast(x(thread_idx()), i32), {.ret = true});
                 y(thread_idx()) = cast(once + c(0) + c(1) + each * 0, f32);
               }),
               [](int) { return 5 + 63 * 32; });
}

// ---- copies at odd places

/// x: u8[4, 256] to y: u8[4, 256]; rows of `width` bytes from column `first` go through a tile.
struct Odd {
  int64_t first, width;
  bool is_tile_row = true;  // a tile of one row, else of all four
};

enum class Path { threads, own, descriptor, bulk };

ir::Program odd_copy(Path path, const Odd& odd) {
  return program("odd", [&](Builder& k) {
    const Buffer x = k.input("x", u8, {4, 256}, {.align = 16}), y = k.output("y", u8, {4, 256});
    k.launch({1}, {.threads = {32}}, [&](Expr) {
      const Buffer tile = shared(u8, {odd.is_tile_row ? 1 : 4, odd.width}, "tile");
      const auto rows = at(0, odd.is_tile_row ? 1 : 4), columns = at(odd.first, odd.width);
      const TmaOptions form{.form = path == Path::bulk ? TmaForm::bulk : TmaForm::descriptor};
      fill(y, 7);
      if (path == Path::threads) {
        async_copy(x(rows, columns), tile);
        commit();
        wait_group(0);
      } else if (path == Path::own) {
        serial(odd.is_tile_row ? 1 : 4, [&](Expr i) {
          if_(thread_idx() == i, [&] { async_copy(x(i, columns), tile(i, all)); });
        });
        commit();
        wait_group(0);
      } else {
        const PhaseBarriers here = barrier({1});
        tma_load(x(rows, columns), tile, here[0], form);
        here[0].wait(0);
      }
      if (path == Path::threads || path == Path::own) {
        copy(tile, y(rows, columns));
      } else {
        tma_store(tile, y(rows, columns), form);
        tma_store_commit();
        tma_store_wait(0);
      }
    });
  });
}

/// Whether it was accepted; then it must run clean. What isn't has a code.
bool runs(Path path, const Odd& odd) {
  try {
    const ir::Program p = odd_copy(path, odd);
    Diagnostics diagnostics;
    pass::check_program(p, diagnostics);
    diagnostics.throw_errors();
    Sample sample{.tensors = {{u8, {4, 256}, {}}, {u8, {4, 256}, {}}}};
    for (int i = 0; i < 1024; ++i) {
      sample.tensors[0].values.push_back(i % 251);
      const bool copied =
          (!odd.is_tile_row || i < 256) && i % 256 >= odd.first && i % 256 < odd.first + odd.width;
      sample.expected.push_back(copied ? i % 251 : 7);
    }
    const SampleMemory memory(sample);
    const ir::Program threads = pass::after(p, "simplify_threads");
    const auto result = sim::run_twin(threads, memory.arguments(), {.seed = 1});
    EXPECT_EQ(sim::to_text(result.findings), "") << ir::print(threads);
    EXPECT_EQ(memory.result(), sample.expected) << ir::print(threads);
    return true;
  } catch (const Error& error) {
    const std::string code(error.code().text);
    EXPECT_TRUE(code == "E-COPY-06" || code == "E-COPY-08") << error.what();
    return false;
  }
}

TEST(ThreadCopies, AtEveryAlignmentTheyRunOrSayWhyNot) {
  for (const int64_t width : {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128}) {
    for (const int64_t first : {0, 1, 2, 4, 8, 16, 24, 32, 64, 128}) {
      for (const bool is_tile_row : {true, false}) {
        SCOPED_TRACE(format("{} bytes from column {}, {}", width, first, is_tile_row));
        const Odd odd{first, width, is_tile_row};
        EXPECT_TRUE(runs(Path::threads, odd));
        EXPECT_EQ(runs(Path::own, odd),
                  (width == 4 || width == 8 || width == 16) && first % width == 0);
        EXPECT_EQ(runs(Path::descriptor, odd), width % 16 == 0);
        EXPECT_EQ(runs(Path::bulk, odd), width % 16 == 0 && first % 16 == 0);
      }
    }
  }
}

}  // namespace
}  // namespace tw::test
