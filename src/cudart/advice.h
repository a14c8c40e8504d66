// What the program said about managed memory (cudaMemAdvise, cudaMemPrefetchAsync). It moves nothing here, but cudaMemRangeGetAttribute
// answers with it, as on a GPU: with a word for a range only where all bytes of the range have the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "cudart/abi_memory.h"
#include "cudart/status.h"

namespace kforge::cudart {

class Context;

class Advice {
 public:
  struct Word {
    bool read_mostly = false;
    MemLocation preferred{0, kNoDevice}, prefetched{0, kNoDevice};
    std::set<int> accessed_by;            // devices; kHost for the host
  };
  static constexpr int kHost = -1, kNoDevice = -2;   // cudaCpuDeviceId, cudaInvalidDeviceId

  // Changes the words of [from, to) of the allocation with this serial number.
  template <class Change>
  void set(std::uint64_t allocation, std::uint64_t from, std::uint64_t to, const Change& change) {
    auto& words = words_[allocation];
    split(words, from), split(words, to);
    for (auto word = words.lower_bound(from); word != words.end() && word->first < to; ++word) change(word->second);
  }
  // Calls see(word) for each piece of [from, to).
  template <class See>
  void each(std::uint64_t allocation, std::uint64_t from, std::uint64_t to, const See& see) {
    auto& words = words_[allocation];
    split(words, from), split(words, to);
    for (auto word = words.lower_bound(from); word != words.end() && word->first < to; ++word) see(word->second);
  }

 private:
  using Words = std::map<std::uint64_t, Word>;   // each from its offset to the next
  static void split(Words& words, std::uint64_t at);
  std::map<std::uint64_t, Words> words_;
};

// A location as CUDA 13's functions take it, in one register; CUDA 12's plain ones take a device's number, -1 for the host.
MemLocation unpack_location(unsigned long long packed);
MemLocation location_of_device(int device);

// The range has to be managed memory, or memory of the host.
Status advise(Context& context, const void* pointer, std::size_t bytes, int advice, MemLocation location);
Status prefetch(Context& context, const void* pointer, std::size_t bytes, MemLocation location, void* stream);
Status prefetch_batch(Context& context, void* const* pointers, const std::size_t* bytes, std::size_t count, const MemLocation* locations, const std::size_t* first,
                      std::size_t location_count, unsigned long long flags, void* stream);
Status range_attribute(Context& context, void* data, std::size_t bytes, int attribute, const void* pointer, std::size_t count);
Status range_attributes(Context& context, void** data, std::size_t* bytes, int* attributes, std::size_t n, const void* pointer, std::size_t count);

}  // namespace kforge::cudart
