#include "judge/correctness.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "evidence/unsupported.h"
#include "judge/contract_table.h"
#include "judge/storing_line.h"
#include "ptx/checks.h"
#include "task/cases.h"
#include "task/dtype_convert.h"

namespace kforge::judge {
namespace {

Finding host_finding(std::string_view contract, const std::string& candidate, std::string message) {
  Finding finding = make_finding(contract, {}, candidate);
  finding.message = std::move(message);
  return finding;
}

void judge_violations(const trial::CallEvidence& call, const std::string& candidate, FindingSet& findings, std::string& why) {
  for (const evidence::Violation& violation : call.log.violations) {
    // Sampled execution never counts for safety (design.md, "Trial").
    if (call.sampled) continue;
    Finding finding = to_finding(violation, candidate);
    if (finding.severity == Severity::error && why.empty()) why = fmt::format("{}: {}", violation.contract, violation.message);
    finding.message += fmt::format(" [{}]", call.run.label);
    findings.add(std::move(finding));
  }
}

// How the device side ended, where no violation says it already.
void judge_ending(const trial::CallEvidence& call, const std::string& candidate, FindingSet& findings, std::string& why) {
  using evidence::Ending;
  const Ending ending = call.log.ending;
  if (ending == Ending::finished || call.sampled || !evidence::unsupported_instruction(call.log).empty()) return;
  const std::string_view contract = ending == Ending::hang ? "run.hang" : ending == Ending::limit ? "run.limit" : "run.crash";
  const auto& violations = call.log.violations;
  const bool told = std::any_of(violations.begin(), violations.end(), [&](const evidence::Violation& violation) {
    return !violation.advice && (violation.contract == contract || ending == Ending::trap);
  });
  if (!told) findings.add(host_finding(contract, candidate, fmt::format("{} [{}]", call.log.ending_detail, call.run.label)));
  if (why.empty()) why = fmt::format("{}: {}", contract, call.log.ending_detail);
}

// Every element that still holds what it was given is one that the reference leaves as it is (a scatter-add touches some rows
// only): nobody had to write it. False when there is no reference to ask.
bool rest_stays_as_given(const task::Tensor& tensor, std::span<const std::byte> given, const trial::Output& output,
                         const task::Sizes& sizes) {
  const auto layout = task::layout(tensor, sizes);
  if (!layout || output.reference.size() != static_cast<std::size_t>(layout->elements) || given.size() != output.bytes.size()) return false;
  for (std::size_t i = 0; i < output.reference.size(); ++i) {
    const std::size_t at = byte_offset(*layout, i, tensor.dtype);
    if (std::memcmp(&given[at], &output.bytes[at], task::size_bytes(tensor.dtype)) != 0) continue;
    if (task::load_element(tensor.dtype, &given[at]) != task::round_to(tensor.dtype, output.reference[i])) return false;
  }
  return true;
}

// What an inout tensor need not be written.
bool needs_no_write(const task::Task& task, const trial::CallEvidence& call, const std::string& name) {
  std::size_t input = 0;
  for (const task::Tensor& tensor : task.tensors) {
    if (tensor.name == name) {
      if (tensor.role != task::Role::inout || input >= call.inputs.size()) return false;
      return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const trial::Output& output) {
        return output.tensor == name && rest_stays_as_given(tensor, call.inputs[input], output, call.run.sizes);
      });
    }
    if (tensor.role != task::Role::out) ++input;
  }
  return false;
}

std::uint64_t first_unwritten_byte(const task::Task& task, const trial::CallEvidence& call, const evidence::Coverage& coverage) {
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.name == coverage.tensor)
      if (const auto layout = task::layout(tensor, call.run.sizes)) return byte_offset(*layout, coverage.first_unwritten, tensor.dtype);
  return 0;
}

