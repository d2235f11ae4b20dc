// Nor has a value a number to give.
// expect: Expr.*int
#include "tilewright/lang/lang.h"

int body(tw::Expr i) { return i; }
