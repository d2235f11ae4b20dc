// tw-mutate: all mutants of the library in the twin. tools/mutants.py runs it (./dev mutate).
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tests/mutate/mutants.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/text.h"

namespace tw {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> kernels;
  std::string json;
  bool names = false, print = false, list = false, check = false;
  std::vector<size_t> mutants;
  std::string launch;
};

/// Numbers of the mutants that are asked for.
std::vector<size_t> numbers(const test::LibraryLaunch& launch, const Options& options) {
  if (!options.mutants.empty()) return options.mutants;
  std::vector<size_t> all(sim::count_mutants(launch.program));
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

void print(const test::LibraryLaunch& launch, const ir::Program& program) {
  std::printf("# %s, %s\n%s\n", launch.kernel.c_str(), launch.what.c_str(),
              ir::print(program).c_str());
}

/// Judges the mutants of a launch. With `check` those that are caught must not count as equivalent,
/// but where the twin reports that a register is read before it is written.
Json judge_all(const test::LibraryLaunch& launch, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  test::LaunchJudge judge(launch);
  const std::vector<size_t> tried = numbers(launch, options);
  size_t reported = 0, differs = 0;
  Json equivalent = Json::object(), survivors = Json::array(), wrong = Json::array();
  for (const size_t i : tried) {
    const sim::Mutant mutant = sim::mutant(launch.program, i);
    const sim::Verdict verdict = judge.judge(mutant);
    switch (verdict.fate) {
      case sim::Fate::reported:
        ++reported;
        break;
      case sim::Fate::differs:
        ++differs;
        break;
      case sim::Fate::equivalent:
        equivalent[verdict.text] = equivalent.value(verdict.text, 0) + 1;
        break;
      case sim::Fate::survived:
      case sim::Fate::unreached:
        survivors.push_back({{"number", i},
                             {"name", mutant.name},
                             {"reached", verdict.fate == sim::Fate::survived}});
    }
    const bool is_unwritten = verdict.text.find("uninitialized_read") != std::string::npos;
    if (options.check && verdict.is_caught() && !is_unwritten) {
      const std::string why = test::why_equivalent(launch, mutant);
      if (!why.empty()) wrong.push_back(format("{}: {}; {}", mutant.name, why, verdict.text));
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  Json result = {{"kernel", launch.kernel},      {"what", launch.what},
                 {"calls", launch.calls.size()}, {"twin_seconds", launch.slowest()},
                 {"mutants", tried.size()},      {"reported", reported},
                 {"differs", differs},           {"equivalent", std::move(equivalent)},
                 {"survivors", survivors},       {"seconds", passed.count()}};
  if (options.check) result["wrong"] = std::move(wrong);
  return result;
}

int run(const Options& options) {
  if (options.names) {
    std::set<std::string> names;
    for (const test::LibraryCase& each : test::library_cases()) names.insert(each.kernel);
    for (const std::string& name : names) std::printf("%s\n", name.c_str());
    return 0;
  }
  std::ofstream file;
  if (!options.json.empty()) file.open(options.json);
  for (const test::LibraryLaunch& launch : test::library_launches(options.kernels)) {
    if (!options.launch.empty() && launch.what != options.launch) continue;
    if (options.print) {
      if (options.mutants.empty()) print(launch, launch.program);
      for (const size_t i : options.mutants) print(launch, sim::mutant(launch.program, i).program);
      continue;
    }
    if (options.list) {
      std::printf("%s, %s: %zu mutants, calls", launch.kernel.c_str(), launch.what.c_str(),
                  sim::count_mutants(launch.program));
      for (const test::LibraryCall& each : launch.calls) std::printf(" %.3f", each.seconds);
      std::printf("\n");
      continue;
    }
    const std::string line = judge_all(launch, options).dump();
    (file.is_open() ? file << line << std::endl : std::cout << line << std::endl);
  }
  return 0;
}

}  // namespace
}  // namespace tw

int main(int argc, char** argv) {
  tw::Options options;
  CLI::App app("All mutants of the library's kernels in the twin, a line of JSON a launch.");
  app.add_option("kernels", options.kernels, "functions of the library; none: all");
  app.add_option("--json", options.json, "the file for the results, instead of standard output");
  app.add_flag("--names", options.names, "print the functions that there are");
  app.add_flag("--list", options.list, "print how many mutants they have, and seconds per call");
  app.add_flag("--print", options.print, "print the lowered launches, or the mutants asked for");
  app.add_option("--launch", options.launch, "only the launch of this name");
  app.add_option("--mutant", options.mutants, "only these mutants, by number");
  app.add_flag("--check", options.check, "look for caught mutants that count as equivalent");
  CLI11_PARSE(app, argc, argv);
  return tw::run(options);
}
