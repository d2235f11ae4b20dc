// Part of the device prelude (../prelude.h): accesses that C++ has no words for.

//# load_e2m1
// Element i of a packed row.
__device__ __forceinline__ e2m1 load_e2m1(const e2m1x2* row, i64 i) {
  return row[i >> 1] >> ((i & 1) * 4) & 15;
}
//# store_e2m1
// Of memory that no other thread writes.
__device__ __forceinline__ void store_e2m1(e2m1x2* row, i64 i, e2m1 x) {
  const int shift = (i & 1) * 4;
  row[i >> 1] = static_cast<e2m1x2>((row[i >> 1] & ~(15 << shift)) | x << shift);
}
//# store_e2m1_shared
// Of memory in whose other half of the byte another thread may write: atomic on the word around it.
__device__ __forceinline__ void store_e2m1_shared(e2m1x2* row, i64 i, e2m1 x) {
  const u64 byte = reinterpret_cast<u64>(row + (i >> 1));
  u32* const word = reinterpret_cast<u32*>(byte & ~3ull);
  const u32 shift = static_cast<u32>(byte & 3u) * 8 + static_cast<u32>(i & 1) * 4;
  atomicAnd(word, ~(15u << shift));
  atomicOr(word, static_cast<u32>(x) << shift);
}

//# evict_first
// What stays in L2 less long than other lines.
__device__ __forceinline__ u64 evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
//# evict_last
// What stays in L2 longer than other lines.
__device__ __forceinline__ u64 evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
//# load_hinted
__device__ __forceinline__ void load_hinted(u32* to, const void* from, u64 policy) {
  asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;"
               : "=r"(*to)
               : "l"(from), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void load_hinted(uint2* to, const void* from, u64 policy) {
  asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
               : "=r"(to->x), "=r"(to->y)
               : "l"(from), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void load_hinted(uint4* to, const void* from, u64 policy) {
  asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(to->x), "=r"(to->y), "=r"(to->z), "=r"(to->w)
               : "l"(from), "l"(policy)
               : "memory");
}
//# load_const_hinted
// From memory that nobody writes while the kernel runs.
__device__ __forceinline__ void load_const_hinted(u32* to, const void* from, u64 policy) {
  asm("ld.global.nc.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(*to) : "l"(from), "l"(policy));
}
__device__ __forceinline__ void load_const_hinted(uint2* to, const void* from, u64 policy) {
  asm("ld.global.nc.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
      : "=r"(to->x), "=r"(to->y)
      : "l"(from), "l"(policy));
}
__device__ __forceinline__ void load_const_hinted(uint4* to, const void* from, u64 policy) {
  asm("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(to->x), "=r"(to->y), "=r"(to->z), "=r"(to->w)
      : "l"(from), "l"(policy));
}
//# store_hinted
__device__ __forceinline__ void store_hinted(void* to, u32 x, u64 policy) {
  asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;"
               :
               : "l"(to), "r"(x), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void store_hinted(void* to, uint2 x, u64 policy) {
  asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;"
               :
               : "l"(to), "r"(x.x), "r"(x.y), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void store_hinted(void* to, uint4 x, u64 policy) {
  asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "l"(policy)
               : "memory");
}
//# prefetch
// Brings a line into L2; the address need not exist.
__device__ __forceinline__ void prefetch(const void* line) {
  asm volatile("prefetch.global.L2 [%0];" : : "l"(line));
}
//# wait_for_launch_ahead
// Lets the launch behind begin, whose blocks wait here in their turn, and waits until all that the
// launch ahead wrote can be read.
__device__ __forceinline__ void wait_for_launch_ahead() {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" : : : "memory");
}
//# named_barrier
template <int kId, int kThreads>
__device__ __forceinline__ void named_barrier() {
  asm volatile("bar.sync %0, %1;" : : "n"(kId), "n"(kThreads) : "memory");
}
//# named_barrier_arrive
template <int kId, int kThreads>
__device__ __forceinline__ void named_barrier_arrive() {
  asm volatile("bar.arrive %0, %1;" : : "n"(kId), "n"(kThreads) : "memory");
}
//# forget
// What was computed from the word counts as unknown: it is computed again, not kept in registers.
__device__ __forceinline__ void forget(u32& word) { asm volatile("" : "+r"(word)); }
