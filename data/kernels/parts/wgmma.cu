#define SUM_OPERAND "{{sum_operand}}"
{{> wgmma_sums}}
// sum += A * B by a warpgroup: 64 rows by {{tile_n}} columns by 16, both matrices in shared memory by descriptors; kAcross...: an operand whose rows run across the depth.
template <bool kAcrossLeft, bool kAcrossRight>
__device__ __forceinline__ void multiply({{{sum_type}}} (&d)[{{tile_n}} / 2], unsigned long long left, unsigned long long right, int adds) {
{{#tile_n_is_32}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32{{mma_shape}} {"
      NAMES_0
      "}, %16, %17, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %19, %20{{/mma_turns}};\n}\n"
      : SUMS_16(0)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_32}}
{{#tile_n_is_64}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64{{mma_shape}} {"
      NAMES_0 NAMES_16
      "}, %32, %33, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %35, %36{{/mma_turns}};\n}\n"
      : SUMS_16(0), SUMS_16(16)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_64}}
{{#tile_n_is_96}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96{{mma_shape}} {"
      NAMES_0 NAMES_16 NAMES_32
      "}, %48, %49, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %51, %52{{/mma_turns}};\n}\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_96}}
{{#tile_n_is_128}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128{{mma_shape}} {"
      NAMES_0 NAMES_16 NAMES_32 NAMES_48
      "}, %64, %65, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %67, %68{{/mma_turns}};\n}\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32), SUMS_16(48)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_128}}
{{#tile_n_is_160}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %82, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n160{{mma_shape}} {"
      NAMES_0 NAMES_16 NAMES_32 NAMES_48 NAMES_64
      "}, %80, %81, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %83, %84{{/mma_turns}};\n}\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32), SUMS_16(48), SUMS_16(64)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_160}}
{{#tile_n_is_192}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192{{mma_shape}} {"
      NAMES_0 NAMES_16 NAMES_32 NAMES_48 NAMES_64 NAMES_80
      "}, %96, %97, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %99, %100{{/mma_turns}};\n}\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32), SUMS_16(48), SUMS_16(64), SUMS_16(80)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_192}}
{{#tile_n_is_256}}
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256{{mma_shape}} {"
      NAMES_0 NAMES_16 NAMES_32 NAMES_48 NAMES_64 NAMES_80 NAMES_96 NAMES_112
      "}, %128, %129, adds{{#mma_scales}}, 1, 1{{/mma_scales}}{{#mma_turns}}, %131, %132{{/mma_turns}};\n}\n"
      : SUMS_16(0), SUMS_16(16), SUMS_16(32), SUMS_16(48), SUMS_16(64), SUMS_16(80), SUMS_16(96), SUMS_16(112)
      : "l"(left), "l"(right), "r"(adds), "n"(kAcrossLeft ? 1 : 0), "n"(kAcrossRight ? 1 : 0));
{{/tile_n_is_256}}
}
