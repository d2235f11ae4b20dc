// The scale factor of a group, as the casts of this folder share it.
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// The factor of dequantisation, and what elements are multiplied with.
struct Scale {
  Tile factor, inverse;
};

/// From the largest magnitudes of groups, in f32; NaN where a group has nothing but NaN.
Scale e4m3_scale(const Tile& amax, bool round_sf);

/// The codes of elements in f32.
Tile e4m3_codes(const Tile& x, const Tile& inverse);

}  // namespace tw::kernels
