// Calls of generators of random numbers.
#include "tilewright/kernels/rand.h"

#include <utility>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"

namespace tw::test {

using namespace kernels;

void add_random(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    cases.add("randn", format("{}", dtype), [=](Place& p) {
      // Blocks of streams that are whole, and of fewer; several steps; ends within a vector of each
      // of a step's quarters, at their beginnings and ends, in whole parts and in others.
      for (const auto& [n, groups] :
           {std::pair(8195, 4), std::pair(5637, 4), std::pair(7165, 4), std::pair(8190, 4),
            std::pair(5119, 4), std::pair(6001, 5), std::pair(4101, 5), std::pair(3, 1),
            std::pair(7501, 7), std::pair(6445, 5), std::pair(7725, 5), std::pair(9005, 5),
            std::pair(10285, 5), std::pair(24603, 5),
            // As many as vectors hold.
            std::pair(8, 1), std::pair(512, 2), std::pair(1272, 5), std::pair(1288, 5),
            std::pair(2080, 5), std::pair(3360, 5), std::pair(3840, 5), std::pair(4640, 5),
            std::pair(5112, 5), std::pair(7500, 7), std::pair(9008, 5), std::pair(8192, 4),
            std::pair(800, 4), std::pair(2800, 5), std::pair(4400, 5), std::pair(5504, 5),
            std::pair(24600, 5)}) {
        randn(p.output(dtype, {n}), {.seed = 3, .offset = 1 << 10, .most_groups = groups});
      }
    });
    cases.add("standard_normal", format("{}", dtype), [=](Place& p) {
      // Blocks of 2048 elements, four vectors of a thread: whole ones, and ends in each place of a
      // vector, at the beginning and the end of a block and of a row of its threads.
      for (const int64_t n :
           {1,    2,    3,    4,    5,    510,  511,  512,  513,  514,  1025, 1535,
            2044, 2045, 2046, 2047, 2048, 2049, 2050, 2051, 2052, 4095, 4096, 4098}) {
        standard_normal(p.output(dtype, {n}), {.seed = (uint64_t{5} << 32) + 3, .subsequence = 9});
      }
    });
  }
}

}  // namespace tw::test
