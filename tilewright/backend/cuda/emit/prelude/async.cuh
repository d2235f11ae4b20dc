// Part of the device prelude (../prelude.h): asynchronous copies, barriers with phases, fences. PTX
// ISA 9.0, 9.7.9.25 (copies), 9.7.13.15 (mbarrier), 9.7.13.4 (membar and fence).

//# tensor_map
typedef struct __align__(64) { unsigned long long words[16]; } tensor_map;
//# shared_address
// Of an element of shared memory, as instructions take it.
__device__ __forceinline__ u32 shared_address(const void* element) {
  return static_cast<u32>(__cvta_generic_to_shared(element));
}

//# copy_async
// 4, 8 or 16 bytes by an engine; zeros where not valid.
template <int kBytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool valid = true) {
  const u32 bytes = valid ? kBytes : 0;
  if (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(shared_address(to)), "l"(from), "n"(kBytes), "r"(bytes)
                 : "memory");
  }
}
//# commit_copies
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
//# wait_copies
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
}

//# bulk_load
__device__ __forceinline__ void bulk_load(void* to, const void* from, u32 bytes, u64* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
__device__ __forceinline__ void bulk_load(void* to, const void* from, u32 bytes, u64* barrier,
                                          u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;"
      :
      : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}
//# bulk_store
__device__ __forceinline__ void bulk_store(void* to, const void* from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(to), "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void bulk_store(void* to, const void* from, u32 bytes, u64 policy) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;"
               :
               : "l"(to), "r"(shared_address(from)), "r"(bytes), "l"(policy)
               : "memory");
}
//# commit_bulk
__device__ __forceinline__ void commit_bulk() {
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}
//# wait_bulk
template <int kPending>
__device__ __forceinline__ void wait_bulk() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(kPending) : "memory");
}
//# wait_bulk_read
// Until their sources are read.
template <int kPending>
__device__ __forceinline__ void wait_bulk_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(kPending) : "memory");
}

//# phase_init
__device__ __forceinline__ void phase_init(u64* barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}
//# phase_arrive
__device__ __forceinline__ void phase_arrive(u64* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
               :
               : "r"(shared_address(barrier))
               : "memory");
}
//# phase_expect
__device__ __forceinline__ void phase_expect(u64* barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
//# phase_arrive_expect
__device__ __forceinline__ void phase_arrive_expect(u64* barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
//# phase_arrive_copies
// Arrives when this thread's copies are done.
__device__ __forceinline__ void phase_arrive_copies(u64* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
               :
               : "r"(shared_address(barrier))
               : "memory");
}
//# phase_try_wait
__device__ __forceinline__ bool phase_try_wait(u64* barrier, u32 parity) {
  u32 over;
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
      "selp.u32 %0, 1, 0, over;\n"
      "}"
      : "=r"(over)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return over != 0;
}
//# phase_wait
__device__ __forceinline__ void phase_wait(u64* barrier, u32 parity) {
  while (!phase_try_wait(barrier, parity)) {
  }
}
//# fence_phases
// What was initialized can be used by engines.
__device__ __forceinline__ void fence_phases() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
//# fence_engines
// What threads wrote can be used by engines.
__device__ __forceinline__ void fence_engines() {
  asm volatile("fence.proxy.async;" : : : "memory");
}
//# wait_previous
__device__ __forceinline__ void wait_previous() {
  asm volatile("griddepcontrol.wait;" : : : "memory");
}
//# trigger_next
__device__ __forceinline__ void trigger_next() {
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}
//# registers_increase
// All warps of a warp-group; waits until others of the block have given up so many.
template <int count>
__device__ __forceinline__ void registers_increase() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(count));
}
//# registers_decrease
template <int count>
__device__ __forceinline__ void registers_decrease() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(count));
}
