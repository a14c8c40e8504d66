// Counter-based random numbers: the number at an index is a function of (key, index) alone, so that any part of a tensor can be made
// on its own and in any order. SplitMix64's finaliser (Steele, Lea, Flood 2014) over key + index times the golden ratio; normal
// numbers by the ziggurat with 256 layers (Marsaglia, Tsang 2000; tail by Marsaglia 1964).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kforge::task {

constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

__extension__ typedef unsigned __int128 Wide;  // 128 bits, which ISO C++ does not have

class CounterRandom {
 public:
  explicit constexpr CounterRandom(std::uint64_t key) : key_(mix64(key + 0x9e3779b97f4a7c15u)) {}

  constexpr std::uint64_t bits(std::uint64_t index) const { return mix64(key_ + (index + 1) * 0x9e3779b97f4a7c15u); }
  constexpr std::uint64_t key() const { return key_; }
  // Further numbers of one index: a stream of its own.
  constexpr CounterRandom stream(std::uint64_t index) const { return CounterRandom(bits(index)); }

  // In [0, 1), a multiple of 2^-53.
  constexpr double unit(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  // In [0, bound), bound > 0; the bias is below 2^-64 times bound.
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(bits(index)) * bound) >> 64);
  }

 private:
  std::uint64_t key_;
};

// Mean 0, standard deviation 1.
double normal(const CounterRandom& random, std::uint64_t index);

// unit() and normal() of `first` and the indices after it, the same numbers to the last bit; four at once where the processor has AVX2 and `wide` is true.
void units(const CounterRandom& random, std::uint64_t first, std::span<double> out, bool wide = true);
void normals(const CounterRandom& random, std::uint64_t first, std::span<double> out, bool wide = true);

// FNV-1a, for keys from names.
constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace kforge::task
