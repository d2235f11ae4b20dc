#include "tilewright/capi/activation.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/activation.h"

using namespace tw;
using capi::guarded;
using capi::Reader;

tw_status tw_relu(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("relu",
                 [&](Reader& read) { kernels::relu(read("x", x), read("y", y), Stream{stream}); });
}

tw_status tw_gelu(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("gelu",
                 [&](Reader& read) { kernels::gelu(read("x", x), read("y", y), Stream{stream}); });
}

tw_status tw_gelu_tanh(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("gelu_tanh", [&](Reader& read) {
    kernels::gelu_tanh(read("x", x), read("y", y), Stream{stream});
  });
}

tw_status tw_silu(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("silu",
                 [&](Reader& read) { kernels::silu(read("x", x), read("y", y), Stream{stream}); });
}

tw_status tw_sigmoid(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("sigmoid", [&](Reader& read) {
    kernels::sigmoid(read("x", x), read("y", y), Stream{stream});
  });
}

tw_status tw_silu_mul(const tw_tensor* gate, const tw_tensor* x, const tw_tensor* y,
                      tw_stream stream) {
  return guarded("silu_mul", [&](Reader& read) {
    kernels::silu_mul(read("gate", gate), read("x", x), read("y", y), Stream{stream});
  });
}
