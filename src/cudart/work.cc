#include "cudart/work.h"

#include "cudart/array_api.h"
#include "cudart/capture.h"
#include "cudart/graph_run.h"

namespace kforge::cudart {

Status submit(Context& context, Stream& stream, Work work) {
  return stream.capture ? capture_work(stream, std::move(work)) : perform(context, stream, work);
}

Status perform(Context& context, Stream& stream, const Work& work) {
  return std::visit([&](const auto& one) { return perform(context, stream, one); }, work);
}

Status perform(Context& context, Stream& stream, const ChildWork& work) { return run_nodes(context, stream, run_order(*work.graph)); }

}  // namespace kforge::cudart
