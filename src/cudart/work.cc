#include "cudart/work.h"

#include "cudart/array_api.h"
#include "cudart/capture.h"
#include "cudart/graph.h"

namespace kforge::cudart {

Status submit(Context& context, Stream& stream, Work work) {
  return stream.capture ? capture_work(stream, std::move(work)) : perform(context, stream, work);
}

Status perform(Context& context, Stream& stream, const Work& work) {
  return std::visit([&](const auto& one) { return perform(context, stream, one); }, work);
}

Status perform(Context& context, Stream& stream, const ChildWork& work) {
  for (const GraphNode* node : run_order(*work.graph))
    if (node->enabled)
      if (const Status status = perform(context, stream, node->work); status != cudaSuccess) return status;
  return cudaSuccess;
}

}  // namespace kforge::cudart
