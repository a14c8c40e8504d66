// Runs a graph's nodes in a stream. They run one after another; what the program was promised is less: a node comes after its dependencies
// only. So each branch has a stream of its own in the timeline, and races between branches are found as those between streams are.
#pragma once

#include <vector>

#include "cudart/graph.h"

namespace kforge::cudart {

// `order`: dependencies first, as run_order() gives them. Stops at the first node that cannot be performed.
Status run_nodes(Context& context, Stream& stream, const std::vector<GraphNode*>& order);

}  // namespace kforge::cudart
