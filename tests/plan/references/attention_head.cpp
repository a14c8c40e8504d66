// pattern: attention
// tensor: q f16 in heads,seq,dim
// tensor: k f16 in heads,seq,dim
// tensor: v f16 in heads,seq,dim
// tensor: o f16 out heads,seq,dim
// sizes: heads=16 seq=2048 dim=64
#include <algorithm>
#include <cmath>
#include <vector>

extern "C" void attention_head(const float* q, const float* k, const float* v, float* o, int heads, int seq, int dim) {
  const double scale = 1.0 / std::sqrt((double)dim);
  std::vector<double> score(seq);
  for (int h = 0; h < heads; ++h) {
    const long long base = (long long)h * seq * dim;
    for (int i = 0; i < seq; ++i) {
      double peak = -1e300;
      for (int j = 0; j < seq; ++j) {
        double dot = 0;
        for (int d = 0; d < dim; ++d) dot += (double)q[base + (long long)i * dim + d] * k[base + (long long)j * dim + d];
        score[j] = dot * scale;
        peak = std::max(peak, score[j]);
      }
      double sum = 0;
      for (int j = 0; j < seq; ++j) sum += (score[j] = std::exp(score[j] - peak));
      for (int d = 0; d < dim; ++d) {
        double acc = 0;
        for (int j = 0; j < seq; ++j) acc += score[j] * v[base + (long long)j * dim + d];
        o[base + (long long)i * dim + d] = (float)(acc / sum);
      }
    }
  }
}
