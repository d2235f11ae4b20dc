#include "tests/kernels/tensors.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"

namespace tw::test {
namespace {

/// Calls f(offset) with the element offset of each element in row-major order.
template <class F>
void for_each_offset(const Tensor& t, F f) {
  std::vector<int64_t> at(static_cast<size_t>(t.rank()), 0);
  for (int64_t left = t.numel(); left > 0; --left) {
    int64_t offset = 0;
    for (int d = 0; d < t.rank(); ++d) offset += at[static_cast<size_t>(d)] * t.stride(d);
    f(offset);
    for (int d = t.rank() - 1; d >= 0; --d) {
      if (++at[static_cast<size_t>(d)] < t.dim(d)) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
}

uint64_t bits_at(const Tensor& t, int64_t offset) {
  const int bits = t.dtype().bits();
  if (bits == 4) return (t.data_as<uint8_t>()[offset / 2] >> (offset % 2 * 4)) & 15;
  uint64_t value = 0;
  std::memcpy(&value, t.data_as<char>() + offset * bits / 8, static_cast<size_t>(bits / 8));
  return value;
}

void put_bits(const Tensor& t, int64_t offset, uint64_t value) {
  const int bits = t.dtype().bits();
  if (bits == 4) {
    uint8_t& byte = t.data_as<uint8_t>()[offset / 2];
    const int shift = static_cast<int>(offset % 2) * 4;
    byte = static_cast<uint8_t>((byte & ~(15 << shift)) | static_cast<int>(value) << shift);
    return;
  }
  std::memcpy(t.data_as<char>() + offset * bits / 8, &value, static_cast<size_t>(bits / 8));
}

}  // namespace

OwnedTensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  OwnedTensor tensor(dtype, shape);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  for_each_offset(tensor,
                  [&](int64_t at) { put_bits(tensor, at, encode(uniform(random), dtype)); });
  return tensor;
}

OwnedTensor filled_tensor(DType dtype, const Shape& shape, double value) {
  OwnedTensor tensor(dtype, shape);
  for_each_offset(tensor, [&](int64_t at) { put_bits(tensor, at, encode(value, dtype)); });
  return tensor;
}

Tensor with_row_gap(const OwnedTensor& storage, int64_t h) { return storage.view().slice(1, 0, h); }

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> list;
  for_each_offset(tensor,
                  [&](int64_t at) { list.push_back(decode(bits_at(tensor, at), tensor.dtype())); });
  return list;
}

void assign(const Tensor& tensor, const std::vector<double>& values) {
  size_t next = 0;
  for_each_offset(
      tensor, [&](int64_t at) { put_bits(tensor, at, encode(values.at(next++), tensor.dtype())); });
}

void expect_close(const Tensor& got, const std::vector<double>& wanted, double relative,
                  double absolute, const std::string& what) {
  const std::vector<double> found = values(got);
  ASSERT_EQ(found.size(), wanted.size()) << what;
  int failures = 0;
  for (size_t i = 0; i < found.size() && failures < 5; ++i) {
    const double x = found[i], y = wanted[i];
    const bool special = std::isnan(y) || std::isinf(y);
    const bool close = special ? (x == y || (std::isnan(x) && std::isnan(y)))
                               : std::fabs(x - y) <= relative * std::fabs(y) + absolute;
    if (close) continue;
    ++failures;
    ADD_FAILURE() << what << ": element " << i << " is " << x << ", wanted " << y;
  }
}

void expect_same(const Tensor& got, const std::vector<double>& wanted, const std::string& what) {
  const std::vector<double> found = values(got);
  ASSERT_EQ(found.size(), wanted.size()) << what;
  int failures = 0;
  for (size_t i = 0; i < found.size() && failures < 5; ++i) {
    const double x = found[i], y = wanted[i];
    if (std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y)) continue;
    if (std::isnan(x) && std::isnan(y)) continue;
    ++failures;
    ADD_FAILURE() << what << ": element " << i << " is " << x << ", wanted " << y;
  }
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

}  // namespace tw::test
