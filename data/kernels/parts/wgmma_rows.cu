#define SUM_OPERAND "+f"
{{> wgmma_sums}}
// sum += A * B by a warpgroup: 64 rows by 64 or 128 columns by 16. B lies in shared memory, A there, too (both with rows along the depth), or in registers (and the rows
// of B run across it).
[[maybe_unused]] __device__ __forceinline__ void multiply_shared(float (&d)[32], unsigned long long left, unsigned long long right, int adds) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.{{mma_type}}.{{mma_type}} {"
      NAMES_0 NAMES_16
      "}, %32, %33, adds, 1, 1, 0, 0;\n}\n"
      : SUMS_16(0), SUMS_16(16)
      : "l"(left), "l"(right), "r"(adds));
}
[[maybe_unused]] __device__ __forceinline__ void multiply_across(float (&d)[32], const unsigned (&left)[4], unsigned long long right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.{{mma_type}}.{{mma_type}} {"
      NAMES_0 NAMES_16
      "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
      : SUMS_16(0), SUMS_16(16)
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
[[maybe_unused]] __device__ __forceinline__ void multiply_shared(float (&d)[64], unsigned long long left, unsigned long long right, int adds) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.{{mma_type}}.{{mma_type}} {"
      NAMES_0 NAMES_16 NAMES_32 NAMES_48
      "}, %64, %65, adds, 1, 1, 0, 0;\n}\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32), SUMS_16(48)
      : "l"(left), "l"(right), "r"(adds));
}
[[maybe_unused]] __device__ __forceinline__ void multiply_across(float (&d)[64], const unsigned (&left)[4], unsigned long long right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.{{mma_type}}.{{mma_type}} {"
      NAMES_0 NAMES_16 NAMES_32 NAMES_48
      "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32), SUMS_16(48)
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
