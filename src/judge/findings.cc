#include "judge/findings.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <fmt/format.h>

#include "evidence/plain_path.h"
#include "judge/contract_table.h"

namespace kforge::judge {
namespace {

std::size_t table_order(std::string_view contract) {
  const auto table = contract_table();
  const ContractRow* row = find_contract(contract);
  return row ? static_cast<std::size_t>(row - table.data()) : table.size();
}

// What to do about a kind of violation for which its contract's advice is of no help.
struct KindAdvice { std::string_view kind, advice; };
constexpr KindAdvice kKindAdvice[] = {
    {"race-streams", "record an event behind the first (cudaEventRecord) and let the second's stream wait for it (cudaStreamWaitEvent), or put both into one stream"},
    {"race-scope", "use the atomic of the device's scope (atomicAdd in place of atomicAdd_block, cuda::thread_scope_device)"},
    {"race-dependent-launch", "call cudaGridDependencySynchronize() before the first access to what the kernel before it reads or writes, or launch without the attribute"},
    {"printing", "print a few lines at most, and nothing for each thread or call"},
    {"double-free", "free each allocation once: set the pointer to null when it is freed"},
    {"wrong-free", "free what an allocating function gave, with its counterpart: cudaMalloc and cudaFree, cudaMallocHost and cudaFreeHost, cudaMallocAsync and cudaFreeAsync or cudaFree"},
};

// Kernels that the message names besides the violation's own.
void make_kernels_readable(std::string& message) {
  constexpr std::string_view kBefore = "kernel ";
  for (std::size_t at = message.find("kernel _Z"); at != std::string::npos; at = message.find("kernel _Z", at + 1)) {
    const std::size_t first = at + kBefore.size();
    const std::size_t end = std::min(message.size(), message.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.", first));
    message.replace(first, end - first, readable_kernel(message.substr(first, end - first)));
  }
}

// The candidate under the name that the user gave, where the compiler wrote its full path.
std::string shown(const std::string& file, const std::string& candidate) {
  return file.empty() || file.ends_with("/" + candidate) || file == evidence::plain_source_name(candidate) ? candidate : file;
}

// "what [rows=17 cols=1000]": the case in which it was seen; "" where the message names none.
std::string_view case_of(std::string_view message) {
  const std::size_t open = message.rfind(" [");
  return open == std::string_view::npos || !message.ends_with(']') ? std::string_view() : message.substr(open + 2, message.size() - open - 3);
}

std::string_view without_case(std::string_view message) {
  const std::string_view label = case_of(message);
  return label.empty() ? message : message.substr(0, message.size() - label.size() - 3);
}

bool same_place(const Finding& a, const Finding& b) {
  if (a.contract != b.contract || a.file != b.file || a.line != b.line) return false;
  // Without a line, what the host side did is told apart by its words; what a kernel did is one finding.
  return a.line != 0 || a.contract == "numerics" || !a.kernel.empty() || without_case(a.message) == without_case(b.message);
}

// What the host did has no position of its own: the launch of the kernel that is named, or the runtime function in the message.
int host_line(const HostLines& host, const Finding& finding) {
  if (finding.contract != "interface" && finding.contract != "launch.limits") return 0;
  const bool no_stream = finding.message.find(" ran in the default stream") != std::string::npos || finding.message.starts_with("the launcher calls __cudaLaunchKernel");
  if (!finding.kernel.empty()) return host.launch_of(finding.kernel, no_stream);
  struct Row { std::string_view words, function; };
  static constexpr Row kRows[] = {{"a copy of ", "cudaMemcpy"}, {"a fill of ", "cudaMemset"}, {"a host function ", "cudaLaunchHostFunc"}, {"a host callback ", "cudaStreamAddCallback"}};
  for (const Row& row : kRows)
    if (finding.message.starts_with(row.words)) return host.call_of(row.function);
  const std::size_t at = finding.message.find("cuda");
  const bool called = finding.message.starts_with("the launcher calls cuda") || at == 0;
  return called ? host.call_of(std::string_view(finding.message).substr(at, finding.message.find(' ', at) - at)) : 0;
}

}  // namespace

void FindingSet::add(Finding finding, double weight) {
  if (finding.line == 0) finding.line = host_line(host_, finding);
  const auto same = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return same_place(entry.finding, finding); });
  const std::string label(case_of(finding.message));
  if (same == entries_.end()) {
    entries_.push_back({std::move(finding), weight, {label}});
    return;
  }
  same->cases.insert(label);
  const std::uint64_t count = same->finding.count + finding.count;
  const bool worse = finding.severity < same->finding.severity ||
                     (finding.severity == same->finding.severity && weight > same->weight);
  if (worse) {
    same->finding = std::move(finding);
    same->weight = weight;
  }
  same->finding.count = count;
}

