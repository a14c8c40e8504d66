// pattern: arg_reduction
// tensor: score f32 in n,classes
// tensor: label i32 out n
// sizes: n=65536 classes=1000
struct Best {
  float value;
  int index;
};

static Best better(Best a, Best b) { return b.value > a.value ? b : a; }

extern "C" void top_class(const float* score, int* label, int n, int classes) {
  for (int i = 0; i < n; ++i, score += classes) {
    Best best{score[0], 0};
    for (int c = 1; c < classes; ++c) best = better(best, Best{score[c], c});
    label[i] = best.index;
  }
}
