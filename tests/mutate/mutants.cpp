#include "tests/mutate/mutants.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <sstream>

#include "tests/support/golden.h"
#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::test {
namespace {

bool has_vectors(const ir::Program& program) {
  bool found = false;
  ir::for_each_stmt(program.launches.front(), [&](const ir::Stmt& s) {
    const auto* move = s.try_as<ir::Move>();
    if (move == nullptr) return;
    for (const ir::Buffer& b : {move->src, move->dst}) {
      found = found || b.root().space() == ir::MemSpace::global;
    }
  });
  return found;
}

std::vector<sim::Call> calls_of(const LibraryLaunch& launch) {
  std::vector<const LibraryCall*> quick_first;
  for (const LibraryCall& call : launch.calls) quick_first.push_back(&call);
  std::ranges::stable_sort(quick_first, {}, &LibraryCall::seconds);
  std::vector<sim::Call> list;
  for (const LibraryCall* each : quick_first) list.push_back(each->call.call());
  return list;
}

}  // namespace

double LibraryLaunch::slowest() const {
  return std::ranges::max_element(calls, {}, &LibraryCall::seconds)->seconds;
}

Launches::Launches()
    : watch_([this](const ir::Program& program, const sim::Call& call, const auto& run) {
        const auto [at, is_new] = known_.emplace(ir::canonical_text(program), all_.size());
        if (is_new) {
          all_.push_back({now_->kernel,
                          now_->what + (has_vectors(program) ? ", with vectors" : ""),
                          program,
                          now_->facts,
                          {}});
        }
        LibraryLaunch& launch = all_[at->second];
        sim::OwnedCall copy(program, call);
        const std::clock_t start = std::clock();
        run();
        const double passed = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        launch.calls.push_back({std::move(copy), passed});
      }) {}

void Launches::run(const LibraryCase& each, Place& place) {
  now_ = &each;
  std::optional<MayStop> may_stop;
  if (each.stops) may_stop.emplace();
  each.run(place);
}

std::vector<LibraryLaunch> library_launches(const std::vector<std::string>& kernels) {
  Launches launches;
  for (const LibraryCase& each : library_cases()) {
    const bool wanted =
        kernels.empty() || std::find(kernels.begin(), kernels.end(), each.kernel) != kernels.end();
    if (!wanted) continue;
    for (const int64_t skew : {0, 1}) {
      Place place(Where::twin, skew);
      launches.run(each, place);
    }
  }
  return std::move(launches.all());
}

LaunchJudge::LaunchJudge(const LibraryLaunch& launch)
    : count_(sim::count_mutants(launch.program)),
      judge_(launch.program, calls_of(launch), {1, 2},
             [&launch](const sim::Mutant& m) { return why_equivalent(launch, m); }) {}

std::string explanation(const std::string& kernel, const std::string& mutant) {
  // kernel | part of the mutant's name | explanation
  struct Row {
    std::string kernel, part, text;
  };
  static const std::vector<Row> rows = [] {
    std::vector<Row> list;
    std::istringstream file(read_file(source_path("tests/mutate/survivors.txt")));
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.starts_with("#")) continue;
      const size_t first = line.find(" | "), last = line.rfind(" | ");
      TW_CHECK(first < last && last != std::string::npos, "survivors.txt: {}", line);
      list.push_back(
          {line.substr(0, first), line.substr(first + 3, last - first - 3), line.substr(last + 3)});
    }
    return list;
  }();
  for (const Row& row : rows) {
    if (row.kernel == kernel && mutant.find(row.part) != std::string::npos) return row.text;
  }
  return {};
}

}  // namespace tw::test
