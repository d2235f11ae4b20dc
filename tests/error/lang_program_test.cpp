// Errors of programs while tracing: scopes, parameters, launches, loops, schedules, options.
#include "tests/error/lang_testing.h"

namespace tw {
namespace {

TEST(ProgramErrors, ObjectsOfOtherPrograms) {
  Expr n, v;
  Buffer x;
  trace_tensors([&](const Tensors& t) {
    n = t.n;
    x = t.a;
    v = t.a(0);
    t.a(0) = 0;
  });
  expect_trace_error([&](const Tensors& t) { t.a(0) = n; },
                     "@: error[E-PROG-01]: n belongs to another program\n"
                     "  help: use values only in the program that made them");
  expect_trace_error([&](const Tensors&) { x(0) = 1; },
                     "@: error[E-PROG-01]: a: a belongs to another program\n"
                     "  help: use buffers only in the program that made them");
  expect_trace_error([&](const Tensors& t) { copy(x, t.a); },
                     "@: error[E-PROG-01]: copy: a belongs to another program\n"
                     "  help: use buffers only in the program that made them");
}

TEST(ProgramErrors, ValuesAfterTheirBody) {
  expect_trace_error(
      [](const Tensors& t) {
        Expr last;
        serial(4, [&](Expr i) { last = i; });
        t.a(last) = 0;
      },
      "@: error[E-PROG-02]: i is used after the body that made it has ended\n"
      "  note: the body began at @\n"
      "  help: keep the value in a var or a buffer declared outside that body");
  expect_program_error(
      [](Builder& k) {
        const Buffer x = k.inout("x", f32, {4});
        Expr block;
        k.launch({4}, [&](Expr b) {
          block = b;
          x(b) = 0;
        });
        k.launch({4}, [&](Expr) { x(block) = 1; });
      },
      "@: error[E-PROG-02]: bx is used after the body that made it has ended\n"
      "  note: the body began at @\n"
      "  help: keep the value in a var or a buffer declared outside that body");
  expect_trace_error(
      [](const Tensors& t) {
        Expr v;
        if_(t.b < 3, [&] { v = t.x(0, 0); });
        t.a(0) = v;
      },
      "@: error[E-PROG-02]: a value read is used after the body that made it has ended\n"
      "  note: the body began at @\n"
      "  help: keep the value in a var or a buffer declared outside that body");
}

TEST(ProgramErrors, ConstructsOutsideALaunchOrProgram) {
  expect_error([] { fragment(f32, {4}); },
               "@: error[E-PROG-03]: fragment: used outside a program\n"
               "  help: call it from the callable given to tw::program");
  expect_program_error(
      [](Builder& k) {
        const Buffer x = k.inout("x", f32, {4});
        x(0) = 1;
      },
      "@: error[E-PROG-03]: x: used outside a launch\n"
      "  help: move it into the body of k.launch");
}

TEST(ProgramErrors, NestedLaunches) {
  expect_program_error([](Builder& k) { k.launch({4}, [&](Expr) { k.launch({2}, [](Expr) {}); }); },
                       "@: error[E-PROG-04]: launch: inside a launch\n"
                       "  help: write launches one after the other; they run in that order");
  expect_program_error([](Builder& k) { k.launch({4}, [&](Expr) { k.dim("n"); }); },
                       "@: error[E-PROG-04]: dim: inside a launch\n"
                       "  help: declare parameters and launches side by side, outside of launch "
                       "bodies");
}

TEST(ProgramErrors, NoLaunch) {
  expect_program_error([](Builder& k) { k.dim("n"); },
                       "error[E-PROG-05]: program: test has no launch");
}

TEST(ProgramErrors, SizesThatNothingTells) {
  expect_program_error(
      [](Builder& k) {
        const Expr n = k.dim("n"), m = k.dim("m");
        k.input("x", f32, {n * m});
        k.launch({n}, [](Expr) {});
      },
      "@: error[E-PROG-06]: dim: n follows from no shape or stride of an argument\n"
      "  help: use it in the shape of an input, or pass it by value with k.scalar(n)");
}

TEST(ProgramErrors, StatementsThatAreNestedTooDeeply) {
  expect_trace_error(
      [](const Tensors& t) {
        const std::function<void(int)> nest = [&](int n) {
          if (n == 0) return;
          if_(t.n > n, [&] { nest(n - 1); });
        };
        nest(100'000);
      },
      "@: statement: more than 250 loops and conditions inside each other\n"
      "  help: join the conditions with &&, or write one loop over more dimensions");
}

TEST(ProgramErrors, ExpressionsThatAreTooHigh) {
  const std::string text =
      "@: expression: more than 2000 operations on top of each other\n"
      "  help: keep parts of it in a var, or write a loop";
  expect_trace_error(
      [](const Tensors& t) {
        Expr e = t.x(0, 0);
        for (int n = 0; n < 100'000; ++n) e = e + 1;
      },
      text);
  expect_trace_error(
      [](const Tensors& t) {
        Tile tile = load(t.x(0, all));
        for (int n = 0; n < 100'000; ++n) tile = tile + 1;
      },
      text);
}

TEST(ProgramErrors, SizesPassedByValue) {
  const std::string help = "\n  help: make a size with k.dim(name), and pass each once";
  expect_program_error([](Builder& k) { k.scalar(k.dim("n") + 1); },
                       "@: scalar: the size is no k.dim" + help);
  expect_program_error(
      [](Builder& k) {
        const Expr n = k.dim("n");
        k.scalar(n);
        k.scalar(n);
      },
      "@: scalar: the size is passed already" + help);
}

TEST(ProgramErrors, WritesToAnInput) {
  const std::string help = "\n  help: declare it with k.inout or k.output";
  expect_trace_error([](const Tensors& t) { t.x(0, 0) = 1; },
                     "@: error[E-PROG-07]: x: x is an input, it can't be written" + help);
  expect_trace_error([](const Tensors& t) { fill(t.x, 1); },
                     "@: error[E-PROG-07]: fill: x is an input, it can't be written" + help);
  expect_trace_error([](const Tensors& t) { copy(t.y, slice_view(t.x(at(0, 4), all))); },
                     "@: error[E-PROG-07]: copy: x is an input, it can't be written" + help);
  expect_trace_error(
      [](const Tensors& t) { atomic_add(t.ids(0), 1); },
      "@: error[E-PROG-07]: atomic_add: ids is an input, it can't be written" + help);
}

TEST(MemoryErrors, Shapes) {
  expect_trace_error([](const Tensors& t) { shared(f32, {t.n}, "tile"); },
                     "@: error[E-MEM-01]: shared: tile has an extent that is not known while "
                     "tracing, it must be a constant of 1 or more\n"
                     "  help: pass the size as a C++ integer or with k.constant");
  expect_trace_error([](const Tensors&) { fragment(f32, {4, 0}); },
                     "@: error[E-MEM-01]: fragment: fragment has an extent that is 0, it must be a "
                     "constant of 1 or more\n"
                     "  help: pass the size as a C++ integer or with k.constant");
  expect_trace_error([](const Tensors&) { local(f32, {}); },
                     "@: error[E-MEM-01]: local: local has 0 dimensions, it must have 1 to 8\n"
                     "  help: write a single element as the shape {1}");
  expect_trace_error([](const Tensors& t) { load(t.x(at(0, t.n), all)); },
                     "@: error[E-MEM-01]: load: the shape is [n, 64], it must be constant\n"
                     "  note: the region is x [n, 64] f32 in global\n"
                     "  help: give constant extents, as in x(at(i, 64), all)");
}

TEST(MemoryErrors, StaticSharedMemory) {
  expect_trace_error(
      [](const Tensors&) {
        shared_static(f32, {8 * 1024}, "a");
        shared_static(f32, {4 * 1024 + 128}, "b");
      },
      "@: error[E-MEM-03]: shared_static: 48.5 KiB of static shared memory, limit 48\n"
      "  help: use shared for the larger buffers");
}

TEST(MemoryErrors, BuffersAfterTheirBody) {
  expect_trace_error(
      [](const Tensors& t) {
        Buffer f;
        if_(t.b < 3, [&] { f = fragment(f32, {4}, "f"); });
        copy(f, t.a(0));
      },
      "@: error[E-MEM-07]: copy: f is used after the body that made it has ended\n"
      "  note: f was made at @\n"
      "  help: allocate it before that body");
  expect_trace_error(
      [](const Tensors& t) {
        Tile v;
        serial(4, [&](Expr i) { v = load(t.x(at(i, 1), all)); });
        store(t.y(at(0, 1), all), v);
      },
      "@: error[E-MEM-07]: store: a tile is used after the body that made it has ended\n"
      "  note: the tile was made at @\n"
      "  help: store it into a fragment that was allocated before that body");
}

TEST(LaunchErrors, GridsAndThreads) {
  expect_program_error([](Builder& k) { k.launch({4}, {.threads = {32, 64}}, [](Expr) {}); },
                       "@: error[E-LAUNCH-02]: launch: threads is [32, 64], it must be 1 to 3 "
                       "numbers with a product "
                       "of 1 to 1024");
  expect_program_error([](Builder& k) { k.launch({4}, {.threads = 0}, [](Expr) {}); },
                       "@: error[E-LAUNCH-02]: launch: threads is [0], it must be 1 to 3 numbers "
                       "with a product of 1 to 1024");
  expect_program_error(
      [](Builder& k) { k.launch({1, 2, 3, 4}, [] {}); },
      "@: error[E-LAUNCH-03]: launch: the grid has 4 extents, it must have 1 to 3\n"
      "  help: merge extents and take the block index apart");
  expect_program_error(
      [](Builder& k) { k.launch({1, 70000}, [](Expr, Expr) {}); },
      "@: error[E-LAUNCH-04]: launch: extent y of the grid is 70000, at most 65535 "
      "is possible\n"
      "  help: put the long extent first");
  expect_program_error([](Builder& k) { k.launch({-1}, [](Expr) {}); },
                       "@: error[E-LAUNCH-05]: launch: the extent -1 is negative");
}

TEST(LaunchErrors, ThreadsThatAreNotFixed) {
  expect_trace_error([](const Tensors&) { thread_extent(); },
                     "@: error[E-LAUNCH-01]: thread_extent: the launch does not fix its threads\n"
                     "  help: give .threads in the options of k.launch, or in the schedule");
}

TEST(LaunchErrors, BodiesOfAnotherNumberOfIndices) {
  expect_program_error([](Builder& k) { k.launch({1, 2}, [](Expr) {}); },
                       "@: launch: the body takes 1 indices, there are 2");
}

TEST(LoopErrors, Unrolling) {
  expect_trace_error(
      [](const Tensors& t) { unroll(0, t.n, {.full = true, .factor = 4}, [](Expr) {}); },
      "@: error[E-LOOP-01]: unroll: full and factor 4 are both given\n"
      "  help: give one of them");
  expect_trace_error([](const Tensors& t) { unroll(0, t.n, {}, [](Expr) {}); },
                     "@: error[E-LOOP-01]: unroll: neither full nor a factor is given\n"
                     "  help: give one of them");
  expect_trace_error([](const Tensors& t) { unroll(t.n, [](Expr) {}); },
                     "@: error[E-LOOP-02]: unroll: the extent is not known while tracing\n"
                     "  help: give a factor, as in unroll(n, 4, body)");
  expect_trace_error([](const Tensors& t) { vectorized(t.n, [](Expr) {}); },
                     "@: error[E-LOOP-02]: vectorized: the extent is not known while tracing\n"
                     "  help: use parallel, or serial");
}

TEST(LoopErrors, WhatMayNotStandInAParallelLoop) {
  expect_trace_error([](const Tensors& t) { parallel({4}, [&](Expr) { copy(t.x(0), t.y(0)); }); },
                     "@: error[E-LOOP-04]: copy: a tile operation inside a parallel loop\n"
                     "  note: the parallel loop is at @\n"
                     "  help: move it before or after the loop, or write its element form");
  expect_trace_error([](const Tensors&) { parallel({4}, [&](Expr) { shared(f32, {4}, "s"); }); },
                     "@: error[E-LOOP-04]: shared: s is allocated inside a parallel loop\n"
                     "  help: allocate it before the loop, or use local or var");
  expect_trace_error(
      [](const Tensors& t) { parallel({4}, [&](Expr) { pipelined(t.n, [](Expr) {}); }); },
      "@: error[E-LOOP-05]: pipelined: inside a parallel loop\n"
      "  help: use serial there, or put the parallel loop inside");
  expect_trace_error([](const Tensors&) { parallel({4}, [&](Expr) { break_(); }); },
                     "@: error[E-LOOP-06]: break_: it would leave a parallel loop\n"
                     "  note: the parallel loop is at @\n"
                     "  help: guard the rest of the body with if_");
}

TEST(LoopErrors, ParallelLoopsThatAreNoBox) {
  expect_trace_error(
      [](const Tensors& t) {
        parallel({4}, [&](Expr i) {
          t.a(i) = 0;
          parallel({4}, [&](Expr j) { t.y(i, j) = 0; });
        });
      },
      "@: error[E-LOOP-07]: parallel: it contains a parallel loop beside other statements, or of "
      "an "
      "extent that depends on the outer index\n"
      "  help: write one box, as in parallel({n, m}, body), or make the inner loop serial");
  expect_trace_error(
      [](const Tensors& t) {
        parallel({4}, [&](Expr i) {
          if_(i < 2, [&] { parallel({4}, [&](Expr j) { t.y(i, j) = 0; }); });
        });
      },
      "@: error[E-LOOP-07]: parallel: inside a loop or condition of a parallel loop\n"
      "  note: the outer parallel loop is at @\n"
      "  help: write one box, as in parallel({n, m}, body), or make the inner loop serial");
}

TEST(FlowErrors, LoopsAndConditions) {
  expect_trace_error([](const Tensors&) { while_(true, [] {}); },
                     "@: error[E-FLOW-01]: while_: the condition is always true and nothing leaves "
                     "the loop\n"
                     "  help: leave it with break_()");
  expect_trace_error([](const Tensors&) { break_(); },
                     "@: error[E-FLOW-02]: break_: outside a loop");
  expect_trace_error([](const Tensors&) { continue_(); },
                     "@: error[E-FLOW-02]: continue_: outside a loop");
  expect_trace_error([](const Tensors& t) { serial(0, t.n, 0, [](Expr) {}); },
                     "@: error[E-FLOW-03]: serial: the step is 0");
  expect_trace_error(
      [](const Tensors& t) { if_(t.s, [] {}); },
      "@: error[E-FLOW-04]: if_: the condition is f32, it must be bool or an integer\n"
      "  help: compare it, as in x != 0");
  expect_trace_error([](const Tensors& t) { pipelined(t.n, [](Expr) { break_(); }); },
                     "@: error[E-PIPE-07]: break_: it would leave a pipelined loop\n"
                     "  help: use serial, or guard the rest of the body with if_");
  expect_trace_error([](const Tensors& t) { pipelined(t.n, [](Expr) { continue_(); }); },
                     "@: error[E-PIPE-07]: continue_: in a pipelined loop\n"
                     "  help: use serial, or guard the rest of the body with if_");
}

TEST(OptionErrors, UnknownValues) {
  expect_program_error(
      [](Builder& k) { k.option("fast_math", "maybe"); },
      "@: error[E-OPT-01]: options: fast_math is 'maybe', it must be one of off, on");
}

// ---- kernel definitions ----

KernelDef scaled() {
  return define_kernel("scaled", [](Builder& k, DType dtype) {
    const Expr n = k.dim("n");
    const int64_t rows = k.tunable("rows", 4);
    const Buffer x = k.inout("x", dtype, {n, 64});
    k.launch({cdiv(n, rows)}, [&](Expr b) {
      const Buffer s = shared(dtype, {rows, 64}, "s");
      pipelined(4, {.name = "steps"}, [&](Expr) { copy(x(b * rows, 0), s); });
    });
  });
}

void expect_schedule_error(const KernelDef::ScheduleFunction& f, const std::string& text,
                           int line = __builtin_LINE()) {
  expect_error([&] { scaled().schedule(targets::cpu, f).trace(targets::cpu, {.dtypes = {f32}}); },
               text, line);
}

TEST(ScheduleErrors, NamesThatTheDataflowDoesNotHave) {
  const std::string note = "  note: while tracing scaled";
  expect_schedule_error([](Schedule& s, const Case&) { s.set("row", 8); },
                        "@: error[E-SCHED-01]: schedule: scaled has no tunable called row\n"
                        "  help: it has rows\n" +
                            note);
  expect_schedule_error([](Schedule& s, const Case&) { s.stages("k", 2); },
                        "@: error[E-SCHED-01]: schedule: scaled has no pipelined loop called k\n"
                        "  help: it has steps\n" +
                            note);
  expect_schedule_error([](Schedule& s, const Case&) { s.versions("q", 2); },
                        "@: error[E-SCHED-01]: schedule: scaled has no buffer called q\n"
                        "  help: it has s\n" +
                            note);
  expect_error(
      [] {
        scaled()
            .schedule("cpu", [](Schedule&, const Case&) {})
            .when([](const Sizes& size) { return size("m") < 5; })
            .trace(targets::cpu, {.dtypes = {f32}});
      },
      "@: error[E-SCHED-01]: schedule: scaled has no size called m\n"
      "  help: it has n");
}

TEST(ScheduleErrors, FeaturesThatTheTargetLacks) {
  expect_schedule_error(
      [](Schedule& s, const Case&) { s.cluster(2); },
      "@: error[E-TGT-01]: scaled: cluster(2) in the cpu schedule, but cpu has no "
      "clusters");
}

}  // namespace
}  // namespace tw
