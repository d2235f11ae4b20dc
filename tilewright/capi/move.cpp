#include "tilewright/capi/move.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/move.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_copy(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("copy",
                 [&](Reader& read) { kernels::copy(read("x", x), read("y", y), Stream{stream}); });
}

tw_status tw_transpose(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("transpose", [&](Reader& read) {
    kernels::transpose(read("x", x), read("y", y), Stream{stream});
  });
}
