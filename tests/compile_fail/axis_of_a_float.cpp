// An axis is an integer.
// expect: double.*Axis
#include "tilewright/lang/lang.h"

tw::Tile body(const tw::Tile& v) { return tw::sum(v, 1.0); }
