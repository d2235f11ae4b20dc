#include "tests/fuzz/case.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tw::fuzz {
namespace {

constexpr int64_t kGuardBytes = 64;
constexpr std::byte kGuard{0xC3};

}  // namespace

ParamValue ParamValue::tensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                              int64_t shift) {
  ParamValue value;
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.strides = std::move(strides);
  int64_t last = 0;
  for (size_t dim = 0; dim < value.shape.size(); ++dim) {
    if (value.shape[dim] > 0) last += (value.shape[dim] - 1) * value.strides[dim];
  }
  const int64_t bytes = ((last + 1) * dtype.bits() + 7) / 8;
  value.origin = kGuardBytes + shift * std::max(1, dtype.bits() / 8);
  value.memory.assign(static_cast<size_t>(bytes + 2 * kGuardBytes) + 32, kGuard);
  return value;
}

ParamValue ParamValue::of_scalar(DType dtype, uint64_t bits) {
  ParamValue value;
  value.dtype = dtype;
  value.is_scalar = true;
  value.scalar = bits;
  return value;
}

int64_t ParamValue::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

int64_t ParamValue::bit_of(int64_t row_major) const {
  int64_t element = 0;
  for (size_t dim = shape.size(); dim-- > 0;) {
    element += row_major % shape[dim] * strides[dim];
    row_major /= shape[dim];
  }
  return origin * 8 + element * dtype.bits();
}

uint64_t ParamValue::get(int64_t row_major) const {
  const int64_t bit = bit_of(row_major);
  const std::byte* from = memory.data() + bit / 8;
  if (dtype.bits() == 4) return (static_cast<uint64_t>(*from) >> (bit % 8)) & 15;
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(dtype.bits() / 8));
  return bits;
}

void ParamValue::set(int64_t row_major, uint64_t bits) {
  const int64_t bit = bit_of(row_major);
  std::byte* to = memory.data() + bit / 8;
  if (dtype.bits() == 4) {
    const auto kept = static_cast<uint64_t>(*to) & ~(uint64_t{15} << (bit % 8));
    *to = static_cast<std::byte>(kept | ((bits & 15) << (bit % 8)));
  } else {
    std::memcpy(to, &bits, static_cast<size_t>(dtype.bits() / 8));
  }
}

namespace {

const std::string& name_of(const ir::Param& param) {
  return param.buffer ? param.buffer.name() : param.var.name();
}

}  // namespace

std::vector<std::byte*> Case::memory() {
  std::vector<std::byte*> places;
  for (ParamValue& value : values) {
    places.push_back(value.is_scalar ? nullptr : value.memory.data());
  }
  return places;
}

void Case::link(const std::vector<std::byte*>& memory) {
  for (ParamValue& value : values) {
    for (size_t p = 0; p < values.size() && !value.points_to.empty(); ++p) {
      if (name_of(program.params[p]) != value.points_to) continue;
      value.set(0, reinterpret_cast<uintptr_t>(memory[p] + values[p].origin));
    }
  }
}

std::vector<sim::Argument> Case::arguments() {
  link(memory());
  std::vector<sim::Argument> arguments;
  for (ParamValue& value : values) {
    arguments.push_back(value.is_scalar
                            ? sim::Argument::value(value.dtype, value.scalar)
                            : sim::Argument::tensor(value.memory.data() + value.origin, value.dtype,
                                                    value.shape, value.strides));
  }
  return arguments;
}

Case Case::for_program(const ir::Program& other) const {
  Case result;
  result.seed = seed;
  result.program = other;
  for (const ir::Param& wanted : other.params) {
    for (size_t p = 0; p < values.size(); ++p) {
      if (name_of(program.params[p]) == name_of(wanted)) result.values.push_back(values[p]);
    }
  }
  return result;
}

}  // namespace tw::fuzz
