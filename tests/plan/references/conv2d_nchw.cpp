// pattern: convolution
// tensor: image f32 in batch,channels,height,width
// tensor: filter f32 in features,channels,3,3
// tensor: out f32 out batch,features,height,width
// sizes: batch=8 channels=64 height=56 width=56 features=64
extern "C" void conv2d_nchw(const float* image, const float* filter, float* out, int batch, int channels, int height, int width, int features) {
  for (int b = 0; b < batch; ++b)
    for (int f = 0; f < features; ++f)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
          double sum = 0;
          for (int c = 0; c < channels; ++c)
            for (int dy = 0; dy < 3; ++dy)
              for (int dx = 0; dx < 3; ++dx) {
                const int iy = y + dy - 1, ix = x + dx - 1;
                if (iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
                sum += (double)image[(((long long)b * channels + c) * height + iy) * width + ix] * filter[((f * channels + c) * 3 + dy) * 3 + dx];
              }
          out[(((long long)b * features + f) * height + y) * width + x] = (float)sum;
        }
}
