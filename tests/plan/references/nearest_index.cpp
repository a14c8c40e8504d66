// pattern: arg_reduction
// tensor: d f32 in points,centres
// tensor: nearest i32 out points
// sizes: points=100000 centres=64
extern "C" void nearest_index(const float* d, int* nearest, int points, int centres) {
  for (int p = 0; p < points; ++p) {
    const float* row = d + (long long)p * centres;
    int best = 0;
    for (int c = 1; c < centres; ++c) {
      if (!(row[c] < row[best])) continue;
      best = c;
    }
    nearest[p] = best;
  }
}
