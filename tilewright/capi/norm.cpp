#include "tilewright/capi/norm.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/norm.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_rms_norm(const tw_tensor* x, const tw_tensor* w, float eps, const tw_tensor* y,
                      tw_stream stream) {
  return guarded("rms_norm", [&](Reader& read) {
    kernels::rms_norm(read("x", x), read("w", w), eps, read("y", y), Stream{stream});
  });
}

tw_status tw_layer_norm(const tw_tensor* x, const tw_tensor* w, const tw_tensor* b, float eps,
                        const tw_tensor* y, tw_stream stream) {
  return guarded("layer_norm", [&](Reader& read) {
    kernels::layer_norm(read("x", x), read("w", w), read("b", b), eps, read("y", y),
                        Stream{stream});
  });
}

tw_status tw_residual_rms_norm(const tw_tensor* x, const tw_tensor* residual, const tw_tensor* w,
                               float eps, const tw_tensor* y, const tw_tensor* sum,
                               tw_stream stream) {
  return guarded("residual_rms_norm", [&](Reader& read) {
    kernels::residual_rms_norm(read("x", x), read("residual", residual), read("w", w), eps,
                               read("y", y), read("sum", sum), Stream{stream});
  });
}

tw_status tw_residual_layer_norm(const tw_tensor* x, const tw_tensor* residual, const tw_tensor* w,
                                 const tw_tensor* b, float eps, const tw_tensor* y,
                                 const tw_tensor* sum, tw_stream stream) {
  return guarded("residual_layer_norm", [&](Reader& read) {
    kernels::residual_layer_norm(read("x", x), read("residual", residual), read("w", w),
                                 read("b", b), eps, read("y", y), read("sum", sum), Stream{stream});
  });
}

tw_status tw_softmax(const tw_tensor* x, float scale, const tw_tensor* y, tw_stream stream) {
  return guarded("softmax", [&](Reader& read) {
    kernels::softmax(read("x", x), scale, read("y", y), Stream{stream});
  });
}
