// Streams and events. Work runs when it is issued; what these functions change is the promised order (timeline.h).
#pragma once

#include "cudart/context.h"

namespace kforge::cudart {

Status create_stream(Context& context, void** stream, unsigned flags, int priority);
Status destroy_stream(Context& context, void* stream);
Status synchronize_stream(Context& context, void* stream);
Status query_stream(Context& context, void* stream);
Status wait_event(Context& context, void* stream, void* event, unsigned flags);
Status stream_flags(Context& context, void* stream, unsigned* flags);
Status stream_priority(Context& context, void* stream, int* priority);
Status stream_id(Context& context, void* stream, unsigned long long* id);
// cudaLaunchAttributeID of streams: access policy (1), synchronisation policy (3), priority (8), memory domains (9, 10).
Status stream_attribute(Context& context, void* stream, int attribute, void* value);
Status set_stream_attribute(Context& context, void* stream, int attribute, const void* value);
Status copy_stream_attributes(Context& context, void* to, void* from);
Status launch_host_function(Context& context, void* stream, void (*function)(void*), void* data);
using StreamCallback = void (*)(void* stream, int status, void* data);
Status add_callback(Context& context, void* stream, StreamCallback callback, void* data, unsigned flags);

Status create_event(Context& context, void** event, unsigned flags);
Status destroy_event(Context& context, void* event);
Status record_event(Context& context, void* event, void* stream, unsigned flags = 0);
Status synchronize_event(Context& context, void* event);
Status query_event(Context& context, void* event);
Status elapsed_time(Context& context, float* milliseconds, void* start, void* end);

Status synchronize_device(Context& context);

}  // namespace kforge::cudart
