// Part of the device prelude (../prelude.h): blocks that wait for each other.

//# grid_word
// A word that the driver gives to each cooperative launch: 4 bytes behind the address in %envreg1
// (high) and %envreg2, as code of any CUDA release finds it (cooperative_groups/details/
// driver_abi.h of CUDA 13.0).
__device__ __forceinline__ u32* grid_word() {
  u32 high, low;
  asm("mov.u32 %0, %%envreg1;" : "=r"(high));
  asm("mov.u32 %0, %%envreg2;" : "=r"(low));
  return reinterpret_cast<u32*>((static_cast<u64>(high) << 32 | low) + 4);
}
//# grid_barrier
// The blocks of the grid add 2^31 together, the first what the others leave: the highest bit turns
// over when all have come, and each time finds the rest as it was.
__device__ __forceinline__ void grid_barrier() {
  __syncthreads();
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    const bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
    const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    u32* const word = grid_word();
    u32 before, now;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(word), "r"(first ? 0x80000000u - (blocks - 1) : 1u)
                 : "memory");
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
    } while (((before ^ now) >> 31) == 0);
  }
  __syncthreads();
}
