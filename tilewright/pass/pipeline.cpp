#include "tilewright/pass/pipeline.h"

#include <algorithm>
#include <chrono>

#include "tilewright/base/error.h"

namespace tw::pass {
namespace {

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A pass that keeps its level runs on lower ones too; layouts need not be decided.
bool accepts(const Pass& pass, ir::Level level) {
  return pass.from == level || (pass.from == pass.to && pass.from < level) ||
         (pass.from == ir::Level::scheduled && level == ir::Level::tile);
}

void check_skips(const std::vector<Pass>& passes, const RunOptions& options) {
  for (const std::string& name : options.skip) {
    const auto named = [&](const Pass& pass) { return pass.name == name; };
    const auto pass = std::find_if(passes.begin(), passes.end(), named);
    if (pass == passes.end()) {
      std::vector<std::string> names;
      for (const Pass& p : passes) names.push_back(p.name);
      throw Error({}, {}, "pipeline: there is no pass '{}' to leave out", name)
          .note("the passes are {}", join(names, ", "));
    }
    TW_REQUIRE(pass->from == pass->to, "pipeline: {} can't be left out, it goes from {} to {} IR",
               name, pass->from, pass->to);
  }
}

}  // namespace

RunResult run(ir::Program program, const std::vector<Pass>& passes, const RunOptions& options) {
  check_skips(passes, options);
  RunResult result{std::move(program), {}};
  int count = 0;
  const auto observe = [&](const std::string& name) {
    if (options.observe) options.observe(format("{:02}_{}", count++, name), result.program);
  };
  observe("input");
  ir::Level level = passes.empty() ? ir::Level::tile : passes[0].from;
  for (const Pass& pass : passes) {
    if (lists(options.skip, pass.name)) continue;
    TW_REQUIRE(accepts(pass, level), "pipeline: {} needs {} IR, it is {}", pass.name, pass.from,
               level);
    const auto begin = std::chrono::steady_clock::now();
    result.program = pass.run(result.program);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    result.times.push_back({pass.name, time.count()});
    level = std::max(level, pass.to);
    observe(pass.name);
    if (options.verify) ir::verify(result.program, level, pass.name);
  }
  return result;
}

std::string to_text(const std::vector<PassTime>& times) {
  std::string text;
  double total = 0;
  for (const PassTime& time : times) {
    text += format("{:<24} {:>9.3f} ms\n", time.name, time.seconds * 1e3);
    total += time.seconds;
  }
  return text + format("{:<24} {:>9.3f} ms\n", "total", total * 1e3);
}

}  // namespace tw::pass
