// Programs that authors write for single threads, each with tensors and the result to expect: for
// the twin, the compiler of cubins and a device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/sim/interpreter.h"

namespace tw::test {

struct SampleTensor {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<double> values;  // fewer than it has: the rest is 0
};

struct Sample {
  std::string name;
  ir::Program program;
  std::vector<SampleTensor> tensors;  // in the order of the parameters
  std::vector<double> expected;       // in the last one
};

/// Memory of a sample's tensors.
class SampleMemory {
 public:
  explicit SampleMemory(const Sample& sample);
  const std::vector<sim::Argument>& arguments() const { return arguments_; }
  std::vector<double> result() const;

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<sim::Argument> arguments_;
};

const std::vector<Sample>& all_samples();
/// Those of them whose blocks work together.
std::vector<Sample> block_samples();

/// first, first + 1, ...
std::vector<double> counted(size_t n, double first = 0);

}  // namespace tw::test
