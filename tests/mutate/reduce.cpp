// Calls of what keeps one or few numbers of a row, or sums that run along it.
#include "tilewright/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "tests/kernels/tensors.h"
#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/kernels/select.h"
#include "tilewright/lang/math.h"

namespace tw::test {
namespace {

using namespace kernels;
using lang::cdiv;

void add_sums(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    const auto add = [&](const char* name, const char* how, auto f) {
      cases.add(name, format("{}{}", dtype, how), [=](Place& p) {
        for (const auto& [n, h] : held_rows()) f(p, n, h);
      });
      cases.add(name, format("{}{}, by more threads", dtype, how),
                [=](Place& p) { f(p, 9, 5120); });
      // Two whole strips and one that is nearly so.
      cases.add(name, format("{}{}, rows in strips", dtype, how),
                [=](Place& p) { f(p, 9, 3 * 16384 - 24); });
    };
    add("sum", "",
        [=](Place& p, int64_t n, int64_t h) { sum(p.input(dtype, {n, h}), p.output(f32, {n})); });
    add("max", "", [=](Place& p, int64_t n, int64_t h) {
      for (const Peaks where : kPeaks) max(p.peaks(dtype, {n, h}, h, where), p.output(dtype, {n}));
    });
    add("max", ", NaN", [=](Place& p, int64_t n, int64_t h) {
      for (const Peaks where : kPeaks) {
        max(p.peaks(dtype, {n, h}, h, where), p.output(dtype, {n}), true);
      }
    });
    cases.add("cumsum", to_text(dtype), [=](Place& p) {
      for (const DType result : {dtype, f32}) {
        for (const int64_t h : {493, 512, 259}) {
          const int64_t row = up(h);
          for (const int64_t n : {31, 32}) {
            cumsum(left(p.input(dtype, {n, row}), h), left(p.output(result, {n, row}), h));
          }
        }
      }
    });
    cases.add("cumsum", format("{}, long rows", dtype), [=](Place& p) {
      for (const int64_t h : {8173, 4099, 24571}) {
        const int64_t row = up(h);
        cumsum(left(p.input(dtype, {2, row}), h), left(p.output(dtype, {2, row}), h));
      }
    });
  }
}

void add_argmax(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    const int64_t vector = 128 / dtype.bits(), strip = 128 * vector;
    const auto find = [=](Place& p, const Tensor& x) {
      argmax(x, p.output(dtype == f32 ? i64 : i32, {x.dim(0)}));
    };
    const auto run = [=](Place& p, int64_t n, int64_t h) {
      for (const Peaks where : kPeaks) find(p, p.peaks(dtype, {n, h}, h, where));
      // In each place of a vector, in each strip that is held.
      const int64_t strips = cdiv(h, strip), vectors = cdiv(cdiv(h, strips), vector);
      for (int64_t s = 0; s < std::min<int64_t>(strips, 8); ++s) {
        const Tensor x = p.input(dtype, {std::max(n, vector), h});
        for (int64_t row = 0; row < x.dim(0); ++row) {
          const int64_t column = s * vectors + row * 29 % (vectors - 4);
          assign(x.slice(0, row, 1).slice(1, column * vector + row % vector, 1), {3});
          assign(x.slice(0, row, 1).slice(1, h - 1, 1), {2.5});
        }
        find(p, x);
      }
      // The largest are -0 and, further on, 0: they are equal.
      const Tensor zeros = p.input(dtype, {n, h}, -2, -1);
      for (int64_t row = 0; row < n; ++row) {
        assign(zeros.slice(0, row, 1).slice(1, h / 3, 1), {-0.0});
        assign(zeros.slice(0, row, 1).slice(1, h - 1, 1), {0.0});
      }
      find(p, zeros);
      // Rows that begin with NaN, have nothing else, or behind the largest.
      const Tensor x = p.input(dtype, {n, h}, -2, -1), y = p.input(dtype, {n, h}, -2, -1);
      const std::vector<double> nans(static_cast<size_t>(h), NAN);
      const auto set_nans = [&](const Tensor& row, int64_t first, int64_t count) {
        assign(row.slice(1, first, count), {nans.begin(), nans.begin() + count});
      };
      for (int64_t row = 0; row < n; ++row) {
        set_nans(x.slice(0, row, 1), 0, row % 3 == 0 ? h : row % 3 * h / 3);
        const int64_t at = (h - 2 - row) / (row % 4 + 1);
        assign(y.slice(0, row, 1).slice(1, at, 1), {3});
        set_nans(y.slice(0, row, 1), at + 1, h - at - 1);
      }
      find(p, x);
      find(p, y);
    };
    cases.add("argmax", to_text(dtype), [=](Place& p) {
      for (const auto& [n, h] : RowSizes{{25, 77}, {26, 77}, {23, 80}, {24, 80}, {4, 1848}}) {
        run(p, n, h);
      }
    });
    // Two spans of strips, the last of them nearly empty.
    cases.add("argmax", format("{}, rows in strips", dtype),
              [=](Place& p) { run(p, 2, 10 * strip - 24); });
  }
}

void add_top_k(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    cases.add("top_k", to_text(dtype), [=](Place& p) {
      for (const auto& [n, h, k] :
           {std::tuple(7, 20, 3), std::tuple(5, 264, 5), std::tuple(7, 40, 9)}) {
        const auto find = [&](const Tensor& x) {
          top_k(x, p.output(dtype, {x.dim(0), k}),
                p.output(dtype == f32 ? i32 : i64, {x.dim(0), k}));
        };
        const Tensor x = p.input(dtype, {n, h});
        assign(x.slice(0, 1, 1).slice(1, 0, 6), {NAN, -0.0, 0.0, -INFINITY, NAN, -0.0});
        find(x);
        // Zeros are the largest, at the beginning or at the end.
        for (const int64_t first : {int64_t{0}, int64_t{h} - 5}) {
          const Tensor least = p.input(dtype, {n, h}, -3, -2);
          for (int64_t row = 0; row < n; ++row) {
            assign(least.slice(0, row, 1).slice(1, first, 5), {-0.0, NAN, 0.0, NAN, -0.0});
          }
          find(least);
        }
        if (h == 20) continue;
        const Tensor pair = p.input(dtype, {4, h}, -3, -2);  // the last of nine, equal neighbors
        for (int64_t row = 0; row < 4; ++row) {
          for (int64_t j = 0; j < 7; ++j) {
            assign(pair.slice(0, row, 1).slice(1, 4 * j + 3, 1), {static_cast<double>(9 - j)});
          }
          assign(pair.slice(0, row, 1).slice(1, 4 * row, 2), {1, 1});
        }
        find(pair);
        for (const Tensor& some : peaks_in_lists(p, dtype, h, NAN)) find(some);
      }
    });
  }
}

}  // namespace

void add_folds(Cases& cases) {
  add_sums(cases);
  add_argmax(cases);
  add_top_k(cases);
}

}  // namespace tw::test
