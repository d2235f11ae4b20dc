// Calls of what goes to rows by their numbers: gathers, scatters, means of sequences.
#include "tilewright/kernels/gather.h"

#include <utility>
#include <vector>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/pool.h"

namespace tw::test {

using namespace kernels;

void add_rows(Cases& cases) {
  for (const DType dtype : {u8, bf16, f32}) {
    cases.add("gather_rows", to_text(dtype), [=](Place& p) {
      const DType index = dtype == bf16 ? i64 : i32;
      for (const auto& [n, h] : held_rows()) {
        std::vector<double> rows;  // some of them outside
        for (int64_t i = 0; i < n; ++i) {
          rows.push_back(static_cast<double>(i % 6 == 2   ? -1 - i
                                             : i % 6 == 4 ? 11 + i
                                                          : i * 7 % 11));
        }
        gather_rows(p.input(dtype, {11, h}, 0, 99), p.holding(index, {n}, rows),
                    left(p.output(dtype, {n, h + 16}), h));
      }
    });
  }
  for (const auto& [dtype, sums] :
       {std::pair(f32, f32), std::pair(bf16, bf16), std::pair(f16, f32)}) {
    const DType from = dtype, to = sums;
    cases.add("scatter_add_rows", format("{} to {}", from, to), [=](Place& p) {
      scatter_add_rows(left(p.integers(from, {9, 2032}), 2029),
                       p.holding(from == f32 ? i64 : i32, {9}, {3, 4, -1, 0, 3, 5, 2, 6, 1}),
                       left(p.updated(p.integers(to, {5, 2048})), 2029));
    });
  }
  for (const DType dtype : {f32, bf16}) {
    for (const bool normalize : {false, true}) {
      cases.add("masked_mean_pool", format("{}{}", dtype, normalize ? ", normalized" : ""),
                [=](Place& p) {
                  for (const int64_t h : {77, 80, 392}) {
                    masked_mean_pool(p.input(dtype, {19, h}),
                                     p.holding(dtype == f32 ? i64 : i32, {5}, {0, 6, 6, 7, 19}),
                                     left(p.output(f32, {4, h + 8}), h), normalize);
                  }
                });
    }
  }
  cases.stops("masked_mean_pool", "sequences outside", [](Place& p) {
    for (const DType dtype : {f32, bf16}) {
      for (const bool normalize : {false, true}) {
        for (const int64_t h : {77, 80, 392}) {
          for (const std::vector<double>& list :
               {std::vector<double>{0, 6, 6, 7, 23}, {-2, 6, 6, 7, 19}, {0, 6, 5, 19, 19}}) {
            masked_mean_pool(p.input(dtype, {19, h}),
                             p.holding(dtype == f32 ? i64 : i32, {5}, list),
                             left(p.output(f32, {4, h + 8}), h), normalize);
          }
        }
      }
    }
  });
}

}  // namespace tw::test
