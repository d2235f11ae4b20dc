#include "tests/fuzz/compiled.h"

#include <utility>
#include <vector>

#include "tilewright/base/convert.h"
#include "tilewright/ir/options.h"
#include "tilewright/jit/compile.h"

namespace tw::fuzz {
namespace {

Tensor tensor_of(ParamValue& value) {
  return {value.memory.data() + value.origin, value.dtype, Shape(value.shape),
          Shape(value.strides)};
}

Arg scalar_of(const ParamValue& value) {
  if (value.dtype.is_bool()) return value.scalar != 0;
  if (value.dtype == u64) return value.scalar;
  if (value.dtype.is_int()) return decode_int(value.scalar, value.dtype);
  return decode(value.scalar, value.dtype);
}

/// The processor to compile for: of every second program an older one. The baseline is left out:
/// the functions of its mathematics have other bits.
const char* level_for(const ir::Program& program) {
  const bool older = std::hash<std::string>()(program.name) % 2 == 0;
  return older && __builtin_cpu_supports("avx2") ? "avx2" : "host";
}

}  // namespace

Executor compiled(std::string target) {
  return [target = std::move(target)](const ir::Program& program, Case& one) {
    CompileOptions options;
    options.target = target;
    options.cache = false;
    const Kernel kernel =
        compile(ir::with_option(program, "cpu_level", level_for(program)), options);
    one.link();
    std::vector<Tensor> tensors;
    tensors.reserve(one.values.size());  // arguments refer to them
    std::vector<Arg> arguments;
    for (ParamValue& value : one.values) {
      if (value.is_scalar) {
        arguments.push_back(scalar_of(value));
      } else {
        arguments.emplace_back(tensors.emplace_back(tensor_of(value)));
      }
    }
    kernel(std::span<const Arg>(arguments));
  };
}

}  // namespace tw::fuzz
