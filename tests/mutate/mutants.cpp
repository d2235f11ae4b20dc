#include "tests/mutate/mutants.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "tests/mutate/library.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::test {
namespace {

bool has_vectors(const ir::Program& program) {
  bool found = false;
  for (const ir::Stmt& launch : program.launches) {
    ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
      const auto* move = s.try_as<ir::Move>();
      if (move == nullptr) return;
      for (const ir::Buffer& b : {move->src, move->dst}) {
        found = found || b.root().space() == ir::MemSpace::global;
      }
    });
  }
  return found;
}

}  // namespace

std::vector<sim::Call> LibraryLaunch::all_calls() const {
  std::vector<sim::Call> list;
  for (const sim::OwnedCall& call : calls) list.push_back(call.call());
  return list;
}

std::vector<LibraryLaunch> library_launches(const std::vector<std::string>& kernels) {
  using Clock = std::chrono::steady_clock;
  std::vector<LibraryLaunch> launches;
  std::map<std::string, size_t> known;  // by program
  const LibraryCase* now = nullptr;
  const OnLaunch watch([&](const ir::Program& program, const sim::Call& call) {
    const auto [at, is_new] = known.emplace(ir::canonical_text(program), launches.size());
    if (is_new) {
      launches.push_back({now->kernel,
                          format("{}{}", now->what, has_vectors(program) ? ", with vectors" : ""),
                          program,
                          now->always,
                          {}});
    }
    LibraryLaunch& launch = launches[at->second];
    launch.calls.emplace_back(program, call);
    const sim::OwnedCall& owned = launch.calls.back();
    const auto start = Clock::now();
    sim::run_twin(program, sim::OwnedCall(program, owned.call()).call().arguments,
                  {.symbols = owned.call().symbols});
    const std::chrono::duration<double> passed = Clock::now() - start;
    launch.seconds = std::max(launch.seconds, passed.count());
  });
  for (const LibraryCase& each : library_cases()) {
    const bool wanted =
        kernels.empty() || std::find(kernels.begin(), kernels.end(), each.kernel) != kernels.end();
    if (!wanted) continue;
    now = &each;
    std::optional<MayStop> may_stop;
    if (each.stops) may_stop.emplace();
    for (const int64_t skew : {0, 1}) {
      Place place(Where::twin, skew);
      each.run(place);
    }
  }
  return launches;
}

}  // namespace tw::test
