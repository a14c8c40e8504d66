#include <cstdint>

extern "C" void gather_reduce(const float* table, const std::int32_t* index, const float* weight, float* out, int entries, int dim, int bags, int hits) {
  for (int d = 0; d < dim; ++d)
    for (int bag = 0; bag < bags; ++bag) {
      double sum = 0;
      for (int j = 0; j < hits; ++j) {
        const long long at = static_cast<long long>(bag) * hits + j;
        sum += double(weight[at]) * table[static_cast<long long>(index[at]) * dim + d];
      }
      out[static_cast<long long>(d) * bags + bag] = static_cast<float>(sum);
    }
}
