#include "cudart/advice.h"

#include <cstring>
#include <iterator>
#include <optional>

#include "cudart/context.h"

namespace kforge::cudart {
namespace {

using emulator::Address;
using emulator::Allocation;
using emulator::MemoryKind;

enum AdviceKind : int { kSetReadMostly = 1, kUnsetReadMostly = 2, kSetPreferred = 3, kUnsetPreferred = 4, kSetAccessedBy = 5, kUnsetAccessedBy = 6 };
enum LocationType : int { kNowhere = 0, kDevice = 1, kHostMemory = 2, kHostNode = 3, kHostNodeHere = 4 };

struct Range { const Allocation* allocation = nullptr; std::uint64_t from = 0, to = 0; };   // null: memory of the host that no CUDA function allocated

Status find_range(Context& context, const void* pointer, std::size_t bytes, Range& range) {
  if (context.device() == nullptr) return cudaErrorInitializationError;
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  const auto address = reinterpret_cast<Address>(pointer);
  const Allocation* allocation = context.device()->memory().find(address);
  if (allocation == nullptr) return cudaSuccess;
  if (allocation->kind != MemoryKind::managed) return cudaErrorInvalidValue;
  range = {allocation, address - allocation->base, address - allocation->base + bytes};
  return range.to <= allocation->size ? cudaSuccess : cudaErrorInvalidValue;
}

Status check_location(const MemLocation& location) {
  if (location.type == kDevice) return location.id == 0 ? cudaSuccess : cudaErrorInvalidDevice;
  return location.type >= kHostMemory && location.type <= kHostNodeHere ? cudaSuccess : cudaErrorInvalidDevice;
}

// A location as the attributes that know one number only tell it.
int device_id(const MemLocation& location) {
  return location.type == kNowhere ? Advice::kNoDevice : location.type == kDevice ? location.id : Advice::kHost;
}

// What all pieces of the range agree on.
template <class Part>
auto agreed(Context& context, const Range& range, const Part& part) {
  using Value = decltype(part(Advice::Word{}));
  std::optional<Value> value;
  bool same = true;
  context.advice.each(range.allocation->serial, range.from, range.to, [&](const Advice::Word& word) {
    same = same && (!value || *value == part(word));
    value = part(word);
  });
  return same && value ? *value : part(Advice::Word{});
}

int agreed_value(Context& context, const Range& range, int attribute) {
  const auto preferred = [](const Advice::Word& word) { return std::pair(word.preferred.type, word.preferred.id); };
  const auto prefetched = [](const Advice::Word& word) { return std::pair(word.prefetched.type, word.prefetched.id); };
  switch (attribute) {
    case 1: return agreed(context, range, [](const Advice::Word& word) { return int{word.read_mostly}; });
    case 2: return agreed(context, range, [](const Advice::Word& word) { return device_id(word.preferred); });
    case 4: return agreed(context, range, [](const Advice::Word& word) { return device_id(word.prefetched); });
    case 5: return agreed(context, range, preferred).first;
    case 6: return agreed(context, range, preferred).second;
    case 7: return agreed(context, range, prefetched).first;
    default: return agreed(context, range, prefetched).second;
  }
}

}  // namespace

void Advice::split(Words& words, std::uint64_t at) {
  const auto after = words.upper_bound(at);
  const Word before = after == words.begin() ? Word{} : std::prev(after)->second;
  words.try_emplace(at, before);
}

MemLocation unpack_location(unsigned long long packed) {
  MemLocation location;
  static_assert(sizeof location == sizeof packed);
  std::memcpy(&location, &packed, sizeof location);
  return location;
}

MemLocation location_of_device(int device) {
  return device == Advice::kHost ? MemLocation{kHostMemory, 0} : MemLocation{kDevice, device};
}

Status advise(Context& context, const void* pointer, std::size_t bytes, int advice, MemLocation location) {
  if (advice < kSetReadMostly || advice > kUnsetAccessedBy) return cudaErrorInvalidValue;
  const bool names_location = advice == kSetPreferred || advice >= kSetAccessedBy;
  if (const Status status = names_location ? check_location(location) : cudaSuccess; status != cudaSuccess) return status;
  Range range;
  if (const Status status = find_range(context, pointer, bytes, range); status != cudaSuccess || range.allocation == nullptr) return status;
  context.advice.set(range.allocation->serial, range.from, range.to, [&](Advice::Word& word) {
    if (advice == kSetReadMostly || advice == kUnsetReadMostly) word.read_mostly = advice == kSetReadMostly;
    if (advice == kSetPreferred) word.preferred = location;
    if (advice == kUnsetPreferred) word.preferred = {kNowhere, Advice::kNoDevice};
    if (advice == kSetAccessedBy) word.accessed_by.insert(device_id(location));
    if (advice == kUnsetAccessedBy) word.accessed_by.erase(device_id(location));
  });
  return cudaSuccess;
}

Status prefetch(Context& context, const void* pointer, std::size_t bytes, MemLocation location, void* stream) {
  if (context.find_stream(stream) == nullptr) return cudaErrorInvalidResourceHandle;
  if (const Status status = check_location(location); status != cudaSuccess) return status;
  Range range;
  if (const Status status = find_range(context, pointer, bytes, range); status != cudaSuccess || range.allocation == nullptr) return status;
  context.advice.set(range.allocation->serial, range.from, range.to, [&](Advice::Word& word) { word.prefetched = location; });
  return cudaSuccess;
}

Status prefetch_batch(Context& context, void* const* pointers, const std::size_t* bytes, std::size_t count, const MemLocation* locations, const std::size_t* first,
                      std::size_t location_count, unsigned long long flags, void* stream) {
  if (pointers == nullptr || bytes == nullptr || count == 0 || locations == nullptr || first == nullptr || location_count == 0 || flags != 0) return cudaErrorInvalidValue;
  if (first[0] != 0) return cudaErrorInvalidValue;
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    while (at + 1 < location_count && first[at + 1] <= i) ++at;
    if (const Status status = prefetch(context, pointers[i], bytes[i], locations[at], stream); status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

// cudaMemRangeAttribute: 1 read-mostly, 2 preferred location, 3 accessed by (a list), 4 last prefetch location, 5 and 6 type and id of 2, 7 and 8 those of 4.
Status range_attribute(Context& context, void* data, std::size_t bytes, int attribute, const void* pointer, std::size_t count) {
  constexpr int kAccessedBy = 3, kLast = 8;
  if (data == nullptr || bytes < sizeof(int) || bytes % sizeof(int) != 0 || attribute < 1 || attribute > kLast) return cudaErrorInvalidValue;
  if (attribute != kAccessedBy && bytes != sizeof(int)) return cudaErrorInvalidValue;
  Range range;
  if (const Status status = find_range(context, pointer, count, range); status != cudaSuccess) return status;
  if (range.allocation == nullptr) return cudaErrorInvalidValue;
  if (attribute != kAccessedBy) {
    *static_cast<int*>(data) = agreed_value(context, range, attribute);
    return cudaSuccess;
  }
  const std::set<int> devices = agreed(context, range, [](const Advice::Word& word) { return word.accessed_by; });
  auto next = devices.begin();
  for (std::size_t i = 0; i < bytes / sizeof(int); ++i) static_cast<int*>(data)[i] = next == devices.end() ? Advice::kNoDevice : *next++;
  return cudaSuccess;
}

Status range_attributes(Context& context, void** data, std::size_t* bytes, int* attributes, std::size_t n, const void* pointer, std::size_t count) {
  if (data == nullptr || bytes == nullptr || attributes == nullptr || n == 0) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < n; ++i)
    if (const Status status = range_attribute(context, data[i], bytes[i], attributes[i], pointer, count); status != cudaSuccess) return status;
  return cudaSuccess;
}

}  // namespace kforge::cudart
