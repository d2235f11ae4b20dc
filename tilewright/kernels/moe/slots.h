// The experts of a token, several at a time, so that what is loaded for them is on its way
// together.
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

constexpr int64_t kSlotsAtOnce = 8;

/// f(first, count) for all of `topk` slots, at most so many at a time.
template <class F>
void in_groups_of_slots(int64_t topk, const F& f) {
  const int64_t whole = topk / kSlotsAtOnce * kSlotsAtOnce;
  if (whole > 0) {
    serial(0, whole, kSlotsAtOnce, [&](Expr first) { f(first, kSlotsAtOnce); });
  }
  if (whole < topk) f(Expr(whole), topk - whole);
}

}  // namespace tw::kernels
