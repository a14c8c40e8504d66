#include "task/random.h"

#include <array>
#include <cmath>

#include "task/random_avx2.h"

namespace kforge::task {
namespace {

constexpr std::size_t kLayers = 256;
constexpr double kTail = 3.6541528853610088;   // start of the tail for 256 layers
constexpr double kArea = 0.00492867323399;     // of each layer

struct Ziggurat {
  std::array<double, kLayers + 1> x{};  // right edges, falling
  std::array<double, kLayers + 1> f{};  // exp(-x^2 / 2)
  Ziggurat() {
    x[0] = kArea / std::exp(-0.5 * kTail * kTail);  // of the base layer with the tail spread into it
    x[1] = kTail;
    for (std::size_t i = 2; i < kLayers; ++i)
      x[i] = std::sqrt(-2.0 * std::log(kArea / x[i - 1] + std::exp(-0.5 * x[i - 1] * x[i - 1])));
    x[kLayers] = 0;
    for (std::size_t i = 0; i <= kLayers; ++i) f[i] = std::exp(-0.5 * x[i] * x[i]);
  }
};

const Ziggurat& ziggurat() {
  static const Ziggurat table;
  return table;
}

// |x| beyond kTail: exponential proposals, accepted with the normal's density.
double tail(const CounterRandom& random, std::uint64_t& index) {
  for (;;) {
    const double x = -std::log(random.unit(index++) + 0x1p-54) / kTail;
    const double y = -std::log(random.unit(index++) + 0x1p-54);
    if (2 * y > x * x) return kTail + x;
  }
}

// What about one number in a hundred needs: the edge of a layer or the tail, on a stream of the index's own.
double slow_normal(const Ziggurat& z, const CounterRandom& random, std::uint64_t bits) {
  for (std::uint64_t index = 0;; bits = random.bits(index++)) {
    const std::size_t layer = bits & (kLayers - 1);
    const double sign = (bits & kLayers) != 0 ? -1.0 : 1.0;
    const double x = static_cast<double>(bits >> 11) * 0x1p-53 * z.x[layer];
    if (x < z.x[layer + 1]) return sign * x;
    if (layer == 0) return sign * tail(random, index);
    if (z.f[layer] + random.unit(index++) * (z.f[layer + 1] - z.f[layer]) < std::exp(-0.5 * x * x)) return sign * x;
  }
}

bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2");
  return found;
}

}  // namespace

double normal(const CounterRandom& random, std::uint64_t index) {
  static const Ziggurat& z = ziggurat();
  const std::uint64_t bits = random.bits(index);
  const std::size_t layer = bits & (kLayers - 1);
  const double x = static_cast<double>(bits >> 11) * 0x1p-53 * z.x[layer];
  if (x < z.x[layer + 1]) return (bits & kLayers) != 0 ? -x : x;
  return slow_normal(z, random.stream(index), bits);
}

void units(const CounterRandom& random, std::uint64_t first, std::span<double> out, bool wide) {
  std::size_t i = wide && has_avx2() ? units_avx2(random.key(), first, out.size(), out.data()) : 0;
  for (; i < out.size(); ++i) out[i] = random.unit(first + i);
}

void normals(const CounterRandom& random, std::uint64_t first, std::span<double> out, bool wide) {
  static const Ziggurat& z = ziggurat();
  std::size_t done = 0;
  while (wide && has_avx2() && done + kWideRun <= out.size()) {
    std::array<std::uint32_t, kWideRun> slow{};
    const std::size_t count = normals_avx2(random.key(), first + done, z.x.data(), out.data() + done, slow.data());
    for (std::size_t k = 0; k < count; ++k) out[done + slow[k]] = normal(random, first + done + slow[k]);
    done += kWideRun;
  }
  for (; done < out.size(); ++done) out[done] = normal(random, first + done);
}

}  // namespace kforge::task
