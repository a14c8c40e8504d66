#include "judge/contract_table.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "task/contract_ids.h"

namespace kforge::judge {
namespace {

constexpr auto kCorrectness = Group::correctness;
constexpr auto kPerformance = Group::performance;
constexpr auto kRequired = Level::required;
constexpr auto kAdvice = Level::advice;

// The ids and thresholds are the task room's (contract_ids.h): a row here says the rest about the id of the same place.
struct Details {
  std::string_view id;
  Group group;
  Level level;
  bool must_know;
  double default_threshold;
  std::string_view statement, required, advice;
};

constexpr Details kDetails[] = {
    {"build", kCorrectness, kRequired, true, 0, "the candidate compiles", "no error",
     "fix the first error; later ones often follow from it"},
    {"run.crash", kCorrectness, kRequired, true, 0, "the candidate's process survives", "no crash",
     "run the launcher on the named sizes; check host pointers, indices and calls into the system"},
    {"run.hang", kCorrectness, kRequired, true, 0, "every launch ends", "no deadlock",
     "make every waiting thread's condition reachable: who stores the value, and can that thread still run?"},
    {"run.exit", kCorrectness, kRequired, true, 0, "the launcher returns to its caller", "no exit",
     "return cudaError_t from the launcher in place of ending the process"},
    {"run.limit", kCorrectness, kRequired, true, 0, "the candidate stays within its limits", "within limits",
     "reduce the work or memory of one call, or raise the budget (--call-seconds, --call-instructions)"},
    {"numerics", kCorrectness, kRequired, true, 0, "the result is right", "every element within tolerance",
     "compare the worst element by hand; look at the boundary handling and the accumulate type"},
    {"numerics.deterministic", kCorrectness, kAdvice, false, 0, "equal inputs give equal bits", "equal bits",
     "replace floating-point atomics by a fixed order of summation"},
    {"safety.bounds", kCorrectness, kRequired, true, 0, "every access is inside a live allocation and aligned",
     "inside a live allocation, aligned", "guard the access with the tensor's extent, and check the index arithmetic of the last block"},
    {"safety.uninitialised", kCorrectness, kRequired, true, 0, "nothing unwritten decides an address, a branch or an output",
     "every byte written before it is used", "initialise the memory before the read, on every path and for every lane"},
    {"safety.races", kCorrectness, kRequired, true, 0, "no two unordered conflicting accesses", "ordered accesses",
     "put a barrier between the two accesses (__syncthreads for a block, __syncwarp for a warp), or use an atomic"},
    {"safety.barriers", kCorrectness, kRequired, true, 0, "barriers and warp operations are reached by all live lanes they name",
     "all named lanes arrive", "move the barrier or warp operation out of the divergent branch, or give the mask of the lanes that reach it"},
    {"safety.async", kCorrectness, kRequired, true, 0, "copies in flight are waited for", "waited for",
     "wait for the copy group (cp.async.wait_group) and synchronise before the first read"},
    {"launch.coverage", kCorrectness, kRequired, true, 0, "kernels write the whole output", "all elements written",
     "let the grid cover the whole output: round the number of blocks up, and loop where the grid is capped"},
    {"launch.limits", kCorrectness, kRequired, true, 0, "grid, block, shared memory and registers are within the target's limits",
     "within the target's limits", "stay within the limits that `kforge gpus` prints; opt in with cudaFuncSetAttribute for more shared memory"},
    {"portability", kCorrectness, kRequired, true, 0, "no instruction or feature the target lacks", "none",
     "guard the newer instruction with __CUDA_ARCH__ and give the older target another path"},
    {"interface", kCorrectness, kRequired, true, 0, "the launcher keeps its agreed signature and manners", "as agreed",
     "keep the signature of the task, leave inputs as they are, and order all work on the given stream"},
    {"honest", kCorrectness, kRequired, false, 0, "the time is the time of the work", "where time is measured", ""},
    {"memory.coalescing", kPerformance, kRequired, true, 1.25, "global loads and stores waste no sectors",
     "each hot line <= {}", "let neighbouring lanes touch neighbouring addresses: swap the loop or thread axes, or go through shared memory"},
    {"memory.alignment", kPerformance, kAdvice, false, 1.0, "requests start on sector boundaries",
     "each hot line <= {}", "align the row pitch and the first element of each warp to 32 bytes"},
    {"memory.vector", kPerformance, kAdvice, false, 8, "hot contiguous accesses are 8 or 16 bytes wide",
     "at least {} bytes per lane", "load and store float2/float4 (or __half2, int4) where address and extent allow it"},
    {"memory.reuse", kPerformance, kAdvice, false, 1.25, "DRAM traffic is near the compulsory one",
     "DRAM bytes over input bytes <= {}", "keep what is read again in registers or shared memory"},
    {"shared.banks", kPerformance, kRequired, true, 1.0, "no extra shared-memory wavefronts",
     "each hot line <= {}", "pad or swizzle the shared array so that the lanes of a request fall into different banks"},
    {"occupancy", kPerformance, kAdvice, true, 0, "enough warps to cover latency",
     "at least {} warps per SM", "reduce what limits it (registers, shared memory, block shape), or keep more loads in flight per warp"},
    {"registers.spill", kPerformance, kRequired, true, 0, "nothing spills in hot code",
     "{} bytes", "reduce live values per thread (smaller tiles, less unrolling) or raise the register cap; index local arrays with constants"},
    {"compute.issue", kPerformance, kAdvice, false, 0.85, "the hot loop issues nearly every cycle its pipe allows",
     ">= {}", "unroll, interleave independent work, and keep loads ahead of their use"},
    {"compute.tensor", kPerformance, kAdvice, false, 0, "tensor cores are used where the arithmetic allows them",
     "matrix instructions do the arithmetic", "use mma.sync / wmma for the products"},
    {"compute.divergence", kPerformance, kRequired, true, 0.75, "warps run converged",
     "average >= {}, hot lines >= 0.5", "let whole warps take the same branch: branch on the warp index, or give idle lanes work"},
    {"goal", Group::goal, kRequired, true, 0, "as fast as asked", "the task's goal", ""},
};

constexpr auto kTable = [] {
  std::array<ContractRow, std::size(kDetails)> table{};
  static_assert(table.size() == task::kContractIds.size(), "a contract lacks its details, or has no id");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Details& d = kDetails[i];
    table[i] = {task::kContractIds[i].id, d.group, d.level, d.must_know, task::kContractIds[i].threshold, d.default_threshold, d.statement, d.required, d.advice};
  }
  return table;
}();
static_assert(std::equal(std::begin(kDetails), std::end(kDetails), task::kContractIds.begin(), [](const Details& d, const task::ContractId& c) { return d.id == c.id; }),
              "the details are in another order than contract_ids.h");

}  // namespace

std::span<const ContractRow> contract_table() { return kTable; }

const ContractRow* find_contract(std::string_view id) {
  for (const ContractRow& row : kTable)
    if (row.id == id) return &row;
  return nullptr;
}

}  // namespace kforge::judge
