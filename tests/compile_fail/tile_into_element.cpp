// A tile is stored into a region.
// expect: no (match|viable)
#include "tilewright/lang/lang.h"

void body(const tw::Buffer& x, const tw::Tile& v) { x(0) = v; }
