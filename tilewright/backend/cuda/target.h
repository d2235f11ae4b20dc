// NVIDIA chips as data: what code for each may use, and the words for them in a target's name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tw::cuda {

/// A chip to generate code for. The `a` in a name says that the code uses what only this compute
/// capability has, and runs on no other.
struct Target {
  const char* name;                   // "sm_90a"
  int major, minor;                   // compute capability
  int64_t shared_per_block = 232448;  // bytes that one block may ask for (227 KiB)
  int64_t shared_per_sm = 233472;     // bytes that the blocks of a multiprocessor share (228 KiB)
  int64_t reserved_shared = 1024;     // bytes of these that the system takes for each block
  int64_t registers_per_sm = 65536;   // of 32 bits
  int64_t registers_per_thread = 255;
  int64_t threads_per_block = 1024;
  int64_t threads_per_sm = 2048;
  int64_t warp = 32;
  int64_t cluster = 8;  // blocks in a cluster that every chip of this kind can place
  std::array<int64_t, 3> grid = {2147483647, 65535, 65535};  // largest extents

  /// "cuda:sm_90a".
  std::string full_name() const { return std::string("cuda:") + name; }
};

/// Every target, oldest first.
const std::vector<Target>& all_targets();

/// The target of a full name; an unknown one is an Error that lists the known ones.
const Target& target_named(const std::string& full_name);

/// The target whose code runs on a compute capability; null when there is none.
const Target* target_for(int major, int minor);

/// A full name for "cuda", which is the chip of device 0, or for "cuda:sm_90a", which needs no
/// device. Without a device that tilewright knows "cuda" is an Error (E-TGT-04).
std::string resolve_target(const std::string& name);

/// The full names of the targets whose code runs on a device of this machine.
std::vector<std::string> targets_here();

}  // namespace tw::cuda
