// pattern: elementwise
// tensor: up bf16 in tokens,width
// tensor: gate bf16 in tokens,width
// tensor: out bf16 out tokens,width
// sizes: tokens=4096 width=11008
#include <cmath>
#include <cstddef>

namespace {
template <class T>
T sigmoid(T v) {
  return T(1) / (T(1) + std::exp(-v));
}
}  // namespace

extern "C" void swish_gate(const float* up, const float* gate, float* out, int tokens, int width) {
  const std::size_t count = static_cast<std::size_t>(tokens) * width;
  for (std::size_t i = count; i-- > 0;) {
    const double g = gate[i];
    out[i] = static_cast<float>(up[i] * (g * sigmoid(g)));
  }
}
