// kWidth elements of the product, at (row, column), to the output.
template <int kWidth>
__device__ __forceinline__ void finish(const float* sum, {{{kernel_parameters}}}, long long batch, long long row, long long column, long long row_count, long long column_count) {
  [[maybe_unused]] const long long at = (batch * row_count + row) * column_count + column;
  {{{epilogue_loads}}}
  {{{out_pack}}}
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    {{{epilogue}}}
  }
  store<kWidth>({{out}} + at, {{out}}_pack);
}
