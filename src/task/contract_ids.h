// The contracts that a task may speak of: the ids of contracts.md's table and of the candidate's process, and the threshold that
// a task may set. The judge's table takes both from here.
#pragma once

#include <array>
#include <string_view>

namespace kforge::task {

struct ContractId {
  std::string_view id;
  std::string_view threshold = "";  // the key that a task may set; "" none
};

inline constexpr std::array<ContractId, 28> kContractIds{{
    {"build"}, {"run.crash"}, {"run.hang"}, {"run.exit"}, {"run.limit"},
    {"numerics"}, {"numerics.deterministic"},
    {"safety.bounds"}, {"safety.uninitialised"}, {"safety.races"}, {"safety.barriers"}, {"safety.async"},
    {"launch.coverage"}, {"launch.limits"}, {"portability"}, {"interface"}, {"honest"},
    {"memory.coalescing", "max_ratio"}, {"memory.alignment", "max_ratio"}, {"memory.vector", "min_bytes"},
    {"memory.reuse", "max_ratio"}, {"shared.banks", "max_ratio"}, {"occupancy", "min_warps"},
    {"registers.spill", "max_bytes"}, {"compute.issue", "min_fraction"}, {"compute.tensor"},
    {"compute.divergence", "min_average"}, {"goal"},
}};

}  // namespace kforge::task
