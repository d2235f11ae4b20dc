#include "tests/fuzz/compiled.h"

#include <utility>

#include "tilewright/base/convert.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"
#include "tilewright/jit/compile.h"

namespace tw::fuzz {
namespace {

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

Kernel compiled_for(const std::string& target, const ir::Program& program, bool keep_texts) {
  CompileOptions options;
  options.keep_texts = keep_texts;
  options.target = target;
  options.cache = false;
  return compile(with_options(program), options);
}

CallArguments::CallArguments(const Case& one, const std::vector<std::byte*>& memory,
                             Device device) {
  tensors_.reserve(one.values.size());  // the list refers to them
  for (size_t p = 0; p < one.values.size(); ++p) {
    const ParamValue& value = one.values[p];
    if (value.is_scalar) {
      list_.push_back(scalar_of(value));
    } else {
      list_.emplace_back(tensors_.emplace_back(memory[p] + value.origin, value.dtype,
                                               Shape(value.shape), Shape(value.strides), device));
    }
  }
}

Executor compiled(std::string target) {
  return [target = std::move(target)](const ir::Program& program, Case& one) {
    const Kernel kernel = compiled_for(target, program);
    one.link(one.memory());
    kernel(CallArguments(one, one.memory(), {}).list());
  };
}

}  // namespace tw::fuzz
