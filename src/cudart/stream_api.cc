#include "cudart/stream_api.h"

#include <algorithm>

namespace kforge::cudart {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr int kLeastPriority = 0, kGreatestPriority = -5;
constexpr unsigned kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4;

}  // namespace

Status create_stream(Context& context, void** stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~kNonBlocking) != 0) return cudaErrorInvalidValue;
  *stream = context.create_stream(flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
  return cudaSuccess;
}

Status destroy_stream(Context& context, void* stream) {
  return context.destroy_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

Status synchronize_stream(Context& context, void* handle) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  context.timeline.host_waits_for(stream->index);
  return cudaSuccess;
}

// Everything has run, so the answer is always "done"; and a program that was told so may rely on it.
Status query_stream(Context& context, void* handle) { return synchronize_stream(context, handle); }

Status wait_event(Context& context, void* handle, void* event_handle, unsigned flags) {
  const Stream* stream = context.find_stream(handle);
  const Event* event = context.find_event(event_handle);
  if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
  if (flags > 1) return cudaErrorInvalidValue;
  if (event->recorded) context.timeline.wait(stream->index, *event->recorded);
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

Status is_capturing(Context& context, void* handle, int* status) {
  if (context.find_stream(handle) == nullptr) return cudaErrorInvalidResourceHandle;
  if (status == nullptr) return cudaErrorInvalidValue;
  *status = 0;   // cudaStreamCaptureStatusNone
  return cudaSuccess;
}

// Its place in the stream is now: everything before it has run. It may not call CUDA, as on a GPU.
Status launch_host_function(Context& context, void* handle, void (*function)(void*), void* data) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (function == nullptr) return cudaErrorInvalidValue;
  context.issue(*stream, "a host function", 1);
  function(data);
  return cudaSuccess;
}

Status add_callback(Context& context, void* handle, StreamCallback callback, void* data, unsigned flags) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  context.issue(*stream, "a host callback", 1);
  callback(handle, cudaSuccess, data);
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
  const Stream* stream = context.find_stream(handle);
  Event* event = context.find_event(event_handle);
  if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
  if (flags > 1) return cudaErrorInvalidValue;
  event->recorded = context.timeline.record(stream->index);
  return cudaSuccess;
}

Status synchronize_event(Context& context, void* handle) {
  const Event* event = context.find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
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
