__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ unsigned narrowed(float low, float high) {
  unsigned pair;
  asm("cvt.rn.{{mma_type}}x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
// Two neighbours as kParts pairs of operands, each what the ones before left over.
__device__ __forceinline__ void split(float low, float high, unsigned (&parts)[kParts][4], int at) {
#pragma unroll
  for (int p = 0; p < kParts; ++p) {
    parts[p][at] = narrowed(low, high);
    In pair[2];
    memcpy(pair, &parts[p][at], sizeof pair);
    low -= static_cast<float>(pair[0]);
    high -= static_cast<float>(pair[1]);
  }
}
// Four neighbouring lanes hold a row.
__device__ __forceinline__ float over_row(float value, bool sum) {
#pragma unroll
  for (int offset = 1; offset < 4; offset *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = sum ? value + other : fmaxf(value, other);
  }
  return value;
}
