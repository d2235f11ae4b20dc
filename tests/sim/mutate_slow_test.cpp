// The twin is validated by mutation: what the passes have made of whole kernels
// (tests/golden/thread/*.tw), with one defect after the other.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/text_run.h"
#include "tests/support/golden.h"
#include "tilewright/ir/build.h"
#include "tilewright/sim/mutate.h"

namespace tw::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Tensors of the kernel for its size n, with numbers that repeat nowhere. They begin at a multiple
/// of 16 bytes or one element later, so that the launch without vectors runs.
void expect_most_are_caught(const std::string& name, int64_t n, bool aligned) {
  const std::string path = test::source_path("tests/golden/thread/" + name + ".tw");
  const ir::Program program =
      ir::parse_program(test::read_file(path), {.file = path, .locate = true});
  std::vector<std::vector<std::byte>> memory;
  std::vector<Argument> arguments;
  uint32_t random = 1;
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::scalar) {
      arguments.push_back(Argument::value(param.var.dtype(), encode(0.001, param.var.dtype())));
      continue;
    }
    const DType dtype = param.buffer.dtype();
    std::vector<int64_t> shape;
    for (const ir::Expr& e : param.buffer.shape()) shape.push_back(ir::as_int(e).value_or(n));
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    const auto bytes = static_cast<size_t>(dtype.bits() / 8);
    const size_t first = aligned ? 0 : bytes;
    std::vector<std::byte>& data =
        memory.emplace_back(first + static_cast<size_t>(elements) * bytes);
    for (size_t at = 0; at < data.size(); at += bytes) {
      random = random * 1664525 + 1013904223;
      const uint64_t bits = encode(static_cast<double>(random >> 8) / 0x1p22 - 2.0, dtype);
      std::memcpy(data.data() + at, &bits, bytes);
    }
    arguments.push_back(Argument::tensor(data.data() + first, dtype, shape));
  }
  const MutationReport report = run_mutants(program, arguments, {.seeds = {1, 2}});
  // Some defects do no harm: one iteration more behind a guard, half of a guard that implies it.
  EXPECT_GE(report.caught, 5 * report.survivors.size()) << to_text(report);
  for (const std::string& survivor : report.survivors) {
    EXPECT_THAT(survivor, Not(HasSubstr("no barrier")));
    EXPECT_THAT(survivor, Not(HasSubstr("no sync_warp")));
    EXPECT_THAT(survivor, Not(HasSubstr("no move")));
  }
}

void expect_most_are_caught(const std::string& name, int64_t n) {
  expect_most_are_caught(name, n, true);
  expect_most_are_caught(name, n, false);
}

TEST(MutateSlow, DefectsOfANormAreNoticed) { expect_most_are_caught("rms_norm", 2); }
TEST(MutateSlow, DefectsOfAGroupedCastAreNoticed) { expect_most_are_caught("group_cast", 2); }
TEST(MutateSlow, DefectsOfRaggedTilesAreNoticed) { expect_most_are_caught("odd", 10); }
TEST(MutateSlow, DefectsOfGuardedVectorsAreNoticed) { expect_most_are_caught("axpy", 2563); }

}  // namespace
}  // namespace tw::sim
