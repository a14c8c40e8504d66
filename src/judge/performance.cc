#include "judge/performance.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/counted.h"
#include "judge/contract_table.h"
#include "judge/hot_line.h"
#include "judge/line_ratio.h"
#include "judge/occupancy_contract.h"

namespace kforge::judge {
namespace {

using evidence::KernelProfile;
using evidence::LineProfile;
using evidence::Metric;

constexpr double kLightKernel = 0.01;        // of the call's warp instructions: how it diverges costs nothing

Measurement blank(const PerformanceInput& input, std::string_view contract) {
  const ContractRow& row = *find_contract(contract);
  Measurement m;
  m.contract = contract;
  m.level = row.level;
  m.text = "none";
  m.required = fmt::format(fmt::runtime(row.required), threshold(*input.task, contract));
  m.evidence = input.kernels->empty() ? "" : std::string(evidence::name(input.kernels->front().source));
  return m;
}

// One row a contract of the shape "numerator over denominator, per hot line, at most the threshold".
struct RatioContract {
  std::string_view id;
  Metric numerator, denominator;
  std::string_view unit;
  evidence::RequestExample LineProfile::*example;
};
constexpr RatioContract kRatioContracts[] = {
    {"memory.coalescing", Metric::global_sectors, Metric::global_sectors_ideal, "sectors", &LineProfile::worst_global},
    {"memory.alignment", Metric::global_sectors, Metric::global_sectors_aligned_ideal, "sectors", &LineProfile::worst_global},
    {"shared.banks", Metric::shared_wavefronts, Metric::shared_wavefronts_ideal, "wavefronts", &LineProfile::worst_shared},
};

void add_ratio_finding(const PerformanceInput& input, const RatioContract& contract, const KernelProfile& kernel,
                       const MergedLine& line, const Measurement& m, FindingSet& findings) {
  Finding finding = make_finding(contract.id, line.position, input.candidate);
  finding.severity = m.level == Level::required ? Severity::error : Severity::warning;
  finding.kernel = readable_kernel(kernel.kernel);
  finding.measured = fmt::format("{:.2f}", line.ratio);
  finding.required = m.required;
  finding.message = fmt::format("{} {} where {} would do: {:.2f} times the ideal ({:.0f}% of the kernel's {})",
                                line.numerator, contract.unit, line.denominator, line.ratio, 100 * line.share, contract.unit);
  const bool shared = contract.id == "shared.banks";
  finding.cause = shared ? "lanes of one request fall into the same banks at different addresses"
                         : "lanes of one request touch scattered or misaligned sectors";
  if (line.example.present()) finding.details = describe_request(line.example, shared);
  if (shared && line.example.present())
    if (const auto fix = padding_advice(line.example)) finding.advice.insert(finding.advice.begin(), *fix);
  findings.add(std::move(finding), line.ratio);
}

Measurement judge_ratio(const PerformanceInput& input, const RatioContract& contract, FindingSet& findings) {
  Measurement m = blank(input, contract.id);
  const double limit = threshold(*input.task, contract.id);
  for (const KernelProfile& kernel : *input.kernels) {
    for (const MergedLine& line : merge_lines(kernel, contract.numerator, contract.denominator, contract.example, input.candidate)) {
      if (line.share < kHotLine) continue;
      m.measured = true;
      m.value = std::max(m.value, line.ratio);
      if (line.ratio <= limit * (1 + 1e-12)) continue;
      m.status = Status::failed;
      add_ratio_finding(input, contract, kernel, line, m, findings);
    }
  }
  if (m.measured) m.text = fmt::format("{:.2f}", m.value);
  return m;
}

Measurement judge_vector(const PerformanceInput& input, FindingSet& findings) {
  Measurement m = blank(input, "memory.vector");
  m.larger_is_worse = false;
  m.value = 16;
  const double limit = threshold(*input.task, m.contract);
  for (const KernelProfile& kernel : *input.kernels) {
    const double sectors = static_cast<double>(kernel.totals[Metric::global_sectors]);
    for (const LineProfile& line : kernel.lines) {
      const bool hot = static_cast<double>(line.counters[Metric::global_sectors]) >= kHotLine * sectors;
      if (!hot || line.global_bytes_per_lane == 0 || !line.global_contiguous) continue;
      m.measured = true;
      m.value = std::min<double>(m.value, line.global_bytes_per_lane);
      if (line.global_bytes_per_lane >= limit) continue;
      m.status = Status::failed;
      Finding finding = make_finding(m.contract, line.position, input.candidate);
      finding.severity = m.level == Level::required ? Severity::error : Severity::warning;
      finding.kernel = readable_kernel(kernel.kernel);
      finding.measured = counted(line.global_bytes_per_lane, "byte") + " per lane";
      finding.required = m.required;
      finding.message = "a contiguous global access moves " + finding.measured;
      findings.add(std::move(finding));
    }
  }
  if (m.measured) m.text = fmt::format("{:.0f} bytes per lane", m.value);
  return m;
}

Measurement judge_spill(const PerformanceInput& input, FindingSet& findings) {
  Measurement m = blank(input, "registers.spill");
  m.evidence = "ptxas, " + m.evidence;
  m.measured = true;
  const double limit = threshold(*input.task, m.contract);
  for (const KernelProfile& kernel : *input.kernels) {
    int spilled = 0;
    for (const build::KernelReport& report : *input.reports)
      if (report.kernel == kernel.kernel) spilled = report.spill_store_bytes + report.spill_load_bytes;
    const std::uint64_t local = kernel.totals[Metric::local_requests];
    m.value = std::max(m.value, static_cast<double>(spilled));
    if (spilled <= limit && local == 0) continue;
    m.status = Status::failed;
    evidence::SourcePosition position;
    std::uint64_t most = 0;
    for (const LineProfile& line : kernel.lines)
      if (line.counters[Metric::local_requests] > most) most = line.counters[Metric::local_requests], position = line.position;
    if (most == 0 && !kernel.lines.empty()) position = busiest_line(kernel).position;
    Finding finding = make_finding(m.contract, position, input.candidate);
    finding.kernel = readable_kernel(kernel.kernel);
    finding.measured = fmt::format("{} spill bytes, {} local requests", spilled, local);
    finding.required = m.required;
    finding.message = local > 0 ? fmt::format("{} warp requests to local memory: an array that is indexed at run time, or a spill", local)
                                : fmt::format("ptxas spills {} bytes of registers", spilled);
    findings.add(std::move(finding), static_cast<double>(local));
    if (local > 0) m.text = fmt::format("{} local requests", local);
  }
  if (m.text == "none" || m.status == Status::passed) m.text = fmt::format("{:.0f} bytes", m.value);
  return m;
}

Measurement judge_divergence(const PerformanceInput& input, FindingSet& findings) {
  Measurement m = blank(input, "compute.divergence");
  m.larger_is_worse = false;
  m.value = 1;
  const double limit = threshold(*input.task, m.contract);
  double all_instructions = 0;
  for (const KernelProfile& kernel : *input.kernels) all_instructions += static_cast<double>(kernel.totals[Metric::inst_executed]);
  for (const KernelProfile& kernel : *input.kernels) {
    const double warp_instructions = static_cast<double>(kernel.totals[Metric::inst_executed]);
    if (warp_instructions == 0 || warp_instructions < kLightKernel * all_instructions) continue;
    m.measured = true;
    const double average = static_cast<double>(kernel.totals[Metric::thread_inst_executed]) / (32 * warp_instructions);
    m.value = std::min(m.value, average);
    bool any_line = false;
    MergedLine worst;
    for (const MergedLine& line : merge_lines(kernel, Metric::thread_inst_executed, Metric::inst_executed, nullptr, input.candidate)) {
      const double lanes = line.ratio / 32;
      const double lost = static_cast<double>(line.denominator) * (1 - lanes);
      if (worst.denominator == 0 || lost > static_cast<double>(worst.denominator) * (1 - worst.ratio / 32)) worst = line;
      if (static_cast<double>(line.denominator) < kHotDivergentLine * warp_instructions || lanes >= kHotLineLanes) continue;
      any_line = true;
      m.status = Status::failed;
      Finding finding = make_finding(m.contract, line.position, input.candidate);
      finding.kernel = readable_kernel(kernel.kernel);
      finding.measured = fmt::format("{:.1f} of 32 lanes", line.ratio);
      finding.required = m.required;
      finding.message = fmt::format("on average {:.1f} of 32 lanes are active on a line with {:.0f}% of the warp instructions",
                                    line.ratio, 100 * static_cast<double>(line.denominator) / warp_instructions);
      findings.add(std::move(finding), 32 - line.ratio);
    }
    if (average >= limit) continue;
    m.status = Status::failed;
    if (any_line) continue;
    Finding finding = make_finding(m.contract, worst.position, input.candidate);
    finding.kernel = readable_kernel(kernel.kernel);
    finding.measured = fmt::format("{:.2f}", average);
    finding.required = m.required;
    finding.message = fmt::format("warps run with {:.0f}% of their lanes on average; this line loses most", 100 * average);
    findings.add(std::move(finding));
  }
  if (m.measured) m.text = fmt::format("{:.2f}", m.value);
  return m;
}

bool allows_tensor_cores(const task::Task& task) {
  const bool matrix = task.pattern == "gemm" || task.pattern == "attention";
  return matrix && std::any_of(task.tensors.begin(), task.tensors.end(), [](const task::Tensor& tensor) {
           using task::Dtype;
           return tensor.role == task::Role::in && tensor.dtype != Dtype::f32 && tensor.dtype != Dtype::i32 &&
                  tensor.dtype != Dtype::u32 && tensor.dtype != Dtype::i64 && tensor.dtype != Dtype::boolean;
         });
}

Measurement unknown(const PerformanceInput& input, std::string_view contract, std::string_view why) {
  Measurement m = blank(input, contract);
  m.status = Status::unknown;
  m.text = why;
  m.evidence = "";
  return m;
}

Measurement judge_tensor(const PerformanceInput& input) {
  if (!allows_tensor_cores(*input.task)) return blank(input, "compute.tensor");
  return unknown(input, "compute.tensor", "matrix instructions are not counted yet");
}

}  // namespace

double threshold(const task::Task& task, std::string_view contract) {
  const ContractRow& row = *find_contract(contract);
  const auto entry = task.contracts.find(std::string(contract));
  if (entry != task.contracts.end()) {
    const auto value = entry->second.thresholds.find(std::string(row.threshold));
    if (value != entry->second.thresholds.end()) return value->second;
  }
  return row.default_threshold;
}

std::vector<Measurement> judge_performance(const PerformanceInput& input, FindingSet& findings) {
  std::vector<Measurement> all;
  for (const RatioContract& contract : kRatioContracts) all.push_back(judge_ratio(input, contract, findings));
  all.push_back(judge_vector(input, findings));
  all.push_back(unknown(input, "memory.reuse", "needs DRAM counters or a cache model"));
  all.push_back(judge_occupancy(input, findings));
  all.push_back(judge_spill(input, findings));
  all.push_back(unknown(input, "compute.issue", "needs machine code"));
  all.push_back(judge_tensor(input));
  all.push_back(judge_divergence(input, findings));
  return all;
}

}  // namespace kforge::judge
