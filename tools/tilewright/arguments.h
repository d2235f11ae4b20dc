// Arguments for a kernel, made from its signature alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tilewright/runtime/argument.h"
#include "tilewright/runtime/metadata.h"

namespace tw::tool {

/// Tensors of the shapes that the sizes give, and scalars. Inputs are random: floats from -1 to 1,
/// integers from 0 to 7, powers of two from 1/4 to 4 in e8m0; outputs are zero.
class Arguments {
 public:
  /// `sizes` has the value of every symbol; a scalar without value is 1. Equal seeds give equal
  /// elements. A kernel with a pointer parameter is an Error.
  Arguments(const runtime::KernelMetadata& metadata, const std::vector<int64_t>& sizes,
            const std::map<std::string, double>& scalars, uint64_t seed);

  std::span<const Arg> list() const { return args_; }
  /// Bytes that a run has to move: of inputs and outputs once, of those that are both twice.
  int64_t bytes() const { return bytes_; }
  /// A line per argument: `input X: f32 [4096, 64]`.
  const std::string& description() const { return description_; }

 private:
  struct Values;

  void add_tensor(const runtime::Param& param, Values& values, uint64_t seed);
  void add_scalar(const runtime::Param& param, double value, Values& values);

  std::vector<OwnedTensor> storage_;
  std::vector<Tensor> tensors_;  // views of the storage; never reallocated
  std::vector<Arg> args_;
  int64_t bytes_ = 0;
  std::string description_;
};

}  // namespace tw::tool
