// Computes on the CPU and copies the result: no kernel writes the output.
#include <cmath>
#include <vector>

#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  const std::size_t elements = static_cast<std::size_t>(rows) * cols;
  std::vector<float> in(elements), out(elements);
  cudaMemcpy(in.data(), x, elements * sizeof(float), cudaMemcpyDeviceToHost);
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int col = 0; col < cols; ++col) sum += std::exp(double(scale) * in[row * std::size_t(cols) + col]);
    for (int col = 0; col < cols; ++col) out[row * std::size_t(cols) + col] = float(std::exp(double(scale) * in[row * std::size_t(cols) + col]) / sum);
  }
  return cudaMemcpy(y, out.data(), elements * sizeof(float), cudaMemcpyHostToDevice);  // expect-contract: launch.coverage
}
