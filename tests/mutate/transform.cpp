// Calls of rotations by positions.
#include "tilewright/kernels/transform.h"

#include <algorithm>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"

namespace tw::test {

using namespace kernels;

void add_rotary(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool interleaved : {false, true}) {
      const char* pairs = interleaved ? "neighbors" : "halves";
      cases.add("apply_rotary", format("{}, {}", dtype, pairs), [=](Place& p) {
        // Some positions are outside, before and behind. Heads are whole parts, or nearly so, and
        // a key has more or less of them.
        struct Sizes {
          int64_t heads, key_heads, offset;
        };
        for (const auto& [heads, key_heads, offset] :
             {Sizes{3, 0, 1}, Sizes{33, 0, -1}, Sizes{33, 0, 1}, Sizes{3, 4, 1}, Sizes{4, 3, 1},
              Sizes{33, 1, 1}}) {
          const Tensor positions = p.holding(i32, {2, 2}, {4, -9, 0, 20}),
                       x = p.updated(p.input(dtype, {2, 2, heads, 72})),
                       key = p.updated(p.input(dtype, {2, 2, std::max<int64_t>(key_heads, 1), 80}))
                                 .slice(3, 8, 64);
          const int64_t rows = heads < 33 ? 8 : 2;
          apply_rotary(x.slice(3, 8, 64), left(p.input(f32, {rows, 68}), 64),
                       {.key = key_heads > 0 ? &key : nullptr,
                        .positions = heads < 33 ? &positions : nullptr,
                        .offset = offset,
                        .interleaved = interleaved,
                        .conjugate = heads < 33});
        }
      });
    }
  }
}

}  // namespace tw::test
