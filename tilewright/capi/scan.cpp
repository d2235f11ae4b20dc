#include "tilewright/capi/scan.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/scan.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_cumsum(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded(
      "cumsum", [&](Reader& read) { kernels::cumsum(read("x", x), read("y", y), Stream{stream}); });
}
