#include "cudart/capture.h"

#include <algorithm>
#include <unordered_set>

namespace kforge::cudart {
namespace {

constexpr int kModes = 3;                 // global, thread-local, relaxed
enum CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

void add_missing(std::vector<GraphNode*>& to, const std::vector<GraphNode*>& from) {
  for (GraphNode* node : from)
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

std::unordered_set<const GraphNode*> with_ancestors(const std::vector<GraphNode*>& nodes) {
  std::unordered_set<const GraphNode*> seen;
  std::vector<const GraphNode*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (seen.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return seen;
}

Status begin(Context& context, void* handle, int mode, std::shared_ptr<Graph> graph, bool given, std::vector<GraphNode*> after) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (mode < 0 || mode >= kModes) return cudaErrorInvalidValue;
  if (stream->index == Timeline::kLegacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  stream->capture = std::make_shared<Capture>();
  stream->capture->graph = std::move(graph);
  stream->capture->id = context.graphs->next_capture_id();
  stream->capture->origin = stream;
  stream->capture->to_given_graph = given;
  stream->tail = std::move(after);
  return cudaSuccess;
}

}  // namespace

Status spoil(Capture& capture, Status status) {
  capture.invalid = true;
  return status;
}

Status capture_work(Stream& stream, Work work) {
  if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  stream.tail = {stream.capture->graph->add(std::move(work), stream.tail)};
  return cudaSuccess;
}

Status capture_record(Stream& stream, Event& event) {
  if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  event.capture = stream.capture;
  event.tail = stream.tail;
  return cudaSuccess;
}

Status capture_wait(Stream& stream, Event& event) {
  if (!event.capture) return spoil(*stream.capture, cudaErrorStreamCaptureIsolation);
  if (event.capture->ended) return cudaErrorCapturedEvent;
  if (stream.capture && stream.capture != event.capture) return spoil(*stream.capture, cudaErrorStreamCaptureMerge);
  if (!stream.capture && stream.index == Timeline::kLegacy) return spoil(*event.capture, cudaErrorStreamCaptureImplicit);
  if (!stream.capture) stream.capture = event.capture, stream.tail.clear();
  add_missing(stream.tail, event.tail);
  return cudaSuccess;
}

Status begin_capture(Context& context, void* stream, int mode) {
  return begin(context, stream, mode, std::make_shared<Graph>(), false, {});
}

Status begin_capture_to_graph(Context& context, void* stream, Graph* graph, GraphNode* const* after, std::size_t count, int mode) {
  auto known = context.graphs->find(graph);
  if (known == nullptr || (after == nullptr && count != 0)) return cudaErrorInvalidValue;
  return begin(context, stream, mode, std::move(known), true, {after, after + count});
}

Status end_capture(Context& context, void* handle, Graph** graph) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  if (stream->capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
  const std::shared_ptr<Capture> capture = stream->capture;
  const auto joined = with_ancestors(stream->tail);
  bool unjoined = false;
  for (Stream* other : context.streams_of(capture.get())) {
    unjoined |= std::any_of(other->tail.begin(), other->tail.end(), [&](const GraphNode* node) { return joined.count(node) == 0; });
    other->capture = nullptr;
    other->tail.clear();
  }
  capture->ended = true;
  if (graph != nullptr) *graph = nullptr;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (unjoined) return cudaErrorStreamCaptureUnjoined;
  Graph* result = capture->to_given_graph ? capture->graph.get() : context.graphs->adopt(capture->graph);
  if (graph != nullptr) *graph = result;
  return cudaSuccess;
}

Status is_capturing(Context& context, void* handle, int* status) {
  const Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (status == nullptr) return cudaErrorInvalidValue;
  *status = !stream->capture ? kNone : stream->capture->invalid ? kInvalidated : kActive;
  return cudaSuccess;
}

Status capture_info(Context& context, void* handle, int* status, unsigned long long* id, Graph** graph, GraphNode* const** after, const EdgeData** edges, std::size_t* count) {
  if (const Status known = is_capturing(context, handle, status); known != cudaSuccess) return known;
  const Stream* stream = context.find_stream(handle);
  if (!stream->capture) return cudaSuccess;
  if (!stream->capture->to_given_graph) context.graphs->know(stream->capture->graph);
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph.get();
  if (after != nullptr) *after = stream->tail.data();
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = stream->tail.size();
  return cudaSuccess;
}

Status update_capture(Context& context, void* handle, GraphNode** after, std::size_t count, unsigned flags) {
  constexpr unsigned kAdd = 0, kSet = 1;
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  if ((after == nullptr && count != 0) || flags > kSet) return cudaErrorInvalidValue;
  if (flags != kAdd) stream->tail.clear();
  add_missing(stream->tail, {after, after + count});
  return cudaSuccess;
}

Status exchange_capture_mode(int* mode) {
  thread_local int own = 0;
  if (mode == nullptr || *mode < 0 || *mode >= kModes) return cudaErrorInvalidValue;
  std::swap(*mode, own);
  return cudaSuccess;
}

}  // namespace kforge::cudart
