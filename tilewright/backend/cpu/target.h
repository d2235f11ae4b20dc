// What the processor can do, as data. Nothing else in the backend asks the machine.
#pragma once

#include <string>
#include <vector>

namespace tw::cpu {

/// A processor to generate code for. Targets of one level differ only in the extras they have.
struct Target {
  std::string level;      // "baseline", "avx2", "avx512"
  int vector_bits;        // of the widest registers
  bool fma = false;       // fused multiply-add, and so SLEEF's finz forms
  bool f16c = false;      // conversions of f16
  bool avx512 = false;    // F, BW, DQ, VL: masks, and vectors of 64 bytes
  bool bf16_dot = false;  // vdpbf16ps
  bool int8_dot = false;  // vpdpbusd, vpdpwssd (VNNI) on vectors of 64 bytes

  int vector_bytes() const { return vector_bits / 8; }
  /// What LLVM calls the processor, and the features beyond that.
  std::string llvm_cpu() const;
  std::string llvm_features() const;
  /// The level with its extras, "avx512+bf16+vnni": two targets of one name run the same code.
  std::string name() const;
};

/// The target of a level, with extras or without: "avx2", "avx512+vnni"; "host" is the best that
/// this machine runs. An unknown one is an Error. Levels below the machine's are for tests, levels
/// above it can be compiled for only.
Target target_named(const std::string& name);

/// Whether this machine runs code for the target.
bool runs_here(const Target& target);

/// The levels this machine runs, lowest first.
std::vector<Target> targets_here();

}  // namespace tw::cpu
