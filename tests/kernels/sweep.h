// What random sweeps of kernels (*_sweep_slow_test.cpp) share: choices that favor edges, and
// tensors inside of other memory. Each runs a function on the CPU and in the twin beside plain
// loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/env.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/work.h"

namespace tw::test {

/// Choices, the same for the same seed.
class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed) {}
  uint64_t bits() { return random_(); }
  /// Both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }
  /// A multiple of one of those, just below or above it, from 0 to `most`.
  int64_t near(std::initializer_list<int64_t> units, int64_t most) {
    const int64_t unit = one_of(units);
    const int64_t n = unit * between(0, std::max<int64_t>(most / unit, 1)) +
                      one_of<int64_t>({0, 0, 0, 0, -1, 1, 2, -2, 4, 8, -8, 16});
    return std::clamp<int64_t>(n, 0, most);
  }

 private:
  std::mt19937_64 random_;
};

/// A matrix at any address and strides inside of memory, all else of which must stay.
class Placed {
 public:
  /// Rows begin at multiples of `align` elements; neighbors of a column are neighbors in memory
  /// where it is `turned`. With `tight` there are no gaps.
  Placed(Choices& c, DType dtype, int64_t m, int64_t k, bool turned = false, int64_t align = 1,
         bool tight = false) {
    if (dtype == f4_e2m1) align = std::max<int64_t>(align, 2);
    const int64_t rows = turned ? k : m, columns = turned ? m : k;
    const int64_t vector = 128 / dtype.bits();
    const auto up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
    int64_t pitch = up(columns, align);
    int64_t first = 0;
    if (!tight) {
      switch (c.between(0, 4)) {
        case 0:
          break;
        case 1:
          pitch = up(columns, vector);
          break;
        case 2:
          pitch = up(columns, vector) + vector * c.between(0, 2);
          break;
        case 3:
          pitch += align * c.between(1, 3);
          break;
        default:
          pitch += align * c.between(0, 40);
      }
      if (c.one_in(3)) first = align * c.between(0, 2 * vector);
      if (c.one_in(4)) first = up(first, vector / 2);
      first = up(first, align);
    }
    const int64_t guard = 4 * vector;
    const int64_t elements = 2 * guard + first + std::max<int64_t>(rows, 1) * pitch + columns;
    memory_ = OwnedTensor(u8, {(elements * dtype.bits() + 7) / 8});
    std::memset(memory_->data(), kOutside, static_cast<size_t>(memory_->bytes()));
    char* data = memory_->data_as<char>() + (guard + first) * dtype.bits() / 8;
    int64_t row_stride = pitch, column_stride = 1;
    if (rows == 1 && !tight && c.one_in(2)) row_stride = c.one_of<int64_t>({0, 1, 3, 1000003});
    if (columns == 1 && !tight && dtype != f4_e2m1 && c.one_in(2)) {
      column_stride = c.one_of<int64_t>({0, 7, pitch});
    }
    view = turned ? Tensor(data, dtype, {m, k}, {column_stride, row_stride})
                  : Tensor(data, dtype, {m, k}, {row_stride, column_stride});
  }
  /// With usual numbers, which it holds.
  static Placed random(Choices& c, DType dtype, int64_t m, int64_t k, bool turned = false) {
    Placed placed(c, dtype, m, k, turned);
    assign(placed.view, values(random_tensor(dtype, {m, k}, c.bits())));
    placed.hold();
    return placed;
  }
  /// Remembers what there is.
  void hold() {
    before_.assign(memory_->data_as<uint8_t>(), memory_->data_as<uint8_t>() + memory_->bytes());
  }
  /// Fails where another byte than the elements' has changed since.
  void expect_outside_unchanged(const std::string& what) const {
    std::vector<bool> inside(before_.size());
    const int64_t bits = view.dtype().bits();
    const int64_t base = (view.data_as<char>() - memory_->data_as<char>()) * 8;
    for (int64_t i = 0; i < view.dim(0); ++i) {
      for (int64_t j = 0; j < view.dim(1); ++j) {
        const int64_t at = base + (i * view.stride(0) + j * view.stride(1)) * bits;
        for (int64_t b = at / 8; b <= (at + bits - 1) / 8; ++b)
          inside[static_cast<size_t>(b)] = true;
      }
    }
    for (size_t i = 0; i < before_.size(); ++i) {
      if (inside[i] || memory_->data_as<uint8_t>()[i] == before_[i]) continue;
      ADD_FAILURE() << what << ": byte " << i << " outside was changed";
      return;
    }
  }
  void expect_unchanged(const std::string& what) const {
    EXPECT_EQ(std::memcmp(before_.data(), memory_->data(), before_.size()), 0)
        << what << ": an input was changed";
  }
  std::string text() const {
    return to_text(view) + " at +" + std::to_string(reinterpret_cast<uintptr_t>(view.data()) % 64);
  }

