#include "tilewright/layout/packed.h"

#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {

Layout panels(int64_t rows, int64_t depth, int64_t panel, int64_t group) {
  TW_REQUIRE(panel >= 1 && group >= 1, "panels of {} rows, groups of {}", panel, group);
  const int64_t count = ceil_div(rows, panel), groups = ceil_div(depth, group);
  return Layout({rows, depth},
                {{{{0, panel}}, count, 0, 1},
                 {{{1, group}}, groups, 1, 1},
                 {{{0, 1}}, panel, 2, 1},
                 {{{1, 1}}, group, 3, 1}},
                {count, groups, panel, group});
}

Layout column_panels(int64_t depth, int64_t columns, int64_t panel, int64_t group) {
  return permute(panels(columns, depth, panel, group), {1, 0});
}

}  // namespace tw::layout