void judge_coverage(const task::Task& task, const trial::CallEvidence& call, const std::string& candidate, FindingSet& findings,
                    std::string& why) {
  for (const evidence::Coverage& coverage : call.log.coverage) {
    if (coverage.unwritten == 0 || needs_no_write(task, call, coverage.tensor)) continue;
    const StoringLine storing = StoringLines(call.log, coverage.tensor).nearest(first_unwritten_byte(task, call, coverage));
    Finding finding = make_finding("launch.coverage", storing.position, candidate);
    finding.kernel = storing.kernel.empty() ? "" : readable_kernel(storing.kernel);
    finding.measured = fmt::format("{} of {} elements unwritten", coverage.unwritten, coverage.elements);
    finding.message = fmt::format("the kernels left {} of {} elements of '{}' unwritten, first element {} [{}]", coverage.unwritten,
                                  coverage.elements, coverage.tensor, coverage.first_unwritten, call.run.label);
    if (coverage.host_written > 0)
      finding.cause = fmt::format("{} elements came from the host during the call, which does not count", coverage.host_written);
    if (why.empty()) why = "launch.coverage: " + finding.measured;
    findings.add(std::move(finding), static_cast<double>(coverage.unwritten));
  }
}

bool allowed(const task::Task& task, const std::string& kind) {
  return kind.empty() || std::find(task.allow.begin(), task.allow.end(), kind) != task.allow.end();
}

void judge_manners(const task::Task& task, const trial::CallEvidence& call, const std::string& candidate, FindingSet& findings,
                   std::string& why) {
  const auto fail = [&](std::string message, const std::string& kernel = {}) {
    if (why.empty()) why = "interface: " + message;
    Finding finding = host_finding("interface", candidate, std::move(message));
    if (!kernel.empty()) finding.kernel = readable_kernel(kernel);
    findings.add(std::move(finding));
  };
  for (const std::string& tensor : call.log.changed_inputs) {
    const StoringLine storing = StoringLines(call.log, tensor).of_itself();
    Finding finding = make_finding("interface", storing.position, candidate);
    finding.kernel = storing.kernel.empty() ? "" : readable_kernel(storing.kernel);
    finding.message = fmt::format("the call changed its input '{}'", tensor);
    if (why.empty()) why = "interface: " + finding.message;
    findings.add(std::move(finding));
  }
  for (const evidence::RuntimeCall& use : call.log.calls)
    if (!allowed(task, use.kind)) {
      const bool launches = use.function.find("LaunchKernel") != std::string::npos;
      fail(fmt::format("the launcher calls {} ({}), which the task does not allow; add \"{}\" to [interface] allow if it may", use.function,
                       use.detail.empty() ? use.kind : readable_kernel(use.detail), use.kind), launches ? use.detail : "");
    }
  const bool device_fault = call.log.ending != evidence::Ending::finished;
  const bool told = findings.has_error("launch.limits");
  if (call.log.returned != 0 && !device_fault && !told) fail(fmt::format("the launcher returned cudaError_t {}", call.log.returned));
}

}  // namespace

std::string judge_call(const task::Task& task, const trial::CallEvidence& call, const std::string& candidate, FindingSet& findings) {
  std::string why;
  if (!call.fault.contract.empty()) {
    why = fmt::format("{}: {}", call.fault.contract, call.fault.message);
    findings.add(host_finding(call.fault.contract, candidate, fmt::format("{} [{}]", call.fault.message, call.run.label)));
  }
  judge_violations(call, candidate, findings, why);
  judge_ending(call, candidate, findings, why);
  if (!call.completed || call.sampled) return why;
  if (call.log.ending == evidence::Ending::finished) judge_coverage(task, call, candidate, findings, why);
  judge_manners(task, call, candidate, findings, why);
  return why;
}

trial::CallEvidence without(const trial::Defences& defences, trial::CallEvidence call) {
  using trial::Defence;
  const auto drop = [&](std::initializer_list<std::string_view> kinds) {
    std::erase_if(call.log.violations, [&](const evidence::Violation& v) { return std::find(kinds.begin(), kinds.end(), v.kind) != kinds.end(); });
  };
  if (!defences.on(Defence::inputs)) call.log.changed_inputs.clear();
  if (!defences.on(Defence::allow)) call.log.calls.clear();
  if (!defences.on(Defence::coverage)) call.log.coverage.clear(), drop({"host-reads"});
  if (!defences.on(Defence::order)) drop({"late-work", "not-forked", "not-joined", "host-function"});
  if (!defences.on(Defence::manners)) drop({"destroys", "capturing", "environment"});
  if (!defences.on(Defence::persistence)) drop({"persistence"});
  return call;
}

