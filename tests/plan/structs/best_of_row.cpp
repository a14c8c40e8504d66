// pattern: arg_reduction
struct Best {
  double score;
  int place = 0;
};

extern "C" void best_of_row(const float* x, int* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    Best best{x[(long long)r * cols]};
    for (int c = 1; c < cols; ++c)
      if (x[(long long)r * cols + c] > best.score) best = Best{x[(long long)r * cols + c], c};
    y[r] = best.place;
  }
}
