// pattern: gather
// tensor: table f32 in vocabulary,width
// tensor: ids i32 in tokens
// tensor: out f32 out tokens,width
// sizes: vocabulary=50000 width=1024 tokens=8192
#include <cstring>

extern "C" void embedding(const float* table, const int* ids, float* out, int vocabulary, int width, int tokens) {
  (void)vocabulary;
  for (int t = 0; t < tokens; ++t) {
    const float* row = table + (long long)ids[t] * width;
    for (int w = 0; w < width; ++w) out[(long long)t * width + w] = row[w];
  }
}
