#include "tests/mutate/place.h"

#include <algorithm>
#include <cstring>

#include "tests/kernels/tensors.h"

namespace tw::test {
namespace {

constexpr int64_t kBand = 64;  // bytes
constexpr auto kPattern = std::byte{0x5C};

}  // namespace

Tensor Place::make(DType dtype, const Shape& shape) {
  const int64_t skew = skew_ * dtype.bits() / 8;
  const int64_t bytes = storage_bytes(dtype, shape.numel());
  const OwnedTensor& memory = memory_.emplace_back(u8, Shape{2 * kBand + skew + bytes});
  used_.emplace_back(kBand + skew, kBand + skew + bytes);
  std::memset(memory->data(), static_cast<int>(kPattern), static_cast<size_t>(memory->bytes()));
  return on(where_, Tensor(memory->data_as<char>() + kBand + skew, dtype, shape));
}

Tensor Place::input(DType dtype, const Shape& shape, double low, double high) {
  const Tensor tensor = make(dtype, shape);
  assign(tensor, values(random_tensor(dtype, shape, ++seed_, low, high)));
  return tensor;
}

Tensor Place::peaks(DType dtype, const Shape& shape, int64_t period, Peaks where) {
  const Tensor tensor = make(dtype, shape);
  std::vector<double> numbers = values(random_tensor(dtype, shape, ++seed_));
  const int64_t columns = shape[shape.rank() - 1], rows = shape.numel() / columns;
  const auto offset = static_cast<int64_t>(seed_ * 11);
  int64_t number = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t first = 0; first < columns; first += period) {
      // The ends first, and those of strips, then anywhere.
      const int64_t length = std::min(period, columns - first), turn = number++;
      const int64_t places[] = {length - 1, 0, 16383 % length, 16384 % length, 32768 % length};
      const int64_t place = where == Peaks::first  ? 0
                            : where == Peaks::last ? length - 1
                            : turn < 5             ? places[turn]
                                                   : (turn + offset) * 7919 % length;
      numbers[static_cast<size_t>(row * columns + first + place)] =
          3.75 + static_cast<double>(turn % 7) / 4;
    }
  }
  assign(tensor, numbers);
  return tensor;
}

Tensor Place::holding(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  const Tensor tensor = make(dtype, shape);
  assign(tensor, numbers);
  return tensor;
}

Tensor Place::integers(DType dtype, const Shape& shape) {
  const Tensor tensor = make(dtype, shape);
  const double most = dtype.bits() > 16 ? 1 << 20 : 40;
  assign(tensor, values(random_tensor(i32, shape, ++seed_, -most, most)));
  return tensor;
}

Tensor Place::output(DType dtype, const Shape& shape) { return updated(make(dtype, shape)); }

Tensor Place::updated(Tensor tensor) {
  outputs_.push_back(tensor);
  return tensor;
}

bool Place::bands_are_intact() const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const auto* const bytes = memory_[i]->data_as<std::byte>();
    const auto [begin, end] = used_[i];
    const auto is_pattern = [](std::byte b) { return b == kPattern; };
    if (!std::all_of(bytes, bytes + begin, is_pattern) ||
        !std::all_of(bytes + end, bytes + memory_[i]->bytes(), is_pattern)) {
      return false;
    }
  }
  return true;
}

}  // namespace tw::test
