extern "C" void gather_rows(const float* table, const int* rows, float* y, int entries, int cols, int count) {
  for (int i = 0; i < count; ++i)
    for (int c = 0; c < cols; ++c) y[(long long)i * cols + c] = table[(long long)rows[i] * cols + c];
}
