// pattern: transpose
// tensor: nhwc f32 in n,h,w,c
// tensor: nchw f32 out n,c,h,w
// sizes: n=32 h=56 w=56 c=64
extern "C" void to_nchw(const float* nhwc, float* nchw, int n, int h, int w, int c) {
  long long at = 0;
  for (int b = 0; b < n; ++b)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x)
        for (int k = 0; k < c; ++k) nchw[((static_cast<long long>(b) * c + k) * h + y) * w + x] = nhwc[at++];
}