  Tensor view;

 private:
  static constexpr int kOutside = 0x7E;  // large numbers of all dtypes
  OwnedTensor memory_;
  std::vector<uint8_t> before_;
};

/// Row by row: usual numbers, of one magnitude, all bits, zeros, all NaN, with special ones.
inline std::vector<double> wild_values(Choices& c, DType dtype, int64_t m, int64_t k,
                                       bool with_nan = true) {
  std::vector<double> list;
  constexpr double kSpecial[] = {0.0,      -0.0,      1e-40, -1e-38,    3.4028234663852886e38,
                                 INFINITY, -INFINITY, 448,   448.00003, 6.1,
                                 0x1p-149, 1e-4,      -3e20, 6,         5,
                                 65024,    0x1p-126};
  for (int64_t i = 0; i < m; ++i) {
    const int64_t mode = c.between(0, 7);
    const double scale = std::exp2(static_cast<double>(c.between(-150, 128)));
    for (int64_t j = 0; j < k; ++j) {
      const double uniform = static_cast<double>(c.bits() >> 11) * 0x1p-52 - 1;
      double v = 4 * uniform;
      if (mode == 0) v = uniform * scale;
      if (mode == 1) {
        const uint64_t mask = dtype.bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << dtype.bits()) - 1;
        v = decode(c.bits() & mask, dtype);
      }
      if (mode == 2) v = c.one_in(2) ? 0.0 : -0.0;
      if (mode == 3) v = NAN;
      if (mode == 4 && c.one_in(3))
        v = c.one_in(6) ? NAN : kSpecial[c.between(0, std::size(kSpecial) - 1)];
      if (mode == 5 && !c.one_in(20)) v = 0;
      if (!with_nan && std::isnan(v)) v = 0.5;
      v = decode(encode(v, dtype), dtype);
      list.push_back(v);
    }
  }
  return list;
}

/// Runs `one` with the choices of TW_FUZZ_SEED, of the seed behind it, and so on: `of_10000` of
/// them for each 10000 of TW_FUZZ_PROGRAMS. A failure says how its case runs alone.
template <class F>
void sweep(int64_t of_10000, F one) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const int64_t count = std::max<int64_t>(env::fuzz_programs.get() * of_10000 / 10000, 1);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t seed = static_cast<uint64_t>(env::fuzz_seed.get() + i);
    SCOPED_TRACE(
        format("TW_FUZZ_SEED={} TW_FUZZ_PROGRAMS=1 tw_test_kernels_slow "
               "--gtest_filter={}.{}",
               seed, test.test_suite_name(), test.name()));
    Choices choices(seed);
    const kernels::WithWork forced(
        choices.one_of({kernels::Work::little, kernels::Work::cached, kernels::Work::much}));
    try {
      one(choices);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

/// What is done on the CPU and in the twin.
template <class F>
void both(F f) {
  for (const Where where : {Where::cpu, Where::twin}) f(where);
}

}  // namespace tw::test
