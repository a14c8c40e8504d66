// pattern: sort
// tensor: data f32 inout rows,n
// sizes: rows=10000 n=64
extern "C" void insertion_sort(float* data, int rows, int n) {
  for (int r = 0; r < rows; ++r) {
    float* a = data + (long long)r * n;
    for (int i = 1; i < n; ++i) {
      const float key = a[i];
      int j = i - 1;
      while (j >= 0 && a[j] > key) {
        a[j + 1] = a[j];
        --j;
      }
      a[j + 1] = key;
    }
  }
}
