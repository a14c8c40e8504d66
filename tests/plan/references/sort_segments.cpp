// pattern: sort
// tensor: keys f32 in segments,length
// tensor: sorted f32 out segments,length
// sizes: segments=1024 length=4096
#include <algorithm>

extern "C" void sort_segments(const float* keys, float* sorted, int segments, int length) {
  for (int s = 0; s < segments; ++s) {
    const float* first = keys + (long long)s * length;
    float* to = sorted + (long long)s * length;
    std::copy(first, first + length, to);
    std::sort(to, to + length);
  }
}
