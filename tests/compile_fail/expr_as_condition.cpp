// A value has no truth while tracing.
// expect: Expr.*bool
#include "tilewright/lang/lang.h"

void body(const tw::Buffer& x, tw::Expr i) {
  if (i < 3) x(i) = 1;
}
