// Part of the device prelude (../prelude.h): blocks that wait for each other. PTX ISA 9.0, 9.7.13.3
// (barrier.cluster) and 9.7.9.23 (mapa).

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

//# of_peer
// The element that lies in the same place in another block of the cluster.
__device__ __forceinline__ void* of_peer(void* element, u32 rank) {
  u64 there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(element), "r"(rank));
  return reinterpret_cast<void*>(there);
}
//# cluster_arrive
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" : : : "memory");
}
//# cluster_arrive_relaxed
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" : : : "memory");
}
//# cluster_wait
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}
//# phase_arrive_peer
// At a barrier of another block, as of_peer gives it.
__device__ __forceinline__ void phase_arrive_peer(u64* barrier) {
  u64 address;
  asm("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(address) : "l"(barrier));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
               :
               : "r"(static_cast<u32>(address))
               : "memory");
}
//# phase_try_wait_cluster
// As phase_try_wait, and sees what other blocks did before they arrived.
__device__ __forceinline__ bool phase_try_wait_cluster(u64* barrier, u32 parity) {
  u32 over;
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
      "selp.u32 %0, 1, 0, over;\n"
      "}"
      : "=r"(over)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return over != 0;
}
//# phase_wait_cluster
__device__ __forceinline__ void phase_wait_cluster(u64* barrier, u32 parity) {
  while (!phase_try_wait_cluster(barrier, parity)) {
  }
}
