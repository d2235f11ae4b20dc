#include "tilewright/pass/check_clusters.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

/// The last remote access in the order of the text that no barrier of the cluster follows. A loop
/// ends with its last turn, so its text decides, too.
class LastAccess : public ir::Visitor {
 public:
  ir::Stmt found;
  ir::Buffer buffer;
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (!stmt) return;
    const auto* sync = stmt.try_as<ir::Sync>();
    if (sync != nullptr && sync->code == ir::SyncCode::cluster_wait) found = {};
    if (sync != nullptr && sync->barrier) note(stmt, sync->barrier);
    for_each_access(stmt, [&](const Access& access) { note(stmt, access.buffer); });
    children(stmt);
  }

 private:
  void note(const ir::Stmt& stmt, const ir::Buffer& b) {
    if (!b->peer) return;
    found = stmt;
    buffer = b;
  }
};

}  // namespace

void check_clusters(const ir::Program& program, Diagnostics& diagnostics) {
  for (const ir::Stmt& launch : program.launches) {
    LastAccess last;
    last.visit(launch.as<ir::Launch>().body);
    if (!last.found) continue;
    diagnostics
        .warn(codes::w_sync_01, last.found.loc(),
              "{}: `{}`: {} of another block is used, which may have ended", program.name,
              first_line(last.found), last.buffer.root().name())
        .help("write cluster_sync() behind it, so that no block ends before");
  }
}

}  // namespace tw::pass
