// pattern: scan
// tensor: counts i32 in n
// tensor: offsets i32 out n
// sizes: n=16777216
extern "C" void exclusive_scan(const int* counts, int* offsets, int n) {
  int running = 0;
  for (int i = 0; i < n; ++i) {
    offsets[i] = running;
    running += counts[i];
  }
}
