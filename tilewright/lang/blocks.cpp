#include "tilewright/lang/blocks.h"

#include "tilewright/ir/build.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

void grid_sync(SourceLoc where) {
  Trace::in_launch({"grid_sync", where}).emit(ir::make<ir::Sync>(where, [](ir::Sync& n) {
    n.code = ir::SyncCode::grid;
  }));
}

}  // namespace lang
}  // namespace tw
