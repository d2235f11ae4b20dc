#include "tilewright/backend/cpu/target.h"

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

// The levels are those of the x86-64 psABI: v1, v3, v4.
const Target kBaseline{.level = "baseline", .vector_bits = 128};
const Target kAvx2{.level = "avx2", .vector_bits = 256, .fma = true, .f16c = true};
const Target kAvx512{
    .level = "avx512", .vector_bits = 512, .fma = true, .f16c = true, .avx512 = true};

Target host() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma")) {
    Target target = kAvx512;
    target.bf16_dot = __builtin_cpu_supports("avx512bf16");
    target.int8_dot = __builtin_cpu_supports("avx512vnni");
    return target;
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                 __builtin_cpu_supports("bmi2")
             ? kAvx2
             : kBaseline;
}

}  // namespace

std::string Target::llvm_cpu() const {
  return avx512 ? "x86-64-v4" : level == "avx2" ? "x86-64-v3" : "x86-64";
}

std::string Target::llvm_features() const {
  std::string features;
  if (bf16_dot) features += ",+avx512bf16";
  if (int8_dot) features += ",+avx512vnni";
  return features.empty() ? features : features.substr(1);
}

std::string Target::name() const {
  return level + (bf16_dot ? "+bf16" : "") + (int8_dot ? "+vnni" : "");
}

Target target_named(const std::string& name) {
  if (name == "host") return host();
  const std::string level = name.substr(0, name.find('+'));
  for (const Target* known : {&kBaseline, &kAvx2, &kAvx512}) {
    if (known->level != level) continue;
    Target target = *known;
    target.bf16_dot = target.avx512 && name.find("+bf16") != name.npos;
    target.int8_dot = target.avx512 && name.find("+vnni") != name.npos;
    if (target.name() == name) return target;
  }
  throw Error(codes::opt_01, {}, "cpu: there is no level '{}'", name)
      .help("the levels are host, baseline, avx2 and avx512, the last also with +bf16, +vnni");
}

bool runs_here(const Target& target) {
  const Target best = host();
  return target.vector_bits <= best.vector_bits && target.bf16_dot <= best.bf16_dot &&
         target.int8_dot <= best.int8_dot;
}

std::vector<Target> targets_here() {
  std::vector<Target> targets;
  for (const Target& target : {kBaseline, kAvx2, kAvx512, host()}) {
    if (runs_here(target) && (targets.empty() || targets.back().name() != target.name())) {
      targets.push_back(target);
    }
  }
  return targets;
}

}  // namespace tw::cpu
