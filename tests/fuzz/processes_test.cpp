#include "tests/fuzz/processes.h"

#include <csignal>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace tw::fuzz {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The reports on 40 programs.
std::vector<std::string> reports_on(const Executor& executor) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    expect_agreement_in_processes(executor, Functions::exact, 1, 40);
  }
  std::vector<std::string> reports;
  for (int i = 0; i < results.size(); ++i) {
    const std::string text = results.GetTestPartResult(i).message();
    reports.push_back(text.substr(text.find("seed")));
  }
  return reports;
}

TEST(FuzzProcesses, RunThePrograms) {
  EXPECT_THAT(reports_on(interpreter(17)), testing::IsEmpty());
}

TEST(FuzzProcesses, GoOnAfterACrash) {
  const auto reports = reports_on([](const ir::Program& program, Case& one) {
    if (one.seed == 5 || one.seed == 30) raise(SIGKILL);
    interpreter()(program, one);
  });
  EXPECT_THAT(reports, testing::UnorderedElementsAre(
                           StartsWith("seed 5: the process died of signal 9 (Killed)\ntilewright"),
                           StartsWith("seed 30: the process died of signal 9")));
}

TEST(FuzzProcesses, ReportWhatWasThrownAndDifferences) {
  const auto reports = reports_on([](const ir::Program& program, Case& one) {
    if (one.seed == 7) throw std::runtime_error("error: out of luck");
    interpreter()(program, one);
    for (size_t p = 0; p < program.params.size() && one.seed == 9; ++p) {
      if (program.params[p].kind != ir::ParamKind::output) continue;
      one.values[p].set(0, one.values[p].get(0) ^ 0x3F);
    }
  });
  EXPECT_THAT(reports, testing::UnorderedElementsAre(
                           StartsWith("seed 7: error: out of luck\ntilewright"),
                           AllOf(StartsWith("seed 9: y"), HasSubstr("the interpreter has"),
                                 HasSubstr("smallest program that shows a difference"))));
}

}  // namespace
}  // namespace tw::fuzz
