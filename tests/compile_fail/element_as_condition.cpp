// Neither has an element.
// expect: Ref.*bool
#include "tilewright/lang/lang.h"

void body(const tw::Buffer& x) {
  while (x(0)) x(0) = 1;
}
