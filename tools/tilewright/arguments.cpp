#include "arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"

namespace tw::tool {
namespace {

using runtime::HostExpr;
using runtime::KernelMetadata;
using runtime::Param;
using runtime::ParamKind;

/// A random element; `unit` is from 0 to 1.
uint64_t random_element(DType dtype, double unit) {
  if (dtype.is_bool()) return unit < 0.5 ? 0 : 1;
  if (dtype.is_int()) return encode(static_cast<int64_t>(unit * 8), dtype);
  if (dtype == f8_e8m0) return encode(std::exp2(std::floor(unit * 5) - 2), dtype);
  return encode(2 * unit - 1, dtype);
}

/// Fills memory with random elements: the first 64 Ki are drawn, the rest repeats them.
void fill_random(const Tensor& tensor, uint64_t seed) {
  std::mt19937_64 random(seed);
  const int64_t bytes = tensor.bytes();
  const int64_t size = std::max(tensor.dtype().bits() / 8, 1);
  const int64_t drawn = std::min<int64_t>(bytes, size << 16);
  char* memory = tensor.data_as<char>();
  for (int64_t at = 0; at < drawn; at += size) {
    const uint64_t bits = tensor.dtype().is_sub_byte()
                              ? random()  // any byte is two elements
                              : random_element(tensor.dtype(), std::ldexp(random() >> 11, -53));
    std::memcpy(memory + at, &bits, static_cast<size_t>(size));
  }
  for (int64_t at = drawn; at < bytes; at += drawn) {
    std::memcpy(memory + at, memory, static_cast<size_t>(std::min(drawn, bytes - at)));
  }
}

/// Elements from the first to the last of a strided tensor.
int64_t span_of(const Shape& shape, const Shape& strides) {
  if (shape.numel() == 0) return 0;
  int64_t span = 1;
  for (int i = 0; i < shape.rank(); ++i) span += (shape[i] - 1) * strides[i];
  return span;
}

const char* kind_text(ParamKind kind) {
  return kind == ParamKind::input ? "input" : kind == ParamKind::inout ? "inout" : "output";
}

}  // namespace

/// What expressions of shapes refer to.
struct Arguments::Values {
  std::vector<int64_t> symbols;
  std::vector<const Tensor*> tensors;
  std::vector<int64_t> scalars;
  size_t param = 0;  // the one being made

  Shape shape(const std::vector<HostExpr>& entries) const {
    std::vector<int64_t> values;
    for (const HostExpr& entry : entries) {
      values.push_back(entry.evaluate({symbols.data(), tensors.data(), scalars.data()}));
    }
    return Shape(values);
  }
};

// Scalars come first, since shapes may refer to them.
Arguments::Arguments(const KernelMetadata& metadata, const std::vector<int64_t>& sizes,
                     const std::map<std::string, double>& scalars, uint64_t seed) {
  const size_t count = metadata.params.size();
  Values values{sizes, std::vector<const Tensor*>(count), std::vector<int64_t>(count)};
  storage_.reserve(count);
  tensors_.reserve(count);
  args_.resize(count);
  for (const bool tensors : {false, true}) {
    for (values.param = 0; values.param < count; ++values.param) {
      const Param& param = metadata.params[values.param];
      TW_REQUIRE(param.kind != ParamKind::pointer,
                 "{}: {} is an address, for which no memory can be made up", metadata.name,
                 param.name);
      if (param.kind == ParamKind::scalar && !tensors) {
        const auto given = scalars.find(param.name);
        add_scalar(param, given == scalars.end() ? 1 : given->second, values);
      } else if (param.is_tensor() && tensors) {
        add_tensor(param, values, seed + values.param);
      }
    }
  }
  for (size_t i = count; i-- > 0;) {  // workspaces are no arguments
    if (metadata.params[i].kind == ParamKind::workspace) args_.erase(args_.begin() + i);
  }
}

void Arguments::add_scalar(const Param& param, double value, Values& values) {
  description_ += format("  scalar {}: {} {}\n", param.name, param.dtype, value);
  values.scalars[values.param] = static_cast<int64_t>(value);
  args_[values.param] = param.dtype.is_bool()  ? Arg(value != 0)
                        : param.dtype.is_int() ? Arg(static_cast<int64_t>(value))
                                               : Arg(value);
}

void Arguments::add_tensor(const Param& param, Values& values, uint64_t seed) {
  const Shape shape = values.shape(param.shape);
  const Shape strides =
      param.strides.empty() ? shape.compact_strides() : values.shape(param.strides);
  const OwnedTensor& memory = storage_.emplace_back(param.dtype, Shape{span_of(shape, strides)});
  if (param.kind == ParamKind::output) {
    std::memset(memory->data(), 0, static_cast<size_t>(memory->bytes()));
  } else {
    fill_random(memory, seed);
  }
  const Tensor& tensor = tensors_.emplace_back(memory->data(), param.dtype, shape, strides);
  values.tensors[values.param] = &tensor;
  args_[values.param] = tensor;
  bytes_ += tensor.bytes() * (param.kind == ParamKind::inout ? 2 : 1);
  description_ += format("  {} {}: {}\n", kind_text(param.kind), param.name, tensor);
}

}  // namespace tw::tool
