#include "tilewright/capi/select.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/select.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_top_k(const tw_tensor* x, const tw_tensor* values, const tw_tensor* indices,
                   tw_stream stream) {
  return guarded("top_k", [&](Reader& read) {
    kernels::top_k(read("x", x), read("values", values), read("indices", indices), Stream{stream});
  });
}
