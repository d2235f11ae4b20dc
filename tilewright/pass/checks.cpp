#include "tilewright/pass/checks.h"

#include "tilewright/ir/options.h"
#include "tilewright/pass/check_async.h"
#include "tilewright/pass/check_bounds.h"
#include "tilewright/pass/check_clusters.h"
#include "tilewright/pass/check_epochs.h"
#include "tilewright/pass/check_flow.h"
#include "tilewright/pass/check_init.h"
#include "tilewright/pass/check_ops.h"
#include "tilewright/pass/check_pipeline.h"
#include "tilewright/pass/check_race.h"
#include "tilewright/pass/check_threads.h"

namespace tw::pass {
namespace {

/// What every pass relies on. Builders see to it, but a program may have been written as text.
void check_form(const ir::Program& program, Diagnostics& diagnostics) {
  const std::vector<std::string> found = ir::violations(program, ir::Level::tile);
  if (found.empty()) return;
  Error& error = diagnostics.error({}, {}, "{}: the program is not well formed", program.name);
  for (const std::string& each : found) error.note("{}", each);
}

}  // namespace

void check_program(const ir::Program& program, Diagnostics& diagnostics) {
  for (const ir::Option& o : program.options) ir::check_option(o.name, o.value);
  Diagnostics flow;
  check_flow(program, flow);
  for (const Diagnostic& d : flow.list()) diagnostics.add(d.severity, d.finding);
  if (flow.has_errors()) return;
  check_form(program, diagnostics);
  if (diagnostics.has_errors()) return;
  for (const Check check : {check_ops, check_epochs, check_pipeline, check_init, check_bounds,
                            check_race, check_threads, check_clusters, check_async}) {
    check(program, diagnostics);
  }
}

Pass check_pass(std::string name, Check check, Diagnostics& diagnostics) {
  return {std::move(name), ir::Level::tile, ir::Level::tile,
          [check, &diagnostics](const ir::Program& program) {
            check(program, diagnostics);
            diagnostics.throw_errors();
            return program;
          }};
}

}  // namespace tw::pass
