// tw-mutate: all mutants of the library in the twin (./dev mutate), or of the functions that are
// named. Prints a line for each launch, what survived, and why others do the same as the program.
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "tests/mutate/mutants.h"
#include "tilewright/base/format.h"

namespace tw::test {
namespace {

struct Totals {
  size_t all = 0, caught = 0, equivalent = 0;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void judge_all(const LibraryLaunch& launch, Totals& totals) {
  const auto start = std::chrono::steady_clock::now();
  sim::Judge judge(launch.program, launch.all_calls(), {1, 2},
                   [&](const sim::Mutant& m) { return why_equivalent(launch, m); });
  const size_t count = sim::count_mutants(launch.program);
  std::map<sim::Fate, size_t> fates;
  std::map<std::string, size_t> reasons;  // of those that do the same
  std::string survivors;
  for (size_t i = 0; i < count; ++i) {
    const sim::Mutant mutant = sim::mutant(launch.program, i);
    const sim::Verdict verdict = judge.judge(mutant);
    ++fates[verdict.fate];
    if (verdict.fate == sim::Fate::equivalent) {
      ++reasons[verdict.text];
    } else if (!verdict.is_caught()) {
      survivors +=
          format("  {} {}\n", verdict.fate == sim::Fate::unreached ? "unreached" : "survived",
                 mutant.name);
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  const size_t caught = fates[sim::Fate::reported] + fates[sim::Fate::differs];
  totals.all += count;
  totals.caught += caught;
  totals.equivalent += fates[sim::Fate::equivalent];
  print(format("{} [{}]: {} mutants, {} reported, {} differ, {} equivalent, {:.1f} s\n{}",
               launch.kernel, launch.what, count, fates[sim::Fate::reported],
               fates[sim::Fate::differs], fates[sim::Fate::equivalent], passed.count(), survivors));
  for (const auto& [reason, times] : reasons) {
    print(format("  equivalent, {} times: {}\n", times, reason));
  }
}

int run(const std::vector<std::string>& kernels) {
  Totals totals;
  for (const LibraryLaunch& launch : library_launches(kernels)) judge_all(launch, totals);
  const size_t left = totals.all - totals.caught - totals.equivalent;
  print(format("{} mutants, {} caught, {} equivalent, {} left: {:.2f} % caught\n", totals.all,
               totals.caught, totals.equivalent, left,
               100.0 * static_cast<double>(totals.caught) /
                   static_cast<double>(std::max<size_t>(totals.caught + left, 1))));
  return totals.all == 0 ? 1 : 0;
}

}  // namespace
}  // namespace tw::test

int main(int argc, char** argv) {
  try {
    return tw::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
