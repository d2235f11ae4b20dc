// Prints, asserts, streaming stores, and what goes wrong.
#include <gtest/gtest.h>

#include "tests/backend/cpu/run.h"
#include "tilewright/backend/cpu/device.h"
#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/toolchain.h"
#include "tilewright/ir/text.h"

// Of the address sanitizer, where that is linked.
extern "C" __attribute__((weak)) void __lsan_disable();  // NOLINT(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __lsan_enable();   // NOLINT(bugprone-reserved-identifier)

namespace tw::cpu::test {
namespace {

/// While it lives, what is allocated need not be released.
struct LeaksAllowed {
  LeaksAllowed() {
    if (__lsan_disable != nullptr) __lsan_disable();
  }
  ~LeaksAllowed() {
    if (__lsan_enable != nullptr) __lsan_enable();
  }
};

ir::Program program_of(const std::string& text) {
  return ir::parse_program("tilewright ir 1 program \"test\" {\n" + text + "\n}");
}

/// The lines that a program prints on the host.
std::vector<std::string> printed_by(const std::string& text) {
  std::vector<std::string> lines;
  const ir::Program program = program_of(text);
  const auto keep = [](void* user, std::string_view line) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(line);
  };
  run(program, target_named("host"), random_tensors(program, 1), {},
      {.print = keep, .print_user = &lines});
  return lines;
}

TEST(Effects, PrintsValuesOfEveryKind) {
  EXPECT_EQ(printed_by(R"(launch b in 2 { if b == 1 {
              let x: f32 = 1.5
              let y: bf16 = -2.0
              let z: u8 = 200
              print "block {}: x {}" [b, x, y, z, b == 1] } })"),
            (std::vector<std::string>{"block 1: x 1.5 -2 200 true"}));
}

TEST(Effects, PrintsBuffersElementByElement) {
  EXPECT_EQ(printed_by(R"(launch b in 1 {
              alloc t: i32[2, 2] fragment
              for i in 0:2 { for j in 0:2 { t[i, j] = cast(i * 10 + j, i32) } }
              print "tile" [] with buffer=t })"),
            (std::vector<std::string>{"tile t[0, 0] = 0", "tile t[0, 1] = 1", "tile t[1, 0] = 10",
                                      "tile t[1, 1] = 11"}));
}

TEST(Effects, AnAssertStopsItsBlockWithItsValues) {
  const ir::Program program = program_of(R"(inout x: i64[4]
    launch b in 4 {
      x![b] = 1
      assert b != 2, "block {} fails" [b]
      x![b] = 2
    })");
  const std::vector<OwnedTensor> tensors = random_tensors(program, 1);
  try {
    run(program, target_named("host"), tensors);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("block 2 fails in block (2, 0, 0)"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(tensors[0]->data_as<int64_t>()[2], 1);
}

TEST(Effects, StreamsPastTheCachesWhereAligned) {
  ProgramBuilder p;
  const ir::Buffer x = p.tensor("x", f32, {70}), y = p.tensor("y", f32, {70});
  for (const int64_t start : {0, 4, 1}) {  // aligned to a register, to 16 bytes, to an element
    const ir::Program program = p.build(lanes(64, [&](const ir::Var& l) {
      const ir::Expr i = ir::add(ir::index(start), l);
      return ir::make<ir::Store>({}, [&](ir::Store& n) {
        n.buffer = y;
        n.indices = {i};
        n.value = at(x, {i});
        n.unchecked = n.streaming = true;
      });
    }));
    EXPECT_NE(text_of(program, target_named("avx512"), "asm").find("vmovntps"), std::string::npos);
    expect_as_interpreted(program);
  }
}

/// What compiling a function with the given body throws.
template <class Body>
std::string failure(const std::string& level, Body body) {
  const Target target = target_named(level);
  Builder b("bad");
  prepare_module(b, target);
  b.begin_function("f", kI32, std::span<const Elem>(), std::span<const std::string>());
  body(b);
  ToolchainReport report;
  const LeaksAllowed lost_with_frames_of_llvm;
  try {
    compile_object(b, target, report);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(Effects, WhatLlvmRefusesIsAnError) {
  const std::string no_end = failure("host", [](Builder&) {});
  EXPECT_NE(no_end.find("does not have terminator"), std::string::npos) << no_end;

  const std::string no_instruction = failure("baseline", [](Builder& b) {
    const Val ones = b.constant(kI32, int64_t{1}, 4);
    const Val args[] = {ones, ones, ones};
    b.ret(extract(b.plain_intrinsic("llvm.x86.avx512.vpdpwssd.128", args), 0));
  });
  EXPECT_NE(no_instruction.find("Cannot select"), std::string::npos) << no_instruction;
}

TEST(Effects, AnUnknownFunctionIsNamed) {
  const Target target = target_named("host");
  Builder b("bad");
  prepare_module(b, target);
  b.begin_function("f", kI32, std::span<const Elem>(), std::span<const std::string>());
  b.ret(b.call("no_such_function", kI32, 1, {}, false));
  ToolchainReport report;
  const auto module = load_object(compile_object(b, target, report));
  try {
    module->entry("f");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no_such_function"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tw::cpu::test
