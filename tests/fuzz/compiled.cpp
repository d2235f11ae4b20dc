#include "tests/fuzz/compiled.h"

#include <utility>
#include <vector>

#include "tilewright/base/convert.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"
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

/// Whether a program calls functions whose bits differ between processors with and without fma.
bool calls_library(const ir::Program& program) {
  bool found = false;
  for (const ir::Stmt& launch : program.launches) {
    ir::for_each_expr(launch, [&](const ir::Expr& e) {
      const auto* op = e.try_as<ir::Op>();
      found =
          found || (op != nullptr && op->code >= ir::OpCode::exp && op->code <= ir::OpCode::erfc);
    });
  }
  return found;
}

/// The options to compile with, which the program's name chooses: for every second program an older
/// processor, for every fifth asserts that each access is inside.
ir::Program with_options(const ir::Program& program) {
  const size_t choice = std::hash<std::string>()(program.name);
  const char* level = choice % 4 <= 1 && __builtin_cpu_supports("avx2") ? "avx2" : "host";
  if (choice % 4 == 0 && !calls_library(program)) level = "baseline";
  const bool asserts = choice / 4 % 5 == 0;
  return ir::with_option(ir::with_option(program, "cpu_level", level), "check_bounds",
                         asserts ? "on" : "off");
}

}  // namespace

Executor compiled(std::string target) {
  return [target = std::move(target)](const ir::Program& program, Case& one) {
    CompileOptions options;
    options.target = target;
    options.cache = false;
    const Kernel kernel = compile(with_options(program), options);
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
