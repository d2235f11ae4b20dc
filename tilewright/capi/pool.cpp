#include "tilewright/capi/pool.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/pool.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_masked_mean_pool(const tw_tensor* x, const tw_tensor* cu_seqlens, const tw_tensor* y,
                              bool l2_normalize, tw_stream stream) {
  return guarded("masked_mean_pool", [&](Reader& read) {
    kernels::masked_mean_pool(read("x", x), read("cu_seqlens", cu_seqlens), read("y", y),
                              l2_normalize, Stream{stream});
  });
}
