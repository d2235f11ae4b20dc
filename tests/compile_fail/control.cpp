// What the other files get wrong, done right.
#include "tilewright/lang/lang.h"

void body(const tw::Buffer& x, const tw::Tile& v, tw::Expr i) {
  tw::if_(i < 3, [&] { x(i) = 1; });
  tw::if_(i < 3 && x(i) > 0 && true, [] {});
  tw::store(x(tw::at(i, 4)), tw::sum(v, 1) + tw::max(v, 0.f));
}
