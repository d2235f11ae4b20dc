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
        // Some positions are outside, before and behind. Blocks have `part` heads of x or of the
        // key, which fill a warp, and the last of x or of the key has as many, or one less.
        struct Sizes {
          int64_t heads, key_heads;
          bool has_positions;
          int64_t offset;
        };
        const int64_t part = dtype == bf16 ? 16 : 8, heads_x = 2 * part - 1;
        for (const auto& [heads, key_heads, has_positions, offset] :
             {Sizes{heads_x, 0, true, 1}, Sizes{2 * part, 0, true, 1}, Sizes{heads_x, 0, false, -1},
              Sizes{heads_x, 0, false, 1}, Sizes{heads_x, part, true, 1},
              Sizes{2 * part, heads_x, true, 1}}) {
          const Tensor positions = p.holding(i32, {2, 2}, {4, -9, 0, 20}),
                       x = p.updated(p.input(dtype, {2, 2, heads, 72})),
                       key = p.updated(p.input(dtype, {2, 2, std::max<int64_t>(key_heads, 1), 80}))
                                 .slice(3, 8, 64);
          const int64_t rows = has_positions ? 8 : 2;
          apply_rotary(x.slice(3, 8, 64), left(p.input(f32, {rows, 68}), 64),
                       {.key = key_heads > 0 ? &key : nullptr,
                        .positions = has_positions ? &positions : nullptr,
                        .offset = offset,
                        .interleaved = interleaved,
                        .conjugate = has_positions});
        }
      });
    }
  }
}

}  // namespace tw::test
