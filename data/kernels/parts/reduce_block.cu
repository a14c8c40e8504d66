template <class T>
__device__ __forceinline__ T exchanged(T own, int offset) {
  return __shfl_xor_sync(0xffffffffu, own, offset);
}

// Over the threads of the block; all of them get the result. Each call of a block has a `scratch` of its own.
template <class T, class Op>
__device__ __forceinline__ T reduce_block(T value, Op op, T* scratch) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, exchanged(value, offset));
  constexpr int kWarps = kThreads / 32;
  if constexpr (kWarps > 1) {
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[threadIdx.x % kWarps];
#pragma unroll
    for (int offset = kWarps / 2; offset > 0; offset /= 2) value = op(value, exchanged(value, offset));
  }
  return value;
}
