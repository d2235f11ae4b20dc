#include "tilewright/capi/reduce.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/reduce.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_sum(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("sum",
                 [&](Reader& read) { kernels::sum(read("x", x), read("y", y), Stream{stream}); });
}

tw_status tw_max(const tw_tensor* x, const tw_tensor* y, bool propagate_nan, tw_stream stream) {
  return guarded("max", [&](Reader& read) {
    kernels::max(read("x", x), read("y", y), propagate_nan, Stream{stream});
  });
}

tw_status tw_argmax(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded(
      "argmax", [&](Reader& read) { kernels::argmax(read("x", x), read("y", y), Stream{stream}); });
}
