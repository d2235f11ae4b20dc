#include "tests/fuzz/threads.h"

#include <stdexcept>

#include "tilewright/ir/text.h"
#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/thread/thread_pipeline.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::fuzz {

Executor threads() {
  return [](const ir::Program& program, Case& one) {
    const pass::RunResult lowered =
        pass::run(program, pass::thread_pipeline(pass::BlockLimits()), {});
    sim::TwinOptions options;
    options.seed = one.seed;
    const sim::TwinResult result = sim::run_twin(lowered.program, one.arguments(), options);
    if (!result.findings.empty()) {
      throw std::runtime_error(sim::to_text(result.findings) + "\n" + ir::print(lowered.program));
    }
  };
}

}  // namespace tw::fuzz
