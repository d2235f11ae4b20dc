// y = x.
// Memory bound: x is read once, y written once.
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/elementwise.h"
#include "tilewright/kernels/move.h"

namespace tw::kernels {

void copy(const Tensor& x, const Tensor& y, Stream stream) {
  static const Elementwise kernel("copy", 1, [](const std::vector<Expr>& v) { return v[0]; });
  check_dtype("copy", {"y", y}, {x.dtype()});
  check_shape("copy", {"y", y}, x.shape(), "like x");
  check_apart("copy", {"y", y}, {{"x", x}});
  kernel({as_bits("copy", {"x", x})}, as_bits("copy", {"y", y}), stream);
}

}  // namespace tw::kernels
