// y = x, each element converted.
// Memory bound: x is read once, y written once.
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/elementwise.h"
#include "tilewright/kernels/quant.h"

namespace tw::kernels {

void cast(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("cast", 1, [](const std::vector<Expr>& v) { return v[0]; });
  for (const Named& t : {Named{"x", x}, Named{"y", y}}) {
    check_dtype("cast", t, {f64, f32, tf32, f16, bf16, f8_e4m3, f8_e5m2, f8_e8m0});
  }
  check_shape("cast", {"y", y}, x.shape(), "like x");
  kernel({x}, y, stream);
}

}  // namespace tw::kernels
