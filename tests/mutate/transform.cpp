// Calls of rotations by positions.
#include "tilewright/kernels/transform.h"

#include <utility>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"

namespace tw::test {

using namespace kernels;

void add_rotary(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool interleaved : {false, true}) {
      const char* pairs = interleaved ? "neighbors" : "halves";
      cases.add("apply_rotary", format("{}, {}", dtype, pairs), [=](Place& p) {
        // Some positions are outside, before and behind. Heads are a whole part, or nearly so, or
        // one is behind it.
        for (const auto& [heads, offset] : {std::pair(3, 1), std::pair(4, 1), std::pair(33, -1),
                                            std::pair(33, 1), std::pair(63, 1)}) {
          const Tensor positions = p.holding(i32, {2, 2}, {4, -9, 0, 20}),
                       x = p.updated(p.input(dtype, {2, 2, heads, 72}));
          const int64_t rows = heads < 33 ? 8 : 2;
          apply_rotary(x.slice(3, 8, 64), left(p.input(f32, {rows, 68}), 64),
                       {.positions = heads < 33 ? &positions : nullptr,
                        .offset = offset,
                        .interleaved = interleaved,
                        .conjugate = heads < 33});
        }
      });
    }
  }
}

}  // namespace tw::test
