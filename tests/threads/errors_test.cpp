// What authors of code for single threads are told: whole messages.
#include <gtest/gtest.h>

#include "tests/error/lang_testing.h"
#include "tilewright/base/diagnostics.h"
#include "tilewright/jit/compile.h"
#include "tilewright/pass/check_target.h"
#include "tilewright/pass/checks.h"
#include "tilewright/sim/interpreter.h"

namespace tw {
namespace {

struct Parts {
  Buffer x, y;  // f32[n, 64], input and inout
  Expr n, b;    // a size, the block
};
using Author = std::function<void(const Parts&)>;

ir::Program traced_threads(const Author& author, LaunchOptions options) {
  return program("p", [&](Builder& k) {
    Parts parts;
    parts.n = k.dim("n");
    parts.x = k.input("x", f32, {parts.n, 64});
    parts.y = k.inout("y", f32, {parts.n, 64});
    k.launch({parts.n}, options, [&](Expr b) {
      parts.b = b;
      author(parts);
    });
  });
}

/// What the checks say of a block of 128 threads, the author's lines as `@`.
void expect_found(const Author& author, const std::string& text, int line = __builtin_LINE()) {
  SCOPED_TRACE("line " + std::to_string(line));
  Diagnostics diagnostics;
  const std::string raised = error_of(
      [&] { pass::check_program(traced_threads(author, {.threads = {128}}), diagnostics); });
  EXPECT_EQ(raised, "no error");
  EXPECT_EQ(with_positions_marked(to_text(diagnostics), line), text);
}
void expect_raised(const Author& author, const std::string& text, int line = __builtin_LINE(),
                   Dims threads = {128}) {
  SCOPED_TRACE("line " + std::to_string(line));
  const std::string raised = error_of([&] { traced_threads(author, {.threads = threads}); });
  EXPECT_EQ(with_positions_marked(raised, line), text + "\n  note: while tracing p");
}

// ---- where only some threads are

TEST(ThreadErrors, ABarrierThatSomeThreadsDontReach) {
  const std::string help =
      "\n  help: move it out of what depends on the thread, or use a named barrier with the number "
      "of threads that come";
  expect_found([](const Parts&) { if_(thread_idx() < 64, [] { sync(); }); },
               "@: error[E-SYNC-01]: p: `barrier`: a barrier of the block that only some threads "
               "may reach\n  note: threads differ in `if thread < 64` (@)" +
                   help);
  expect_found(
      [](const Parts&) {
        serial(4, [&](Expr i) {
          if_(thread_idx() > i, [] { break_(); });
          sync();
        });
      },
      "@: error[E-SYNC-01]: p: `barrier`: a barrier of the block that only some threads may reach\n"
      "  note: threads differ in `for i in 0:4` (@)" +
          help);
  expect_found([](const Parts&) { serial(thread_idx(), 4, [](Expr) { sync(); }); },
               "@: error[E-SYNC-01]: p: `barrier`: a barrier of the block that only some threads "
               "may reach\n  note: threads differ in `for i in thread:4` (@)" +
                   help);
  expect_found(
      [](const Parts& p) {
        Variable mine = var(i32, 0);
        mine = cast(thread_idx(), i32);
        while_(mine < 5, [&] {
          mine += 1;
          parallel({64}, [&](Expr i) { p.y(p.b, i) = 1.f; });
        });
      },
      "@: error[E-FLOW-05]: p: `parallel i in 64`: a parallel loop that only some threads may "
      "reach\n  note: threads differ in `while var_1 < 5` (@)\n"
      "  help: all threads of the block take part in it; move it out of what depends on the "
      "thread");
  expect_found([](const Parts&) { parallel({64}, [&](Expr) { sync(); }); },
               "@: error[E-SYNC-01]: p: `barrier`: a barrier inside a parallel loop\n"
               "  help: write it before or after the loop, whose iterations are spread over "
               "threads");
}

TEST(ThreadErrors, ABarrierOfTheGrid) {
  const Author all = [](const Parts&) { grid_sync(); };
  const Author some = [](const Parts&) { if_(thread_idx() < 64, [] { grid_sync(); }); };
  const auto found = [](const Author& author, bool cooperative) {
    Diagnostics diagnostics;
    pass::check_program(traced_threads(author, {.threads = {128}, .cooperative = cooperative}),
                        diagnostics);
    return with_positions_marked(to_text(diagnostics), __builtin_LINE());
  };
  EXPECT_EQ(found(all, true), "");
  EXPECT_EQ(found(all, false),
            "@: p: `sync grid`: a barrier of the grid, whose blocks may not all run at once\n"
            "  help: give .cooperative = true in the options of k.launch");
  EXPECT_EQ(found(some, true),
            "@: error[E-SYNC-01]: p: `sync grid`: a barrier of the grid that only some threads may "
            "reach\n  note: threads differ in `if thread < 64` (@)\n"
            "  help: move it out of what depends on the thread, or use a named barrier with the "
            "number of threads that come");
}

/// What the checks say of blocks of 128 threads in clusters of 2.
void expect_found_in_cluster(const Author& author, const std::string& text,
                             int line = __builtin_LINE()) {
  SCOPED_TRACE("line " + std::to_string(line));
  Diagnostics diagnostics;
  const std::string raised = error_of([&] {
    pass::check_program(traced_threads(author, {.threads = {128}, .cluster = {2}}), diagnostics);
  });
  EXPECT_EQ(with_positions_marked(raised == "no error" ? to_text(diagnostics) : raised, line),
            text);
}

TEST(ThreadErrors, ABarrierOfTheCluster) {
  expect_found_in_cluster([](const Parts&) { if_(thread_idx() < 64, [] { cluster_arrive(); }); },
                          "@: error[E-SYNC-01]: p: `sync cluster_arrive`: a barrier of the cluster "
                          "that only some threads may reach\n"
                          "  note: threads differ in `if thread < 64` (@)\n"
                          "  help: move it out of what depends on the thread, or use a named "
                          "barrier with the number of threads that come");
}

TEST(ThreadErrors, MemoryOfABlockThatMayHaveEnded) {
  const std::string help = "\n  help: write cluster_sync() behind it, so that no block ends before";
  expect_found_in_cluster(
      [](const Parts& p) {
        const Buffer s = shared(f32, {128}, "s");
        s(thread_idx()) = 1.f;
        cluster_sync();
        serial(4, [&](Expr i) { p.y(p.b, i) = remote(s, 0)(thread_idx()); });
      },
      "@: warning[W-SYNC-01]: p: `y[bx, i] = s_remote[thread]`: s of another block is used, which "
      "may have ended" +
          help);
  expect_found_in_cluster(
      [](const Parts&) {
        const PhaseBarriers b = cluster_barrier({128}, "full");
        b[0].arrive_remote(1);
      },
      "@: warning[W-SYNC-01]: p: `sync phase_arrive on full_remote[0]`: full of another block is "
      "used, which may have ended" +
          help);
  expect_found_in_cluster(
      [](const Parts& p) {
        const Buffer s = shared(f32, {64}, "s");
        copy(p.x(p.b), s);
        cluster_sync();
        copy(remote(s, 1), p.y(p.b));
        cluster_sync();
      },
      "");
}

TEST(ThreadErrors, WhatIsNotRemote) {
  expect_raised([](const Parts&) { remote(shared(f32, {64}, "s"), 1); },
                "@: remote: the launch has no clusters, s is this block's alone\n"
                "  help: give .cluster in the options of k.launch, or in the schedule");
  const std::string tracing = "\n  note: while tracing p";
  expect_found_in_cluster(
      [](const Parts& p) { remote(p.x, 1); },
      "@: remote: x is in global memory, other blocks reach shared memory" + tracing);
  expect_found_in_cluster([](const Parts&) { remote(shared(f32, {64}, "s"), 2); },
                          "@: remote: there is no block 2 in a cluster of 2" + tracing);
  expect_found_in_cluster(
      [](const Parts& p) { async_copy(p.x(p.b), remote(shared(f32, {64}, "s"), 1)); },
      "@: error[E-COPY-08]: async_copy: s_remote is another block's, engines copy to and from the "
      "own" +
          tracing);
  expect_raised([](const Parts&) { cluster_idx(3); },
                "@: cluster_idx: dimension 3, it must be 0, 1 or 2");
}

TEST(ThreadErrors, ATileOperationOfSomeThreads) {
  expect_found(
      [](const Parts& p) {
        const Buffer s = shared(f32, {64}, "s");
        if_(elect(), [&] { copy(p.x(p.b, all), s); });
      },
      "@: error[E-FLOW-05]: p: `copy x[bx, 0 :+ 64] -> s`: a tile operation that only some threads "
      "may reach\n  note: threads differ in `if thread == 0` (@)\n"
      "  help: all threads of the block take part in it; move it out of what depends on the "
      "thread");
  expect_found(
      [](const Parts& p) {
        const Buffer s = shared(f32, {64}, "s");
        fill(s, cast(thread_idx(), f32));
        copy(s, p.y(p.b, all));
      },
      "@: error[E-FLOW-05]: p: `fill s = cast(thread, f32)`: a tile operation with a value that "
      "differs "
      "between threads\n  note: `thread` does\n"
      "  help: write the elements with the index of the thread instead");
  expect_found(
      [](const Parts& p) {
        const Expr sum = warp_reduce(ReduceKind::sum, cast(lane_idx(), f32));
        parallel({64}, [&](Expr i) { p.y(p.b, i) = sum; });
      },
      "@: error[E-FLOW-05]: p: `parallel i in 64`: a parallel loop with a value that differs "
      "between threads\n  note: `thread` does\n"
      "  help: its iterations are spread over the threads; use its own indices, or write code of "
      "each thread outside of it");
}

TEST(ThreadErrors, AnElementOfAFragmentByIndex) {
  expect_found(
      [](const Parts& p) {
        const Buffer f = fragment(f32, {64}, "f");
        copy(p.x(p.b, all), f);
        p.y(p.b, thread_idx() % 64) = f(thread_idx() % 64);
      },
      "@: error[E-LAY-05]: p: `y[bx, truncmod(thread, 64)] = f[truncmod(thread, 64)]`: an element "
      "of a fragment in "
      "code of single threads\n  note: f is f32[64] fragment, spread over the threads\n"
      "  help: copy it to shared memory first, or use it in a parallel loop");
}

// ---- warps and barriers

TEST(ThreadErrors, TheThreadsMustBeFixed) {
  expect_raised([](const Parts&) { thread_idx(); },
                "@: error[E-LAUNCH-01]: thread_idx: the launch does not fix its threads\n"
                "  help: give .threads in the options of k.launch, or in the schedule",
                __builtin_LINE(), {});
}

TEST(ThreadErrors, WarpsExchangeWhatTheyCan) {
  expect_raised([](const Parts&) { shfl(thread_idx(), 0, 12); },
                "@: error[E-WARP-01]: shfl: groups of 12 lanes, it must be 2, 4, 8, 16 or 32");
  expect_raised([](const Parts&) { warp_reduce(ReduceKind::sum, thread_idx(), 64); },
                "@: error[E-WARP-01]: warp_reduce: groups of 64 lanes, it must be 2, 4, 8, 16 or "
                "32");
  expect_raised([](const Parts&) { shfl_xor(cast(1.f, f4_e2m1), 1); },
                "@: error[E-WARP-02]: shfl_xor: lanes can't exchange e2m1\n"
                "  help: cast it to a type of 8 bits or more first");
  expect_raised([](const Parts&) { warp_reduce(ReduceKind::prod, thread_idx()); },
                "@: warp_reduce: prod is not among its operations\n"
                "  help: they are sum, max, min, bit_and, bit_or and bit_xor");
  expect_raised([](const Parts&) { warp_reduce(ReduceKind::sum, cast(thread_idx(), f32)); },
                "@: warp_reduce: 48 threads are not whole groups of 32 lanes\n"
                "  help: launch a multiple of 32 threads",
                __builtin_LINE(), {48});
  expect_raised([](const Parts&) { elect(33); },
                "@: elect: one thread of each 33, it must be a multiple of 32\n"
                "  help: elect() is one thread of the block");
}

TEST(ThreadErrors, NamedBarriersAreFewAndForWholeWarps) {
  expect_raised(
      [](const Parts&) {
        sync(3, 64);
        for (int i = 0; i < 15; ++i) barrier_id();
      },
      "@: error[E-SYNC-04]: barrier_id: the 15 named barriers are all taken\n"
      "  help: use one again where its threads have left it, or barriers with phases");
  expect_raised([](const Parts&) { sync(16, 64); },
                "@: error[E-SYNC-04]: sync: there is no named barrier 16, they are 1 to 15");
  expect_raised([](const Parts&) { barrier_arrive(1, 48); },
                "@: barrier_arrive: 48 threads, it must be a multiple of 32");
  expect_found([](const Parts&) { sync(1, 160); },
               "@: p: `barrier with id=1, threads=160`: 160 threads, it must be a multiple "
               "of 32 and at most 128, as the block has");
}

TEST(ThreadErrors, BarriersWithPhases) {
  expect_raised([](const Parts&) { barrier({1, 0}); },
                "@: error[E-SYNC-03]: barrier: 0 arrivals a phase, it must be 1 to 1048575");
  expect_raised([](const Parts&) { serial(4, [](Expr) { barrier({1}); }); },
                "@: barrier: inside a loop, where each turn would make it anew\n"
                "  help: make it before the loop; its phases follow each other there");
  expect_found(
      [](const Parts&) { barrier({1, 64}, "full")[1].arrive(); },
      "@: error[E-SYNC-05]: p: `sync phase_arrive on full[1]`: all 128 threads arrive, but "
      "a phase of full[1] is over after 64\n"
      "  help: let one thread arrive, as in if_(elect(), ...), or make it a barrier for "
      "128");
}

TEST(ThreadErrors, RegistersOfWarpGroups) {
  for (const int64_t n : {16, 25, 264}) {
    expect_raised([n](const Parts&) { reg_increase(n); },
                  "@: error[E-SYNC-06]: reg_increase: " + std::to_string(n) +
                      " registers, it must be a multiple of 8 from 24 to 256");
  }
  expect_raised([](const Parts&) { reg_decrease(24); },
                "@: error[E-SYNC-06]: reg_decrease: 96 threads are not whole warp-groups of 128\n"
                "  help: launch a multiple of 128 threads",
                __builtin_LINE(), {96});
  const auto found = [](int64_t fewer, int64_t more) {
    Diagnostics diagnostics;
    const Author author = [&](const Parts&) {
      if_(warpgroup_idx() == 0, [&] { reg_decrease(fewer); }, [&] { reg_increase(more); });
    };
    pass::check_program(traced_threads(author, {.threads = {384}}), diagnostics);
    return with_positions_marked(to_text(diagnostics), __builtin_LINE());
  };
  EXPECT_EQ(found(24, 240), "");
  EXPECT_EQ(found(32, 240),
            "@: warning[W-SYNC-02]: p: `sync registers_increase, 240`: warp-groups have [32, 240, "
            "240] registers a thread, 65536 in all, but there are 64512\n"
            "  help: let other warp-groups give up more with reg_decrease, or ask for fewer");
}

TEST(ThreadErrors, WaitsForAValue) {
  expect_raised(
      [](const Parts&) { wait_until(local(u32, {4}, "mine")(0), Compare::eq, 1); },
      "@: error[E-ATOM-01]: wait_until: mine is in local, it must be in global or shared memory");
  expect_found(
      [](const Parts& p) {
        parallel({64}, [&](Expr i) { wait_until(p.y(p.b, i), Compare::gt, 0.f); });
      },
      "@: error[E-SYNC-01]: p: `atomic wait_gt y[bx, i], 0.0 with order=acquire, result=old: f32`: "
      "an "
      "operation of threads inside a parallel loop\n"
      "  help: write it before or after the loop, whose iterations are spread over threads");
}

// ---- copies

TEST(ThreadErrors, ALoadWithoutABarrier) {
  expect_raised(
      [](const Parts& p) {
        const Buffer s = shared(f32, {64}, "s");
        tma_load(p.x(p.b, all), s, {});
      },
      "@: error[E-COPY-05]: tma_load: without a barrier nobody can wait for it\n"
      "  help: make one with barrier({1}), and wait for its phase");
}

TEST(ThreadErrors, WhatBulkCopiesCantMove) {
  const auto load = [](const std::function<void(const Parts&, const PhaseBarrier&)>& f) {
    return [f](const Parts& p) { f(p, barrier({1})[0]); };
  };
  expect_raised(
      load([](const Parts& p, const PhaseBarrier& b) {
        tma_load(p.x(p.b, at(0, 3)), shared(f32, {3}, "s"), b);
      }),
      "@: error[E-COPY-06]: tma_load: rows of 12 bytes, it must be a multiple of 16 bytes\n"
      "  note: by descriptor: rows of the box have 12 bytes, it must be a multiple of "
      "16\n  help: use copy or async_copy, which take any region");
  expect_raised(load([](const Parts& p, const PhaseBarrier& b) {
                  tma_load(p.x(p.b, all), shared(bf16, {64}, "s"), b);
                }),
                "@: error[E-COPY-06]: tma_load: from f32 to bf16, engines don't convert\n"
                "  help: copy to a tile of the same dtype, and convert from there");
  expect_raised(load([](const Parts& p, const PhaseBarrier& b) {
                  tma_load(p.x(p.b, all), p.y(p.b, all), b);
                }),
                "@: error[E-COPY-06]: tma_load: from global to global memory, it must be from "
                "global to shared");
  expect_raised(
      [](const Parts& p) { tma_reduce(ReduceKind::max, shared(f32, {64}, "s"), p.y(p.b, all)); },
      "@: error[E-COPY-06]: tma_reduce: max of f32, which engines don't have\n"
      "  help: use atomic_max");
  expect_raised(load([](const Parts& p, const PhaseBarrier& b) {
                  const Buffer v = view_at(cast(p.n, u64), f32, {64});
                  tma_load(v, shared(f32, {64}, "s"), b, {.form = TmaForm::descriptor});
                }),
                "@: error[E-COPY-07]: tma_load: tensor is at an address that the device computes\n"
                "  help: copy neighbors, with TmaForm::bulk");
  expect_found(
      load([](const Parts& p, const PhaseBarrier& b) {
        tma_load(p.x(p.b, at(p.n, 8)), shared(f32, {8}, "s"), b, {.form = TmaForm::bulk});
      }),
      "@: error[E-COPY-06]: p: `async bulk x[bx, n :+ 8] -> s on barrier_1[0]`: it may lie "
      "outside of x, in bulk all of it must be inside\n"
      "  note: in dimension 1 it goes from `n` to `n + 8` of 64\n"
      "  help: tell what is known with assume, or copy by descriptor\n"
      "@: error[E-COPY-06]: p: `async bulk x[bx, n :+ 8] -> s on barrier_1[0]`: x must "
      "begin at a multiple of 16 bytes, which isn't certain\n"
      "  note: it begins at element `bx * 64 + n`\n"
      "  help: tell what is known with assume, or in the facts of sizes");
  expect_found(
      [](const Parts& p) {
        const Buffer s = shared(f32, {8, 64}, "s");
        fill(s, 0.f);
        tma_store(s, p.y(at(p.b - 1, 8), all));
      },
      "@: error[E-COPY-06]: p: `async tensor s -> y[bx - 1 :+ 8, 0 :+ 64]`: it may begin before y, "
      "where a store by descriptor is illegal\n"
      "  note: `bx - 1` may be negative\n"
      "  help: tell what is known with assume");
}

TEST(ThreadErrors, OneThreadStartsACopyOfTheBlock) {
  expect_found(
      [](const Parts& p) {
        const Buffer s = shared(f32, {64, 4}, "s");
        fill(s, 0.f);
        tma_store(s(thread_idx() % 64, all), p.y(p.b, at(thread_idx() % 16 * 4, 4)));
      },
      "@: error[E-COPY-06]: p: `async tensor s[truncmod(thread, 64), 0 :+ 4] -> y[bx, "
      "truncmod(thread, 16) * 4 :+ 4]`: its operands differ between threads, of which one starts "
      "it\n"
      "  help: put it under a condition on the thread: then each thread that is there starts one");
}

TEST(ThreadErrors, WhatAThreadCantCopyByItself) {
  expect_raised(
      [](const Parts& p) { async_copy(shared(f32, {64}, "s"), p.y(p.b, all)); },
      "@: error[E-COPY-08]: async_copy: from shared to global memory, it must be from global to "
      "shared");
  expect_found(
      [](const Parts& p) {
        const Buffer s = shared(f32, {128, 3}, "s");
        async_copy(p.x(p.b, at(thread_idx() % 16, 3)), s(thread_idx(), all));
      },
      "@: error[E-COPY-08]: p: `async elements x[bx, truncmod(thread, 16) :+ 3] -> s[thread, 0 :+ "
      "3]`: a "
      "thread by itself copies 4, 8 or 16 bytes at once, not 12");
  expect_found(
      [](const Parts& p) {
        const Buffer s = shared(f32, {128, 4}, "s");
        async_copy(p.x(p.b, at(thread_idx() % 16, 4)), s(thread_idx(), all));
      },
      "@: error[E-COPY-08]: p: `async elements x[bx, truncmod(thread, 16) :+ 4] -> s[thread, 0 :+ "
      "4]`: x may "
      "begin anywhere, its address must be a multiple of 16\n"
      "  help: promise it with align(x, 16)");
}

// ---- targets

TEST(ThreadErrors, TheCpuHasNoThreads) {
  const auto found = [](const Author& author) {
    Diagnostics diagnostics;
    pass::check_target(traced_threads(author, {.threads = {32}}), targets::cpu, diagnostics);
    return to_text(diagnostics);
  };
  const auto expect = [&](const Author& author, const std::string& text,
                          int line = __builtin_LINE()) {
    EXPECT_EQ(with_positions_marked(found(author), line),
              "@: error[E-TGT-02]: p: " + text +
                  ", but cpu has no threads\n  help: write it with tile operations and parallel "
                  "loops, which run everywhere");
  };
  expect([](const Parts& p) { p.y(p.b, thread_idx()) = 1.f; }, "the index of a thread");
  expect([](const Parts&) { sync(); }, "`barrier`: a barrier");
  expect([](const Parts&) { vote_any(true); },
         "`warp vote_any [true] with result=vote_any: bool`: "
         "an operation of a warp");
  expect([](const Parts& p) { async_copy(p.x(p.b, all), shared(f32, {64}, "s")); },
         "`async elements x[bx, 0 :+ 64] -> s`: an asynchronous copy");
  expect([](const Parts&) { grid_sync(); }, "`sync grid`: synchronization of threads");
  expect([](const Parts&) { cluster_sync(); }, "`sync cluster_arrive`: synchronization of threads");
  expect([](const Parts& p) { wait_until(p.y(p.b, 0), Compare::ge, 1.f); },
         "`atomic wait_ge y[bx, 0], 1.0 with order=acquire, result=old: f32`: "
         "synchronization of threads");
  expect([](const Parts&) { fence(); }, "`sync fence_device`: synchronization of threads");
}

TEST(ThreadErrors, TheCpuRunsDependentLaunchesInOrder) {
  const Kernel kernel = compile(program("p", [](Builder& k) {
    const Buffer x = k.input("x", f32, {4}), y = k.output("y", f32, {4});
    k.launch({1}, {.dependent_launch = true}, [&](Expr) {
      wait_previous();
      copy(x, y);
      trigger_next();
    });
  }));
  std::vector<float> x{1, 2, 3, 4}, y(4);
  kernel({Tensor(x.data(), {4}), Tensor(y.data(), {4})});
  EXPECT_EQ(y, x);
}

TEST(ThreadErrors, TheInterpreterHasNoThreads) {
  const ir::Program p =
      program("p", [](Builder& k) { k.launch({1}, {.threads = {32}}, [](Expr) { sync(); }); });
  EXPECT_EQ(with_positions_marked(error_of([&] { sim::interpret(p, {}); }), __builtin_LINE()),
            "@: error[E-TGT-02]: the interpreter has no threads; the twin runs them");
}

}  // namespace
}  // namespace tw
