#include "gpu/ncu_trouble.h"

namespace kforge::gpu {
namespace {

struct Trouble { std::string_view says, means; };
constexpr Trouble kTroubles[] = {{"ERR_NVGPUCTRPERM", "this user may not read the hardware counters (ERR_NVGPUCTRPERM)"},
                                 {"No kernels were profiled", "ncu saw no kernel"},
                                 {"LibraryNotLoaded", "ncu cannot load its library here"},
                                 {"Failed to initialize the profiler", "ncu cannot be initialised here"},
                                 {"Failed to find metric", "ncu does not know a metric that it was asked for"},
                                 {"ERR_NVGPUPROFILER", "another profiler is using the GPU"}};

}  // namespace

std::string ncu_trouble(std::string_view line) {
  for (const Trouble& trouble : kTroubles)
    if (line.find(trouble.says) != std::string_view::npos) return std::string(trouble.means);
  return {};
}

}  // namespace kforge::gpu
