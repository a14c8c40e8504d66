extern "C" void transpose(const float* in, float* out, int rows, int cols) {
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) out[static_cast<long long>(col) * rows + row] = in[static_cast<long long>(row) * cols + col];
}
