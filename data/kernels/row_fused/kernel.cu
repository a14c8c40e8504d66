// A row is read once into registers and reduced by shuffles; what depends on the whole row is then computed from the registers. With
// stages, blocks stay and the rows that they will need next are on their way into shared memory meanwhile: each thread copies and reads its
// own elements there, so that nothing is waited for but the copies. Rows that do not fit into the registers are read again for each pass,
// and rows that are no multiple of the vector go by single elements.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
constexpr int kThreads = {{threads}};
constexpr int kGroup = {{group}};   // threads that share a row: whole warps, or part of one
constexpr int kRows = kThreads / kGroup;   // of a block
constexpr int kVector = {{vector}};
constexpr int kPacks = {{packs}};
constexpr int kStages = {{stages}};   // rows on their way, the present one included; 0: a block has its rows and ends
constexpr int kStream = {{stream}};

{{> pack}}

{{> copy_async}}

{{#has_arg}}
{{> best}}

{{/has_arg}}
template <class T>
__device__ __forceinline__ T exchanged(T own, int offset, unsigned lanes) {
  return __shfl_xor_sync(lanes, own, offset);
}

// Over the threads of a row; all of them get the result. `lanes`: those of the warp that have a row. Each call of a block has a `scratch` of its own, a part of it for each row.
template <class T, class Op>
__device__ __forceinline__ T reduce_group(T value, Op op, unsigned lanes, T* scratch) {
#pragma unroll
  for (int offset = (kGroup < 32 ? kGroup : 32) / 2; offset > 0; offset /= 2) value = op(value, exchanged(value, offset, lanes));
  if constexpr (kGroup > 32) {
    constexpr int kWarps = kGroup / 32;
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[threadIdx.x / kGroup * kWarps + threadIdx.x % kWarps];
#pragma unroll
    for (int offset = kWarps / 2; offset > 0; offset /= 2) value = op(value, exchanged(value, offset, lanes));
  }
  return value;
}

template <int kWidth>
struct Inputs {
{{#element_inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/element_inputs}}
};

constexpr int kStageBytes = kThreads * kPacks * static_cast<int>(0{{#element_inputs}} + sizeof(Pack<{{{type}}}, kVector>){{/element_inputs}});
constexpr bool kStaged = kStages > 1{{#element_inputs}} && kCopiesAsync<Pack<{{{type}}}, kVector>>{{/element_inputs}};
// Blocks that stay: as many as a multiprocessor's shared memory and 64 registers a thread allow.
constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int kBlocksPerSm = kStaged ? least(16, least({{sheet_registers_per_sm}} / (64 * kThreads), {{sheet_shared_bytes_per_sm}} / (kStages * kStageBytes + 1536))) : 1;

// kDepth: kStages of a kernel whose blocks stay, 0 for one that computes a row.
template <int kWidth, int kCount, bool kResident, int kDepth>
__global__ void __launch_bounds__(kThreads, kDepth > 0 ? (kBlocksPerSm > 0 ? kBlocksPerSm : 1) : 1) row_kernel({{{kernel_parameters}}}, long long row_count, long long column_count) {
  constexpr int kTurns = kDepth > 0 ? 2 : 1;   // of scratch: a warp may be one row ahead
{{#passes}}
{{#reductions}}
  [[maybe_unused]] __shared__ {{{type}}} {{name}}_scratch[kTurns][kThreads / 32];
{{/reductions}}
{{/passes}}
  const int lane = threadIdx.x % kGroup;
  long long row = static_cast<long long>(blockIdx.x) * kRows + threadIdx.x / kGroup;
  [[maybe_unused]] const unsigned lanes = kGroup < 32 ? __ballot_sync(0xffffffffu, row < row_count) : 0xffffffffu;

  const auto process = [&]([[maybe_unused]] Inputs<kWidth> (&kept)[kCount], long long row, [[maybe_unused]] int turn) {
    const long long base = row * column_count;
    const auto each = [&](auto&& visit) {
      if constexpr (kResident) {
#pragma unroll
        for (int p = 0; p < kCount; ++p) {
          const int column = (p * kGroup + lane) * kWidth;
          if (column < column_count) visit(kept[p], static_cast<long long>(column));
        }
      } else {
#pragma unroll 4
        for (long long column = static_cast<long long>(lane) * kWidth; column < column_count; column += kGroup * kWidth) {
          Inputs<kWidth> in;
{{#element_inputs}}
          in.{{name}} = load<kWidth>({{name}} + base + column);
{{/element_inputs}}
          visit(in, column);
        }
      }
    };
    {{{uniform_loads}}}

{{#passes}}
{{#reductions}}
    {{{type}}} {{name}} = {{{identity}}};
{{/reductions}}
    {
      {{{uniform}}}
      each([&](const Inputs<kWidth>& in, [[maybe_unused]] long long column) {
        {{{column_packs}}}
#pragma unroll
        for (int e = 0; e < kWidth; ++e) {
          {{{inside}}}
        }
      });
    }
{{#reductions}}
    {{name}} = reduce_group({{name}}, []({{{type}}} a, {{{type}}} b) -> {{{type}}} { return {{{combined}}}; }, lanes, {{name}}_scratch[turn]);
{{/reductions}}

{{/passes}}
{{#has_rows}}
    if (lane == 0) {
      {{{row_lines}}}
    }
{{/has_rows}}
{{#has_elements}}
    {{{output_uniform}}}
    each([&](const Inputs<kWidth>& in, [[maybe_unused]] long long column) {
        {{{output_column_packs}}}
        {{{output_packs}}}
#pragma unroll
        for (int e = 0; e < kWidth; ++e) {
          {{{output_inside}}}
        }
        {{{output_writes}}}
    });
{{/has_elements}}
  };

  [[maybe_unused]] Inputs<kWidth> kept[kCount];
  if constexpr (kDepth == 0) {
    if (row >= row_count) return;
    if constexpr (kResident) {
#pragma unroll
      for (int p = 0; p < kCount; ++p) {
        const int column = (p * kGroup + lane) * kWidth;
        if (column >= column_count) continue;
{{#element_inputs}}
        kept[p].{{name}} = load_once<kWidth>({{name}} + row * column_count + column);
{{/element_inputs}}
      }
    }
    process(kept, row, 0);
  } else {
    extern __shared__ uint4 ring[];
    [[maybe_unused]] char* place = reinterpret_cast<char*>(ring);
{{#element_inputs}}
    auto* const {{name}}_ring = reinterpret_cast<Pack<{{{type}}}, kWidth>*>(place) + threadIdx.x;
    place += sizeof(Pack<{{{type}}}, kWidth>) * kDepth * kCount * kThreads;
{{/element_inputs}}
    const long long stride = static_cast<long long>(gridDim.x) * kRows;
    const auto request = [&](long long wanted, int stage) {
      if (wanted < row_count) {
#pragma unroll
        for (int p = 0; p < kCount; ++p) {
          const int column = (p * kGroup + lane) * kWidth;
          if (column >= column_count) continue;
{{#element_inputs}}
          copy_async({{name}}_ring + (stage * kCount + p) * kThreads, {{name}} + wanted * column_count + column);
{{/element_inputs}}
        }
      }
      commit_copies();
    };
#pragma unroll
    for (int s = 0; s < kDepth - 1; ++s) request(row + s * stride, s);
    int stage = 0, turn = 0;
    for (; row < row_count; row += stride) {
      request(row + (kDepth - 1) * stride, stage == 0 ? kDepth - 1 : stage - 1);
      wait_copies<kDepth - 1>();
#pragma unroll
      for (int p = 0; p < kCount; ++p) {
        if ((p * kGroup + lane) * kWidth >= column_count) continue;
{{#element_inputs}}
        kept[p].{{name}} = {{name}}_ring[(stage * kCount + p) * kThreads];
{{/element_inputs}}
      }
      process(kept, row, turn);
      stage = stage == kDepth - 1 ? 0 : stage + 1;
      turn ^= 1;
    }
    wait_copies<0>();
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long row_count = {{{rows}}}, column_count = {{{columns}}};
  if (row_count == 0) return cudaSuccess;
  const unsigned blocks = static_cast<unsigned>((row_count + kRows - 1) / kRows);
  const bool vectors = column_count % kVector == 0{{#vector_pointers}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/vector_pointers}};
  constexpr long long kCapacity = static_cast<long long>(kGroup) * kVector * kPacks;
  if constexpr (kStaged && kBlocksPerSm > 0) {
    constexpr unsigned kResidentBlocks = {{sheet_multiprocessors}} * kBlocksPerSm;
    if (vectors && column_count <= kCapacity && blocks > kResidentBlocks) {
      const auto kernel = row_kernel<kVector, kPacks, true, kStages>;
      const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kStages * kStageBytes);
      if (error != cudaSuccess) return error;
      kernel<<<kResidentBlocks, kThreads, kStages * kStageBytes, stream>>>({{{arguments}}}, row_count, column_count);
      return cudaGetLastError();
    }
  }
  if (vectors && column_count <= kCapacity) row_kernel<kVector, kPacks, true, 0><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  else if (vectors) row_kernel<kVector, 1, false, 0><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  else if (column_count <= kCapacity) row_kernel<1, kPacks * kVector, true, 0><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  else row_kernel<1, 1, false, 0><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  return cudaGetLastError();
}
