// The library without a GPU: every function in the twin beside the CPU, and a sample of its
// mutants: a hundredth of TW_FUZZ_PROGRAMS, chosen by TW_FUZZ_SEED.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"
#include "tests/mutate/mutants.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/env.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::LibraryCase;
using test::LibraryLaunch;
using test::Place;
using test::Where;

/// Under a sanitizer the twin takes five times as long; there the slowest functions are left out.
bool is_wanted(const std::string& kernel) {
#ifdef TW_SANITIZED
  static const std::set<std::string> slow = {
      "argmax", "attention", "attention_packed", "batched_gemm", "gemm", "gemm_fp8", "max"};
  return !slow.contains(kernel);
#else
  return !kernel.empty();
#endif
}

/// Sums of up to 1032 terms and exponents of up to 800 are off by as many roundings, running sums
/// have 8173 terms and those of rows 49128, and attention rounds its weights to the dtype; what is
/// not a float of 16 bits or more is the same bit for bit.
void expect_same(const std::string& kernel, const Place& cpu, const Place& twin,
                 const std::string& what) {
  ASSERT_EQ(cpu.outputs().size(), twin.outputs().size());
  for (size_t i = 0; i < cpu.outputs().size(); ++i) {
    const Tensor &wanted = cpu.outputs()[i], &got = twin.outputs()[i];
    const DType dtype = wanted.dtype();
    const bool exact = !dtype.is_float() || dtype.bits() < 16;
    const double u = reference::unit_roundoff(dtype);
    const double count = kernel == "cumsum" ? 8173 : kernel == "sum" ? 49128 : 800;
    const double terms = count * reference::unit_roundoff(f32);
    const double weights = kernel.starts_with("attention") ? 2 * u : 0;
    test::expect_close(got, test::values(wanted), exact ? 0 : 2 * u + terms,
                       exact ? 0 : terms + weights, format("{}, output {}", what, i));
  }
}

/// Runs the library once for all tests here.
struct LibraryRun {
  test::Launches launches;
  size_t cases = 0, all_cases = 0;
  std::set<std::string> left_out;

  LibraryRun() {
    for (const LibraryCase& each : test::library_cases()) {
      ++all_cases;
      if (!is_wanted(each.kernel)) {
        left_out.insert(each.kernel);
        continue;
      }
      ++cases;
      const std::string what = format("{}, {}", each.kernel, each.what);
      SCOPED_TRACE(what);
      Place cpu(Where::cpu, 0);
      if (!each.stops) each.run(cpu);
      for (const int64_t skew : {0, 1}) {
        Place twin(Where::twin, skew);
        launches.run(each, twin);
        EXPECT_TRUE(twin.bands_are_intact()) << what;
        if (!each.stops) expect_same(each.kernel, cpu, twin, format("{}, skew {}", what, skew));
      }
    }
  }
};
LibraryRun& library_run() {
  static LibraryRun run;
  return run;
}

TEST(LibrarySlow, DoesInTheTwinWhatItDoesOnTheCpu) {
  LibraryRun& run = library_run();
  const std::vector<LibraryLaunch>& launches = run.launches.all();
  const LibraryLaunch& slowest = *std::ranges::max_element(launches, {}, &LibraryLaunch::slowest);
  std::cout << format("{} of {} cases, {} launches; the slowest took {:.2f} s: {}, {}\n", run.cases,
                      run.all_cases, launches.size(), slowest.slowest(), slowest.kernel,
                      slowest.what);
  for (const std::string& kernel : run.left_out) std::cout << "left out: " << kernel << "\n";
  EXPECT_GE(run.launches.all().size(), 300U);
}

TEST(LibrarySlow, SampledMutantsAreCaught) {
  const std::vector<LibraryLaunch>& launches = library_run().launches.all();
  const auto count = static_cast<size_t>(env::fuzz_programs.get() / 100);
  const auto seed = static_cast<uint64_t>(env::fuzz_seed.get());
  // As many from each kernel, as far as that goes.
  std::map<std::string, std::vector<const LibraryLaunch*>> kernels;
  for (const LibraryLaunch& launch : launches) kernels[launch.kernel].push_back(&launch);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  size_t caught = 0, equivalent = 0, explained = 0;
  auto kernel = kernels.begin();
  for (size_t i = 0; i < count; ++i, ++kernel) {
    if (kernel == kernels.end()) kernel = kernels.begin();
    const LibraryLaunch& launch = *kernel->second[below(kernel->second.size())];
    test::LaunchJudge judge(launch);
    const sim::Mutant mutant = sim::mutant(launch.program, below(judge.count()));
    const sim::Verdict verdict = judge.judge(mutant);
    caught += verdict.is_caught() ? 1 : 0;
    equivalent += verdict.fate == sim::Fate::equivalent ? 1 : 0;
    if (verdict.is_caught() || verdict.fate == sim::Fate::equivalent) continue;
    EXPECT_FALSE(test::explanation(launch.kernel, mutant.name).empty())
        << launch.kernel << ", " << launch.what << ": " << mutant.name
        << " survives; do the calls of tests/mutate lead there? Else survivors.txt says why";
    ++explained;
  }
  std::cout << format("seed {}: of {} mutants {} are caught, {} equivalent, {} explained\n", seed,
                      count, caught, equivalent, explained);
}

}  // namespace
}  // namespace tw
