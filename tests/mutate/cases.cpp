#include "tests/mutate/cases.h"

#include <algorithm>
#include <random>

#include "tests/kernels/tensors.h"
#include "tilewright/lang/math.h"

namespace tw::test {

std::vector<Tensor> peaks_in_lists(Place& p, DType dtype, int64_t h, double nothing) {
  const int64_t apart = 32 * lang::cdiv(h, 256), length = lang::cdiv(h, apart);
  std::vector<Tensor> tensors;
  for (int n = 0; n < 2; ++n) {
    tensors.push_back(p.input(dtype, {32, h}, -3, -2));
    tensors.push_back(p.input(dtype, {64, h}, -3, -2));
  }
  std::mt19937 random;
  const auto any = [&](const std::vector<double>& of) { return of[random() % of.size()]; };
  std::vector<double> all = {1, 2, 3, 4, 5};
  for (int64_t row = 0; row < 64; ++row) {
    std::ranges::shuffle(all, random);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t list = row * 5 % 7;
      const std::vector<double> few = {-0.0, 0.0, nothing},
                                many = {-0.0, 0.0, nothing, 1, 2, 3, 4, 5};
      const std::vector<double> others = {nothing, 1.5, 2.5, 3.5, 9};
      std::vector<double> pair = {any(i < 2 ? others : few), all[static_cast<size_t>(i)]};
      if (row % 8 == 0) pair = {any(few), any(few)};
      if (row % 8 == 1) pair = {any(many), any(many)};
      for (const bool neighbors : {false, true}) {
        const Tensor &one = tensors[neighbors ? 2 : 0], &both = tensors[neighbors ? 3 : 1];
        const auto set = [&](const Tensor& in, int64_t l, double x) {
          const int64_t column = neighbors ? l * length + i : l + i * apart;
          assign(in.slice(0, row, 1).slice(1, column, 1), {x});
        };
        if (row < 32) set(one, list, static_cast<double>(row >> i & 1));
        for (int64_t n = 0; n < 2; ++n) set(both, list + n, pair[static_cast<size_t>(n)]);
      }
    }
  }
  return tensors;
}

}  // namespace tw::test
