// pattern: scatter
// tensor: updates f32 in n,width
// tensor: where i32 in n
// tensor: sums f32 inout nodes,width
// sizes: n=1000000 width=32 nodes=50000
extern "C" void scatter_add_rows(const float* updates, const int* where, float* sums, int n, int width, int nodes) {
  (void)nodes;
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < width; ++c) sums[(long long)where[i] * width + c] += updates[(long long)i * width + c];
}
