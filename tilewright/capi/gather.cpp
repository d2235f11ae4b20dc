#include "tilewright/capi/gather.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/gather.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_gather_rows(const tw_tensor* table, const tw_tensor* index, const tw_tensor* y,
                         tw_stream stream) {
  return guarded("gather_rows", [&](Reader& read) {
    kernels::gather_rows(read("table", table), read("index", index), read("y", y), Stream{stream});
  });
}

tw_status tw_scatter_add_rows(const tw_tensor* x, const tw_tensor* index, const tw_tensor* y,
                              tw_stream stream) {
  return guarded("scatter_add_rows", [&](Reader& read) {
    kernels::scatter_add_rows(read("x", x), read("index", index), read("y", y), Stream{stream});
  });
}
