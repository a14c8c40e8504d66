// Only the kernel that walks along rows changes; the other one, and a macro, stay.
#define SQUARE(v) ((v) * (v))
__global__ void other(float* y) { y[threadIdx.x] = SQUARE(y[threadIdx.x]); }

template <typename T, int kUnused>
__global__ void k(const T* x, T* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0.0f;
  for (int c = 0; c < cols; ++c) s += x[row * cols + c];
  y[row] = s;
}

void run(const float* x, float* y, int rows, int cols) {
  other<<<1, 32>>>(y);
  k<float, 3><<<dim3((rows + 127) / 128), dim3(128)>>>(x, y, rows, cols);
}
