extern "C" void count_above(const int* x, long long* count, long long* sum, long long n, int limit) {
  *count = *sum = 0;
  for (long long i = 0; i < n; ++i)
    if (x[i] > limit) { ++*count; *sum += x[i]; }
}
