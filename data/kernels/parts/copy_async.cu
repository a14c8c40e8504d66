// One element of at most 16 bytes on its way into shared memory past the registers, and the groups in which such copies are waited for.
template <class T>
constexpr bool kCopiesAsync = sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;

template <class T>
__device__ __forceinline__ void copy_async(T* to, const void* from) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (sizeof(T) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(static_cast<int>(sizeof(T))) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most kYoungest of this thread's groups are under way.
template <int kYoungest>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kYoungest) : "memory");
}
