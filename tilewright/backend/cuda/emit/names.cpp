#include "tilewright/backend/cuda/emit/names.h"

#include <algorithm>

#include "tilewright/backend/cuda/emit/emit.h"
#include "tilewright/backend/cuda/emit/prelude.h"
#include "tilewright/base/format.h"

namespace tw::cuda {
namespace {

/// Words of C++ (20, so that any standard can be asked for), and what CUDA declares.
constexpr std::string_view kReserved =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t"
    " char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr"
    " constinit continue decltype default delete do double dynamic_cast else enum explicit export"
    " extern false float for friend goto if inline int long mutable namespace new noexcept not"
    " not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires"
    " return short signed sizeof static static_assert static_cast struct switch template this"
    " thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile"
    " wchar_t while xor xor_eq final override import module"
    " threadIdx blockIdx blockDim gridDim warpSize shared printf assert clock clock64 std cuda"
    " min max abs labs llabs fabs fabsf fmin fminf fmax fmaxf fma fmaf fmod fmodf floor floorf ceil"
    " ceilf trunc truncf round roundf rint rintf exp expf exp2 exp2f exp10 exp10f expm1 expm1f log"
    " logf log2 log2f log10 log10f log1p log1pf pow powf sqrt sqrtf rsqrt rsqrtf cbrt cbrtf hypot"
    " hypotf sin sinf cos cosf tan tanf asin asinf acos acosf atan atanf atan2 atan2f sinh sinhf"
    " cosh coshf tanh tanhf asinh asinhf acosh acoshf atanh atanhf erf erff erfc erfcf copysign"
    " copysignf isnan isinf isfinite signbit atomicAdd atomicAnd atomicOr uint uint2 uint4 float2"
    " float4 double2 size_t NULL NAN INFINITY ";

std::set<std::string_view> words_of(std::string_view text) {
  std::set<std::string_view> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!word.empty()) words.insert(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

bool is_reserved(const std::string& name) {
  static const std::set<std::string_view> reserved = words_of(kReserved);
  return reserved.contains(name) || name.starts_with("__") || is_prelude_name(name);
}

}  // namespace

std::string legal_name(std::string_view name) {
  std::string legal;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (digit && legal.empty()) legal += '_';
    legal += letter || digit ? c : '_';
  }
  return legal.empty() ? "_" : legal;
}

std::string Names::make(std::string_view wanted) {
  const std::string legal = wanted.empty() ? "v" : legal_name(wanted);
  int& next = next_[legal];
  if (next == 0) {
    next = 1;
    if (!is_reserved(legal) && taken_.insert(legal).second) return legal;
  }
  for (;; ++next) {
    std::string numbered = format("{}_{}", legal, next);
    if (!is_reserved(numbered) && taken_.insert(numbered).second) return numbered;
  }
}

}  // namespace tw::cuda
