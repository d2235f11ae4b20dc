#include "tilewright/pass/check_bounds.h"

#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

class BoundsCheck : public AccessWalk {
 public:
  BoundsCheck(const ir::Program& program, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

 private:
  void on_access(const Access& access) override {
    const ir::MemSpace space = access.buffer.space();
    if (space == ir::MemSpace::global || space == ir::MemSpace::workspace) return;
    if (access.when && bounds_.disproves(access.when)) return;  // never evaluated
    const Box touched = box(access, false);
    for (size_t d = 0; d < touched.lo.size(); ++d) {
      if (touched.lo[d] > touched.hi[d]) return;  // nothing is accessed
    }
    const bool all = touches_all(access);
    for (size_t d = 0; d < touched.lo.size(); ++d) {
      const auto extent = ir::as_int(access.buffer.shape()[d]);
      if (!extent) continue;
      const bool never_inside = touched.lo[d] >= *extent || touched.hi[d] < 0;
      if (never_inside || (all && (touched.lo[d] < 0 || touched.hi[d] >= *extent))) {
        report(access, d, touched.lo[d] < 0 ? touched.lo[d] : all ? touched.hi[d] : touched.lo[d]);
        return;
      }
    }
  }

  void report(const Access& access, size_t dim, int64_t index) {
    const std::string text = to_text(access);
    if (!reported_.insert(text + access.where.text()).second) return;
    Error& error =
        diagnostics_.error(codes::bnd_01, access.where, "{}: {} reaches {} in dimension {}",
                           program_.name, text, index, dim);
    error.note("it is in `{}`", first_line(access.by)).note("{}", described(access.buffer));
  }

  const ir::Program& program_;
  Diagnostics& diagnostics_;
  std::set<std::string> reported_;
};

}  // namespace

void check_bounds(const ir::Program& program, Diagnostics& diagnostics) {
  BoundsCheck(program, diagnostics).run(program);
}

}  // namespace tw::pass
