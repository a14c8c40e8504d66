// In shared memory: kRows rows of kChunks chunks of eight elements.
template <int kRows_, int kLength>
struct Tile {
  static constexpr int kRows = kRows_, kChunks = kLength / 8, kBytes = kRows * kLength * 2;
  // Of a chunk, in bytes.
  static __device__ __forceinline__ int place(int row, int chunk) {
    constexpr int kTurn = kChunks >= 8 ? 1 : 8 / kChunks;   // rows that fill the banks once
    return (row * kChunks + (chunk ^ (row / kTurn % (kChunks < 8 ? kChunks : 8)))) * 16;
  }
};

// The rows and columns [first_row, first_row + kRows) x [first_column, ...) of a matrix of rows x columns; what lies outside is 0.
template <class Shape, bool kVectors>
__device__ __forceinline__ void fetch(unsigned char* to, const In* __restrict__ from, long long first_row, long long first_column, long long rows, long long columns) {
  constexpr int kCount = Shape::kRows * Shape::kChunks;
#pragma unroll
  for (int i = 0; i < (kCount + kThreads - 1) / kThreads; ++i) {
    const int unit = i * kThreads + threadIdx.x;
    if (kCount % kThreads != 0 && unit >= kCount) break;
    const int row = unit / Shape::kChunks, chunk = unit % Shape::kChunks;
    const long long at_row = first_row + row, at_column = first_column + chunk * 8;
    unsigned char* const place = to + Shape::place(row, chunk);
    const bool inside = at_row < rows && at_column < columns;
    if constexpr (kVectors) {
      const In* const source = inside ? from + at_row * columns + at_column : from;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(place))), "l"(source), "r"(inside ? 16 : 0) : "memory");
    } else {
      Pack<In, 8> eight = {};
      if (inside) {
#pragma unroll
        for (int e = 0; e < 8; ++e)
          if (at_column + e < columns) eight.at[e] = from[at_row * columns + at_column + e];
      }
      memcpy(__builtin_assume_aligned(place, 16), &eight, 16);
    }
  }
}

template <bool kTurned>
[[maybe_unused]] __device__ __forceinline__ void load_matrices(unsigned (&out)[4], const unsigned char* from) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(from));
  if constexpr (kTurned) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(place) : "memory");
  else asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(place) : "memory");
}
[[maybe_unused]] __device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&left)[4], unsigned right0, unsigned right1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.{{mma_type}}.{{mma_type}}.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}
