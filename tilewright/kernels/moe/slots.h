// The experts of a token, several at a time, so that what is loaded for them is on its way
// together.
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// f(first, count) for all of `topk` slots, at most 8 at a time.
template <class F>
void in_groups_of_slots(int64_t topk, const F& f) {
  constexpr int64_t kMost = 8;
  const int64_t whole = topk / kMost * kMost;
  if (whole > 0) serial(0, whole, kMost, [&](Expr first) { f(first, kMost); });
  if (whole < topk) f(Expr(whole), topk - whole);
}

}  // namespace tw::kernels
