// A CUPTI without a GPU, for tests of what reads it. Each second flush delivers the same records of one call, the marker of trial/worker_timing.h last; the
// name of the file says what they are: "late" (a kernel ends 90 us after the marker), "foreign" (a kernel that no candidate holds), "blind" (no records),
// "refuses" (nothing can be recorded); any other: a copy, a fill and two kernels of tests/device on two streams. Records are as cupti_activity.h has them.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

constexpr std::size_t kRecordBytes = 216;
constexpr std::uint32_t kCopy = 1, kFill = 2, kKernel = 10;
constexpr char kOwn[] = "_Z12decay_kernelPKfPfi", kForeign[] = "_ZN7library5sgemmEPKfS1_Pf";

void (*give)(std::uint8_t**, std::size_t*, std::size_t*);
void (*take)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
unsigned flushes;

bool is(const char* word) {
  Dl_info about{};
  const int found = dladdr(reinterpret_cast<void*>(&is), &about);
  return found != 0 && std::string(about.dli_fname).find(std::string("cupti_") + word) != std::string::npos;
}

template <class T>
void put(std::uint8_t* record, std::size_t at, T value) { std::memcpy(record + at, &value, sizeof value); }

struct Writer {
  std::uint8_t* at;
  std::uint8_t* next(std::uint32_t kind, std::uint64_t start, std::uint64_t end) {
    std::uint8_t* record = at;
    std::memset(record, 0xee, kRecordBytes);   // members that nobody reads
    put(record, 0, kind);
    put(record, 16, start);
    put(record, 24, end);
    at += kRecordBytes;
    return record;
  }
  void kernel(const char* name, std::uint32_t stream, std::uint64_t start, std::uint64_t end) {
    std::uint8_t* record = next(kKernel, start, end);
    put(record, 48, stream);
    put(record, 104, name);
  }
  void other(std::uint32_t kind, std::uint32_t what, std::uint64_t bytes, std::uint64_t start, std::uint64_t end) {
    std::uint8_t* record = next(kind, start, end);
    if (kind == kCopy) put(record, 4, static_cast<std::uint8_t>(what));
    else put(record, 4, what);
    put(record, 8, bytes);
    put(record, 40, std::uint32_t{7});
  }
};

}  // namespace

extern "C" {

int cuptiActivityRegisterCallbacks(decltype(give) on_request, decltype(take) on_complete) {
  give = on_request;
  take = on_complete;
  return 0;
}

int cuptiActivityEnable(std::uint32_t) { return is("refuses") ? 15 : 0; }

int cuptiActivityFlushAll(std::uint32_t) {
  if (++flushes % 2 != 0 || is("blind")) return 0;
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0, most = 0;
  give(&buffer, &bytes, &most);
  Writer writer{buffer};
  writer.other(kCopy, 2, 4096, 1000, 2000);   // device to host
  writer.other(kFill, 0, 64, 2000, 2500);
  writer.kernel(kOwn, 7, 3000, 9000);
  writer.kernel(is("foreign") ? kForeign : kOwn, 13, 3500, is("late") ? 102'000 : 9500);
  writer.other(kFill, 0x5a, 4099, 11'000, 12'000);
  take(nullptr, 0, buffer, bytes, static_cast<std::size_t>(writer.at - buffer));
  return 0;
}

int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record) {
  std::uint8_t* next = *record ? *record + kRecordBytes : buffer;
  if (next >= buffer + valid) return 12;   // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = next;
  return 0;
}

}  // extern "C"
