#include "tilewright/capi/elementwise.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/elementwise.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_add(const tw_tensor* a, const tw_tensor* b, const tw_tensor* y, tw_stream stream) {
  return guarded("add", [&](Reader& read) {
    kernels::add(read("a", a), read("b", b), read("y", y), Stream{stream});
  });
}

tw_status tw_mul(const tw_tensor* a, const tw_tensor* b, const tw_tensor* y, tw_stream stream) {
  return guarded("mul", [&](Reader& read) {
    kernels::mul(read("a", a), read("b", b), read("y", y), Stream{stream});
  });
}

tw_status tw_add_relu(const tw_tensor* a, const tw_tensor* b, const tw_tensor* y,
                      tw_stream stream) {
  return guarded("add_relu", [&](Reader& read) {
    kernels::add_relu(read("a", a), read("b", b), read("y", y), Stream{stream});
  });
}

tw_status tw_silu_and_mul(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("silu_and_mul", [&](Reader& read) {
    kernels::silu_and_mul(read("x", x), read("y", y), Stream{stream});
  });
}
