// Two neighbours in shared memory by one store. Those of C++ may be taken apart, and then lanes meet in banks that a whole store keeps apart.
__device__ __forceinline__ void store_pair(float* to, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "f"(first), "f"(second) : "memory");
}
