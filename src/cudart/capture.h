// Capturing streams into graphs (CUDA programming guide, "Creating a Graph Using Stream Capture").
#pragma once

#include "cudart/abi_graph.h"
#include "cudart/context.h"
#include "cudart/graph.h"

namespace kforge::cudart {

// The capture is lost: its end will fail. Gives back `status`.
Status spoil(Capture& capture, Status status);
// Puts work into the graph that the stream captures into. REQUIRES: stream.capture.
Status capture_work(Stream& stream, Work work);
Status capture_record(Stream& stream, Event& event);
// A stream that waits for an event of a capture takes part in it from then on.
Status capture_wait(Stream& stream, Event& event);

Status begin_capture(Context& context, void* stream, int mode);
Status begin_capture_to_graph(Context& context, void* stream, Graph* graph, GraphNode* const* after, std::size_t count, int mode);
Status end_capture(Context& context, void* stream, Graph** graph);
Status is_capturing(Context& context, void* stream, int* status);
Status capture_info(Context& context, void* stream, int* status, unsigned long long* id, Graph** graph, GraphNode* const** after, const EdgeData** edges, std::size_t* count);
Status update_capture(Context& context, void* stream, GraphNode** after, std::size_t count, unsigned flags);
Status exchange_capture_mode(int* mode);

}  // namespace kforge::cudart
