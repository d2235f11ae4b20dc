#include "tilewright/pass/registry.h"

#include <algorithm>

#include "tilewright/pass/check_bounds.h"
#include "tilewright/pass/check_epochs.h"
#include "tilewright/pass/check_flow.h"
#include "tilewright/pass/check_init.h"
#include "tilewright/pass/check_pipeline.h"
#include "tilewright/pass/check_race.h"
#include "tilewright/pass/checks.h"
#include "tilewright/pass/loop_pipeline.h"
#include "tilewright/pass/thread/thread_pipeline.h"

namespace tw::pass {

std::vector<Pass> registry(Diagnostics& diagnostics) {
  std::vector<Pass> all = loop_pipeline(VectorShape(), /*bf16_dot=*/true);
  for (Pass& pass : thread_pipeline(BlockLimits())) {
    const bool known = std::ranges::find(all, pass.name, &Pass::name) != all.end();
    if (!known) all.push_back(std::move(pass));
  }
  all.insert(all.end(), {
                            check_pass("check_bounds", check_bounds, diagnostics),
                            check_pass("check_epochs", check_epochs, diagnostics),
                            check_pass("check_flow", check_flow, diagnostics),
                            check_pass("check_init", check_init, diagnostics),
                            check_pass("check_pipeline", check_pipeline, diagnostics),
                            check_pass("check_race", check_race, diagnostics),
                            check_pass("checks", check_program, diagnostics),
                        });
  std::ranges::sort(all, {}, &Pass::name);
  return all;
}

std::vector<Pass> passes_named(const std::vector<std::string>& names, Diagnostics& diagnostics) {
  std::vector<Pass> list;
  const std::vector<Pass> all = registry(diagnostics);
  for (const std::string& name : names) {
    const auto pass = std::ranges::find(all, name, &Pass::name);
    if (pass == all.end()) {
      std::vector<std::string> known;
      for (const Pass& p : all) known.push_back(p.name);
      throw Error({}, {}, "there is no pass '{}'", name)
          .note("the passes are {}", join(known, ", "));
    }
    list.push_back(*pass);
  }
  return list;
}

}  // namespace tw::pass
