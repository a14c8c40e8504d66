// What a candidate's kernels did, counted: `kforge profile` as a function. Per kernel and per source line, with Nsight Compute's metric names.
//
// The figures are those by which `check` judges, of the largest measure size that ran; counters are sums over all launches of one call. On a real GPU with ncu
// they include the samples in which a warp waited, by reason (smsp__pcsamp_warps_issue_stalled_*).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/check.h"
#include "kforge/error.h"
#include "kforge/report.h"
#include "kforge/verdict.h"

namespace kforge {

struct MetricInfo {
  std::string name, unit, hint;    // "smsp__inst_executed.sum", "inst", one line for people
};
const std::vector<MetricInfo>& profile_metrics();

using MetricValues = std::map<std::string, std::uint64_t>;   // by name; what is 0 is left out

struct LineFigures {
  std::string file;                // "" where the PTX carries no line
  std::uint32_t line = 0;          // in the candidate's file where some inlined frame lies there
  MetricValues metrics;
};

struct KernelFigures {
  std::string kernel, mangled;     // for people; as in the PTX
  std::uint64_t launches = 0;
  std::vector<std::string> shapes; // "grid 4096x1x1, block 256x1x1, 1024 bytes shared"
  bool sampled = false;            // only some blocks ran
  std::string source;              // evidence: "emulator(ptx)", "ncu"
  MetricValues metrics;
  std::vector<LineFigures> lines;  // by file and line, each once
};

// What the hardware counted in one launch, by ncu's names; what ncu did not give is absent.
struct HardwareCounters {
  std::string kernel, sizes;       // as ncu prints it; "rows=17 cols=1000"
  std::string suspect;             // memory, compute, latency, shared, tensor: whose metrics were asked for; "" those of contracts alone
  std::map<std::string, double> metrics;
};
// Unit and meaning of such a metric: {"", ""} where it is in none of our sets.
MetricInfo hardware_metric(const std::string& name);

struct Profile {
  std::string task, candidate, gpu, device;
  std::string candidate_text;      // the source, for the annotated listing
  std::vector<KernelFigures> kernels;
  std::vector<HardwareCounters> counters;   // by measure size and launch; empty without a GPU or ncu
  Verdict verdict;                 // of the same run
  std::string ptx;                 // "" when it did not build
};

// Judges the candidate as check(options) does and keeps what was counted. `kernels` is empty when no measure size ran. Errors: as check; unsupported for a
// device that is a worker elsewhere.
Expected<Profile> profile(const CheckOptions& options);

// The machine code (SASS) that ptxas makes of a PTX text, with the lines of the source: nvdisasm's text. Errors: missing (no nvcc, no nvdisasm, with how to get it),
// bad_input (ptxas refuses the text), failed.
Expected<std::string> machine_code(std::string_view ptx);

// Figures of one line that people ask for. 1 where there is nothing to measure.
double sectors_over_ideal(const MetricValues& metrics);      // global memory; contracts.md, memory.coalescing
double wavefronts_over_ideal(const MetricValues& metrics);   // shared memory
double lanes_active(const MetricValues& metrics);            // share of 32, 0 to 1

// Kernels with their figures, then the candidate's source with figures beside its lines; `all_cases` prints every metric.
std::string to_text(const Profile& profile, const TextOptions& options);
std::string to_json(const Profile& profile);                 // schema kforge.profile/1
std::string to_markdown(const Profile& profile);             // the verdict's, with a table of the lines that were counted
std::string to_html(const Profile& profile);                 // the verdict's page, with figures beside the lines of the source

}  // namespace kforge
