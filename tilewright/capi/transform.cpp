#include "tilewright/capi/transform.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/transform.h"

using namespace tw;
using capi::args_or_default;
using capi::guarded;
using capi::Reader;

namespace {

kernels::RotaryArgs read_args(Reader& read, const tw_rotary_args* given) {
  const tw_rotary_args c = args_or_default(given);
  kernels::RotaryArgs args;
  args.key = read.optional("key", c.key);
  args.positions = read.optional("positions", c.positions);
  args.offset = c.offset;
  args.interleaved = c.interleaved;
  args.conjugate = c.conjugate;
  return args;
}

}  // namespace

tw_status tw_apply_rotary(const tw_tensor* x, const tw_tensor* cos_sin, const tw_rotary_args* args,
                          tw_stream stream) {
  return guarded("apply_rotary", [&](Reader& read) {
    kernels::apply_rotary(read("x", x), read("cos_sin", cos_sin), read_args(read, args),
                          Stream{stream});
  });
}
