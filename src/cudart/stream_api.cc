#include "cudart/stream_api.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "cudart/capture.h"
#include "cudart/work.h"
#include "emulator/device.h"

namespace kforge::cudart {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;
constexpr unsigned kExternal = 1;   // of event records and waits: a node of the graph, where the stream captures
constexpr unsigned kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4;

constexpr int kPriority = 8;

// What kernels of this call left in memory that the host sees: a host function of the stream finds it there, whether it looks or not.
void note_host_reads(Context& context) {
  using emulator::MemoryKind;
  if (!context.call.running || context.device() == nullptr) return;
  for (const emulator::Allocation* allocation : context.device()->memory().live())
    if (allocation->kind == MemoryKind::managed || allocation->kind == MemoryKind::pinned)
      for (const std::uint64_t word : allocation->written) context.call.bytes_to_host += static_cast<std::uint64_t>(std::popcount(word));
}

bool is_stream_attribute(int attribute) {
  constexpr int kKnown[] = {1, 3, kPriority, 9, 10};
  return std::find(std::begin(kKnown), std::end(kKnown), attribute) != std::end(kKnown);
}

}  // namespace

Status create_stream(Context& context, void** stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~kNonBlocking) != 0) return cudaErrorInvalidValue;
  *stream = context.create_stream(flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
  return cudaSuccess;
}

Status destroy_stream(Context& context, void* stream) {
  Call& call = context.call;
  const bool given = call.running && call.given != nullptr && call.given == context.find_stream(stream);
  if (!context.destroy_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (!given) return cudaSuccess;
  call.given = nullptr;
  context.violate("interface", "destroys", {}, fmt::format("{} ends the given stream, which is its caller's", context.running_name()));
  return cudaSuccess;
}

Status synchronize_stream(Context& context, void* handle) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture) return spoil(*stream->capture, cudaErrorStreamCaptureUnsupported);
  context.timeline.host_waits_for(stream->index);
  return cudaSuccess;
}

// Everything has run, so the answer is always "done"; and a program that was told so may rely on it.
Status query_stream(Context& context, void* handle) { return synchronize_stream(context, handle); }

Status wait_event(Context& context, void* handle, void* event_handle, unsigned flags) {
  Stream* stream = context.find_stream(handle);
  Event* event = context.find_event(event_handle);
  if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
  if (flags > kExternal) return cudaErrorInvalidValue;
  if (flags == 0 && (stream->capture || event->capture)) return capture_wait(*stream, *event);
  return submit(context, *stream, WaitWork{event_handle});
}

Status perform(Context& context, Stream& stream, const WaitWork& work) {
  const Event* event = context.find_event(work.event);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (event->recorded) context.timeline.wait(stream.index, *event->recorded);
  return cudaSuccess;
}

Status stream_flags(Context& context, void* handle, unsigned* flags) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (flags == nullptr) return cudaErrorInvalidValue;
  *flags = stream->flags;
  return cudaSuccess;
}

Status stream_priority(Context& context, void* handle, int* priority) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (priority == nullptr) return cudaErrorInvalidValue;
  *priority = stream->priority;
  return cudaSuccess;
}

Status stream_id(Context& context, void* handle, unsigned long long* id) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (id == nullptr) return cudaErrorInvalidValue;
  *id = stream->id;
  return cudaSuccess;
}

// Values are kept and given back; none changes what the emulated device does.
Status stream_attribute(Context& context, void* handle, int attribute, void* value) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (value == nullptr || !is_stream_attribute(attribute)) return cudaErrorInvalidValue;
  const auto known = stream->attributes.find(attribute);
  std::memset(value, 0, kAttributeBytes);
  if (known != stream->attributes.end()) std::memcpy(value, known->second.data(), kAttributeBytes);
  else if (attribute == kPriority) std::memcpy(value, &stream->priority, sizeof stream->priority);
  return cudaSuccess;
}

Status set_stream_attribute(Context& context, void* handle, int attribute, const void* value) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (value == nullptr || !is_stream_attribute(attribute)) return cudaErrorInvalidValue;
  std::memcpy(stream->attributes[attribute].data(), value, kAttributeBytes);
  return cudaSuccess;
}

Status copy_stream_attributes(Context& context, void* to, void* from) {
  Stream* target = context.find_stream(to);
  const Stream* source = context.find_stream(from);
  if (target == nullptr || source == nullptr) return cudaErrorInvalidResourceHandle;
  target->attributes = source->attributes;
  return cudaSuccess;
}

// Its place in the stream is now: everything before it has run. Without the lock, since it may wait for threads that call us.
Status launch_host_function(Context& context, void* handle, void (*function)(void*), void* data) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return function == nullptr ? cudaErrorInvalidValue : submit(context, *stream, HostWork{function, data});
}

Status perform(Context& context, Stream& stream, const HostWork& work) {
  context.issue(stream, "a host function", 1);
  note_host_reads(context);
  context.call_host_function([&] { work.function(work.data); });
  return cudaSuccess;
}

Status add_callback(Context& context, void* handle, StreamCallback callback, void* data, unsigned flags) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  if (stream->capture) return spoil(*stream->capture, cudaErrorStreamCaptureUnsupported);
  context.issue(*stream, "a host callback", 1);
  note_host_reads(context);
  context.call_host_function([&] { callback(handle, cudaSuccess, data); });
  return cudaSuccess;
}

Status create_event(Context& context, void** event, unsigned flags) {
  if (event == nullptr || (flags & ~(kBlockingSync | kDisableTiming | kInterprocess)) != 0) return cudaErrorInvalidValue;
  if ((flags & kInterprocess) != 0 && (flags & kDisableTiming) == 0) return cudaErrorInvalidValue;
  *event = context.create_event(flags);
  return cudaSuccess;
}

Status destroy_event(Context& context, void* event) {
  return context.destroy_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

Status record_event(Context& context, void* event_handle, void* handle, unsigned flags) {
  Stream* stream = context.find_stream(handle);
  Event* event = context.find_event(event_handle);
  if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
  if (flags > kExternal) return cudaErrorInvalidValue;
  event->capture = nullptr;
  if (flags == 0 && stream->capture) return capture_record(*stream, *event);
  return submit(context, *stream, RecordWork{event_handle});
}

Status perform(Context& context, Stream& stream, const RecordWork& work) {
  Event* event = context.find_event(work.event);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  event->recorded = context.timeline.record(stream.index);
  return cudaSuccess;
}

Status synchronize_event(Context& context, void* handle) {
  const Event* event = context.find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (event->capture) return spoil(*event->capture, cudaErrorCapturedEvent);
  if (event->recorded) context.timeline.host_waits(*event->recorded);
  return cudaSuccess;
}

Status query_event(Context& context, void* handle) { return synchronize_event(context, handle); }

Status elapsed_time(Context& context, float* milliseconds, void* start_handle, void* end_handle) {
  const Event* start = context.find_event(start_handle);
  const Event* end = context.find_event(end_handle);
  if (start == nullptr || end == nullptr) return cudaErrorInvalidResourceHandle;
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  if (((start->flags | end->flags) & kDisableTiming) != 0 || !start->recorded || !end->recorded) return cudaErrorInvalidResourceHandle;
  *milliseconds = static_cast<float>((end->recorded->us - start->recorded->us) / 1000);
  return cudaSuccess;
}

Status synchronize_device(Context& context) {
  context.timeline.host_waits_for_all();
  return cudaSuccess;
}

}  // namespace kforge::cudart