bool FindingSet::has(std::string_view contract) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.finding.contract == contract; });
}

const Finding* FindingSet::first_error(std::string_view contract) const {
  for (const Entry& entry : entries_)
    if (entry.finding.contract == contract && entry.finding.severity == Severity::error) return &entry.finding;
  return nullptr;
}

bool FindingSet::has_error(std::string_view contract) const { return first_error(contract) != nullptr; }

std::vector<Finding> FindingSet::take() {
  std::vector<Finding> findings;
  findings.reserve(entries_.size());
  for (Entry& entry : entries_) {
    if (const std::size_t others = entry.cases.size() - 1; others > 0) entry.finding.message += fmt::format(" (and in {} other case{})", others, others == 1 ? "" : "s");
    findings.push_back(std::move(entry.finding));
  }
  entries_.clear();
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const auto key = [](const Finding& f) { return std::tuple(f.severity, table_order(f.contract)); };
    return std::tuple_cat(key(a), std::tie(a.file, a.line)) < std::tuple_cat(key(b), std::tie(b.file, b.line));
  });
  return findings;
}

std::string readable_kernel(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  if (status != 0 || !plain) return mangled;
  std::string text = plain.get();
  int depth = 0;
  std::size_t end = text.size();
  for (std::size_t i = 0; i < text.size() && end == text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    const bool anonymous = text.compare(i, 21, "(anonymous namespace)") == 0;
    if (text[i] == '(' && depth == 0 && anonymous) i += 20;
    else if (text[i] == '(' && depth == 0) end = i;
  }
  text.resize(end);
  if (text.rfind("void ", 0) == 0) text.erase(0, 5);
  return text;
}

Finding make_finding(std::string_view contract, const evidence::SourcePosition& position, const std::string& candidate) {
  Finding finding;
  finding.contract = contract;
  const evidence::SourceFrame frame = position.line_in(candidate);
  finding.file = shown(frame.file, candidate);
  finding.line = frame.line;
  finding.column = frame.column;
  if (const ContractRow* row = find_contract(contract)) {
    finding.required = row->required;
    if (!row->advice.empty()) finding.advice.emplace_back(row->advice);
  }
  return finding;
}

Finding to_finding(const evidence::Violation& violation, const std::string& candidate) {
  Finding finding = make_finding(violation.contract, violation.where, candidate);
  finding.severity = violation.advice ? Severity::warning : Severity::error;
  finding.message = violation.message;
  if (!violation.kernel.empty()) {
    finding.kernel = readable_kernel(violation.kernel);
    const std::size_t named = finding.message.find(violation.kernel);
    if (named != std::string::npos) finding.message.replace(named, violation.kernel.size(), finding.kernel);
  }
  make_kernels_readable(finding.message);
  for (const auto& [kind, advice] : kKindAdvice)
    if (kind == violation.kind) finding.advice.assign(1, std::string(advice));
  finding.measured = violation.measured;
  if (!violation.required.empty()) finding.required = violation.required;
  finding.cause = violation.kind;
  finding.count = violation.count;
  if (!violation.other.frames.empty()) {
    const evidence::SourceFrame other = violation.other.line_in(candidate);
    finding.other_file = shown(other.file, candidate);
    finding.other_line = other.line;
  }
  return finding;
}

}  // namespace kforge::judge
