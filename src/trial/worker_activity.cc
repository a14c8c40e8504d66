#include "trial/worker_activity.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>

namespace kforge::trial {
namespace {

// CUpti_ActivityKind and the places of members (cupti_activity.h).
constexpr std::uint32_t kCopy = 1, kFill = 2, kKernel = 3, kConcurrentKernel = 10;
constexpr std::uint32_t kWatched[] = {kConcurrentKernel, kCopy, kFill};
constexpr std::size_t kStart = 16, kEnd = 24;                                                 // of all three
constexpr std::size_t kKernelStream = 48, kKernelName = 104;
constexpr std::size_t kOtherBytes = 8, kOtherStream = 40, kCopyKind = 4, kFillValue = 4;   // of copies and fills
constexpr std::size_t kBufferBytes = 1 << 20, kAlignment = 8;
constexpr std::uint32_t kForced = 1;                                                          // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

struct Cupti {
  int (*register_callbacks)(void (*)(std::uint8_t**, std::size_t*, std::size_t*), void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t)) = nullptr;
  int (*enable)(std::uint32_t) = nullptr;
  int (*flush_all)(std::uint32_t) = nullptr;
  int (*next_record)(std::uint8_t*, std::size_t, std::uint8_t**) = nullptr;
};

Cupti cupti;
std::mutex mutex;
std::vector<ActivityRecord> records;   // CUPTI's callbacks take no argument of ours

template <class T>
T member(const std::uint8_t* record, std::size_t at) {
  T out;
  std::memcpy(&out, record + at, sizeof out);
  return out;
}

void read_record(const std::uint8_t* record) {
  const auto kind = member<std::uint32_t>(record, 0);
  ActivityRecord out;
  out.start_ns = member<std::uint64_t>(record, kStart);
  out.end_ns = member<std::uint64_t>(record, kEnd);
  if (kind == kKernel || kind == kConcurrentKernel) {
    out.stream = member<std::uint32_t>(record, kKernelStream);
    if (const auto* name = member<const char*>(record, kKernelName)) out.name = name;
  } else if (kind == kCopy || kind == kFill) {
    out.kind = kind == kCopy ? ActivityRecord::Kind::copy : ActivityRecord::Kind::fill;
    out.bytes = member<std::uint64_t>(record, kOtherBytes);
    out.stream = member<std::uint32_t>(record, kOtherStream);
    if (kind == kCopy) out.copy_kind = member<std::uint8_t>(record, kCopyKind);
    else out.value = member<std::uint32_t>(record, kFillValue);
  } else {
    return;
  }
  const std::lock_guard lock(mutex);
  records.push_back(std::move(out));
}

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *bytes = *buffer ? kBufferBytes : 0;
  *most_records = 0;   // as many as fit
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  std::uint8_t* record = nullptr;
  while (valid_bytes > 0 && cupti.next_record(buffer, valid_bytes, &record) == 0) read_record(record);
  std::free(buffer);
}

}  // namespace

std::string start_activity(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::string("CUPTI cannot be loaded: ") + dlerror();
  const auto resolve = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (!resolve("cuptiActivityRegisterCallbacks", cupti.register_callbacks) || !resolve("cuptiActivityEnable", cupti.enable) || !resolve("cuptiActivityFlushAll", cupti.flush_all) ||
      !resolve("cuptiActivityGetNextRecord", cupti.next_record))
    return path + " is no CUPTI: it lacks functions";
  if (const int error = cupti.register_callbacks(give_buffer, take_buffer); error != 0) return "CUPTI takes no callbacks: error " + std::to_string(error);
  for (const std::uint32_t kind : kWatched)
    if (const int error = cupti.enable(kind); error != 0) return "CUPTI records nothing here: error " + std::to_string(error);
  return {};
}

std::vector<ActivityRecord> take_activity() {
  cupti.flush_all(kForced);
  const std::lock_guard lock(mutex);
  return std::exchange(records, {});
}

}  // namespace kforge::trial
