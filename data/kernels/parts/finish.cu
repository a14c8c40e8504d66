// kWidth elements of the product, at (row, column), as they go to the output.
template <int kWidth>
__device__ __forceinline__ Pack<{{{out_type}}}, kWidth> finished(const {{{sum_type}}}* sum, {{{kernel_parameters}}}, long long batch, long long row, long long column, long long row_count, long long column_count) {
  [[maybe_unused]] const long long at = (batch * row_count + row) * column_count + column;
  {{{epilogue_loads}}}
  {{{out_pack}}}
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    {{{epilogue}}}
  }
  return {{out}}_pack;
}
template <int kWidth>
__device__ __forceinline__ void finish(const {{{sum_type}}}* sum, {{{kernel_parameters}}}, long long batch, long long row, long long column, long long row_count, long long column_count) {
  store<kWidth>({{out}} + (batch * row_count + row) * column_count + column, finished<kWidth>(sum, {{{arguments}}}, batch, row, column, row_count, column_count));
}
