// tw-mutate: all mutants of the library in the twin. tools/mutants.py runs it (./dev mutate).
#include <chrono>
#include <cstdio>
#include <fstream>
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
  bool names = false, print = false, check = false;
};

/// Judges all mutants of a launch. With `check` those that are caught must not count as equivalent,
/// but where the twin reports that a register is read before it is written.
Json judge_all(const test::LibraryLaunch& launch, bool check) {
  const auto start = std::chrono::steady_clock::now();
  test::LaunchJudge judge(launch);
  size_t reported = 0, differs = 0;
  Json equivalent = Json::object(), survivors = Json::array(), wrong = Json::array();
  for (size_t i = 0; i < judge.count(); ++i) {
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
                             {"reached", verdict.fate == sim::Fate::survived},
                             {"why", test::explanation(launch.kernel, mutant.name)}});
    }
    const bool is_unwritten = verdict.text.find("uninitialized_read") != std::string::npos;
    if (check && verdict.is_caught() && !is_unwritten) {
      const std::string why = test::why_equivalent(launch, mutant);
      if (!why.empty()) wrong.push_back(format("{}: {}; {}", mutant.name, why, verdict.text));
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  Json result = {{"kernel", launch.kernel},      {"what", launch.what},
                 {"calls", launch.calls.size()}, {"twin_seconds", launch.seconds},
                 {"mutants", judge.count()},     {"reported", reported},
                 {"differs", differs},           {"equivalent", std::move(equivalent)},
                 {"survivors", survivors},       {"seconds", passed.count()}};
  if (check) result["wrong"] = std::move(wrong);
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
    if (options.print) {
      std::printf("# %s, %s\n%s\n", launch.kernel.c_str(), launch.what.c_str(),
                  ir::print(launch.program).c_str());
      continue;
    }
    const std::string line = judge_all(launch, options.check).dump();
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
  app.add_flag("--print", options.print, "print the lowered launches");
  app.add_flag("--check", options.check, "look for caught mutants that count as equivalent");
  CLI11_PARSE(app, argc, argv);
  return tw::run(options);
}
