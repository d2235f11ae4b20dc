// A ring of bulk copies in thread IR: one thread starts them, a warp uses them. For the twin, its
// mutants and a device.
#pragma once

#include <string>

namespace tw::sim {

/// The body of a block of 64 threads t on input X: f32[256] and output Y: f32[256], which reverses
/// each 64 elements; 544 bytes of shared memory.
inline const std::string kRing = R"(alloc ring: f32[2, 64] shared with place=0
  alloc full: u64[2] shared with place=512
  alloc empty: u64[2] shared with place=528
  if t == 0 {
    for i in 0:2 {
      sync phase_init on full[i], 1
      sync phase_init on empty[i], 32
    }
    sync fence_phases
  }
  barrier
  if t == 32 {
    for i in 0:4 {
      sync phase_wait on empty[i % 2], (i // 2 + 1) % 2
      sync phase_arrive_expect on full[i % 2], 256
      async bulk X[i * 64 :+ 64] -> ring[i % 2, 0 :+ 64] on full[i % 2]
    }
  }
  if t < 32 {
    for i in 0:4 {
      sync phase_wait on full[i % 2], i // 2 % 2
      Y[i * 64 + t] = ring[i % 2, 63 - t]
      Y[i * 64 + t + 32] = ring[i % 2, 31 - t]
      sync phase_arrive on empty[i % 2]
    }
  })";

}  // namespace tw::sim
