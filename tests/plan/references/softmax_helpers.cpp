// pattern: softmax
// tensor: logits f32 in batch,classes
// tensor: prob f32 out batch,classes
// sizes: batch=2048 classes=8192
#include <cmath>
#include <vector>

namespace {

float largest(const float* v, int n) {
  float m = v[0];
  for (int i = 1; i < n; ++i) m = v[i] > m ? v[i] : m;
  return m;
}

void exponentials(const float* v, std::vector<double>& e, float shift) {
  for (std::size_t i = 0; i < e.size(); ++i) e[i] = exp(double(v[i]) - shift);
}

double total(const std::vector<double>& e) {
  double s = 0;
  for (double x : e) s += x;
  return s;
}

}  // namespace

extern "C" void softmax_helpers(const float* logits, float* prob, int batch, int classes) {
  std::vector<double> e(classes);
  for (int b = 0; b < batch; ++b) {
    const float* in = logits + (long long)b * classes;
    exponentials(in, e, largest(in, classes));
    const double s = total(e);
    for (int i = 0; i < classes; ++i) prob[(long long)b * classes + i] = float(e[i] / s);
  }
}
