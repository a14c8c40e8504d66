// pattern: transpose
// tensor: src f32 in batch,height,width
// tensor: dst f32 out batch,width,height
// sizes: batch=16 height=1024 width=1024
extern "C" void swap_axes(const float* src, float* dst, int batch, int height, int width) {
  const long long plane = (long long)height * width;
  for (int b = 0; b < batch; ++b) {
    const float* from = src + b * plane;
    float* to = dst + b * plane;
    for (int w = 0; w < width; ++w)
      for (int h = 0; h < height; ++h) *to++ = from[(long long)h * width + w];
  }
}