namespace {

// CUDA's device-wide algorithms, compiled into the candidate: their kernels stand in the libraries' own namespaces, or at least in their files, which no macro
// changes.
std::string library_of(const ptx::Module& module, const ptx::Function& kernel) {
  struct Row { std::string_view name, folder, library; };
  static constexpr Row kRows[] = {{"_ZN3cub", "/cub/", "CUB"}, {"_ZN6thrust", "/thrust/", "Thrust"}, {"_ZN4cuda3std", "/cuda/std/", "libcu++"}};
  const auto located = std::find_if(kernel.instructions.begin(), kernel.instructions.end(), [&](const ptx::Instruction& i) { return !module.locations[i.location].frames.empty(); });
  const std::string_view file = located == kernel.instructions.end() ? std::string_view() : module.locations[located->location].frames.back().file;
  const bool in_toolkit = file.find("/include/") != std::string_view::npos;
  for (const Row& row : kRows)
    if (kernel.name.starts_with(row.name) || (in_toolkit && file.find(row.folder) != std::string_view::npos)) return std::string(row.library);
  return {};
}

void judge_object(const task::Task& task, const trial::TrialResult& trial, const std::string& candidate, const trial::Defences& defences, FindingSet& findings) {
  using trial::Defence;
  const auto fail = [&](std::string message) { findings.add(host_finding("interface", candidate, std::move(message))); };
  if (defences.on(Defence::symbols))
    for (const std::string& symbol : trial.artefact.forbidden_symbols) fail(fmt::format("the object defines '{}', which belongs to CUDA, the C library or the harness", symbol));
  if (defences.on(Defence::imports))
    for (const std::string& name : trial.artefact.forbidden_imports)
      if (!name.starts_with("dl") || !allowed(task, "libraries")) fail(fmt::format("the object asks for {}: a launcher launches kernels", name));
  if (!defences.on(Defence::libraries) || !trial.module || allowed(task, "libraries")) return;
  for (const ptx::Function& function : trial.module->functions)
    if (const std::string library = function.is_entry ? library_of(*trial.module, function) : ""; !library.empty())
      fail(fmt::format("the kernel {} is {}'s, where an own one is asked; add \"libraries\" to [interface] allow if it may", readable_kernel(function.name), library));
}

}  // namespace

void judge_build(const task::Task& task, const trial::TrialResult& trial, int sm, const std::string& candidate, const trial::Defences& defences, FindingSet& findings) {
  const build::Artefact& artefact = trial.artefact;
  if (!artefact.ok) {
    const bool interface = artefact.failure == "interface";
    bool any = false;
    for (const build::Diagnostic& diagnostic : artefact.diagnostics) {
      if (diagnostic.severity != build::Severity::error) continue;
      Finding finding = host_finding(interface ? "interface" : "build", candidate, diagnostic.message);
      if (!diagnostic.file.empty() && !diagnostic.file.ends_with("/" + candidate)) finding.file = diagnostic.file;
      finding.line = static_cast<std::uint32_t>(std::max(0, diagnostic.line));
      finding.column = static_cast<std::uint32_t>(std::max(0, diagnostic.column));
      finding.cause = diagnostic.tool;
      findings.add(std::move(finding));
      any = true;
    }
    if (!any) findings.add(host_finding("build", candidate, artefact.failure == "limit" ? "the compiler exceeded its limits" : "the compiler failed without a message"));
  }
  judge_object(task, trial, candidate, defences, findings);
  if (!trial.module) return;
  for (const ptx::TargetIssue& issue : ptx::check_target(*trial.module, static_cast<std::uint32_t>(sm))) {
    Finding finding = make_finding("portability", trial.module->locations[issue.location], candidate);
    finding.message = fmt::format("{} needs sm_{} and the target is sm_{}", issue.opcode, issue.needed_sm, sm);
    findings.add(std::move(finding));
  }
}

}  // namespace kforge::judge
