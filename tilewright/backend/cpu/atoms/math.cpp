#include "tilewright/backend/cpu/atoms/math.h"

#include <algorithm>
#include <array>
#include <set>

#include <dlfcn.h>

#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

using ir::OpCode;

/// SLEEF's name of a function and the accuracy it is used with (u10: 1.0 ulp).
struct Row {
  OpCode code;
  const char* name;
  const char* accuracy;
  const char* fast = nullptr;  // a less exact, faster form
};
constexpr Row kRows[] = {
    {OpCode::exp, "exp", "u10"},
    {OpCode::exp2, "exp2", "u10", "u35"},
    {OpCode::exp10, "exp10", "u10", "u35"},
    {OpCode::expm1, "expm1", "u10"},
    {OpCode::log, "log", "u10", "u35"},
    {OpCode::log2, "log2", "u10", "u35"},
    {OpCode::log10, "log10", "u10"},
    {OpCode::log1p, "log1p", "u10"},
    {OpCode::pow, "pow", "u10"},
    {OpCode::cbrt, "cbrt", "u10", "u35"},
    {OpCode::hypot, "hypot", "u05", "u35"},
    {OpCode::sin, "sin", "u10", "u35"},
    {OpCode::cos, "cos", "u10", "u35"},
    {OpCode::tan, "tan", "u10", "u35"},
    {OpCode::asin, "asin", "u10", "u35"},
    {OpCode::acos, "acos", "u10", "u35"},
    {OpCode::atan, "atan", "u10", "u35"},
    {OpCode::atan2, "atan2", "u10", "u35"},
    {OpCode::sinh, "sinh", "u10", "u35"},
    {OpCode::cosh, "cosh", "u10", "u35"},
    {OpCode::tanh, "tanh", "u10", "u35"},
    {OpCode::asinh, "asinh", "u10"},
    {OpCode::acosh, "acosh", "u10"},
    {OpCode::atanh, "atanh", "u10"},
    {OpCode::erf, "erf", "u10"},
    {OpCode::erfc, "erfc", "u15"},
};

/// The forms of a target: lanes of f32 (f64 has half of them) and the end of the name.
struct Form {
  int f32_lanes;
  const char* suffix;
};

std::span<const Form> forms_of(const Target& target) {
  static constexpr Form kAvx512[] = {{16, "avx512f"}, {8, "avx2"}, {4, "avx2128"}, {1, "purecfma"}};
  static constexpr Form kBaseline[] = {{4, "sse2"}, {1, "purec"}};
  if (target.avx512) return kAvx512;
  if (target.fma) return std::span(kAvx512).subspan(1);
  return kBaseline;
}

}  // namespace

std::optional<Val> call_math(const Target& target, OpCode code, ir::Exactness exactness,
                             std::span<const Val> args) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.code == code; });
  if (row == std::end(kRows)) return std::nullopt;
  const bool fast = exactness == ir::Exactness::fast && row->fast != nullptr;
  const Elem elem = args[0].elem();
  const int lanes = args[0].lanes();

  // The narrowest form that holds all lanes, or else the widest, several times.
  const std::span<const Form> forms = forms_of(target);
  const Form* form = &forms[0];
  const auto width_of = [&](const Form& f) {
    return f.f32_lanes == 1 || elem == kF32 ? f.f32_lanes : f.f32_lanes / 2;
  };
  for (const Form& f : forms) {
    if (width_of(f) >= lanes) form = &f;
  }
  const int width = width_of(*form);
  const std::string name =
      format("Sleef_{}_{}{}{}_{}{}", target.fma ? "finz" : "cinz", row->name,
             elem == kF64 ? "d" : "f", width, fast ? row->fast : row->accuracy, form->suffix);
  return in_pieces(width, args, [&](std::span<const Val> part) {
    return args[0].builder().call(name, elem, width, part, /*pure=*/true);
  });
}

void* external_function(const std::string& name) {
  static void* const sleef = dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL);
  // What LLVM makes of intrinsics where the processor has no instruction.
  static const std::set<std::string> kFromC = {
      "memcpy", "memmove", "memset", "fma",   "fmaf",  "fmod",   "fmodf",
      "fmin",   "fminf",   "fmax",   "fmaxf", "floor", "floorf", "ceil",
      "ceilf",  "trunc",   "truncf", "rint",  "rintf", "round",  "roundf"};
  if (name.starts_with("Sleef_")) return sleef == nullptr ? nullptr : dlsym(sleef, name.c_str());
  return kFromC.count(name) != 0 ? dlsym(RTLD_DEFAULT, name.c_str()) : nullptr;
}

}  // namespace tw::cpu
