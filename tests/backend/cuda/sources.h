// CUDA C++ as a backend would emit it, written by hand: for tests of compiler, driver and launcher.
#pragma once

namespace tw::cuda::test {

/// Entries of 256 threads whose parameters are the packed fields of metadata: X, Y, a, n.
inline constexpr const char* kSource = R"(
using u16 = unsigned short;
float up(u16 v) { return __uint_as_float(unsigned(v) << 16); }
u16 down(float v) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
// y = a * x + y in bf16, each operation in f32.
extern "C" __global__ void __launch_bounds__(256)
    axpy(const u16* x, u16* y, float a, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = down(a * up(x[i]) + up(y[i]));
}
extern "C" __global__ void __launch_bounds__(256)
    copy(const float* x, float* y, float, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void __launch_bounds__(256)
    stray(const float* x, float* y, float, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i + (1ll << 44)] = x[i];
}
// Turns its tile around through all the shared memory that it was given.
extern "C" __global__ void __launch_bounds__(256)
    turn(const float* x, float* y, float, long long n) {
  extern __shared__ float tile[];
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  tile[threadIdx.x + 50000] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = tile[255 - threadIdx.x + 50000];
}
// The rank in its cluster, read from the hardware.
extern "C" __global__ void __launch_bounds__(256)
    rank(const float* x, float* y, float, long long n) {
  unsigned r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = float(r);
}
// Begins early, waits for the launch ahead, and lets the next one begin.
extern "C" __global__ void __launch_bounds__(256)
    chained(const float* x, float* y, float, long long n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = x[i] + 1.0f;
  asm volatile("griddepcontrol.launch_dependents;");
}
)";

}  // namespace tw::cuda::test
