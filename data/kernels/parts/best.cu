// A value and the first position that has it. Aligned so that both go through shared memory in one access, without conflicts.
template <class V>
struct alignas(sizeof(V) <= 4 ? 8 : 16) Best {
  V value;
  int index;
};

template <class V>
__device__ __forceinline__ Best<V> better_max(Best<V> a, Best<V> b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
template <class V>
__device__ __forceinline__ Best<V> better_min(Best<V> a, Best<V> b) {
  return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
template <class V>
__device__ __forceinline__ Best<V> exchanged(Best<V> own, int offset, unsigned lanes = 0xffffffffu) {
  return {__shfl_xor_sync(lanes, own.value, offset), __shfl_xor_sync(lanes, own.index, offset)};
}
