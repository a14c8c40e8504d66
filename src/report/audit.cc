#include "report/audit.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "judge/contract_table.h"

namespace kforge::report {
namespace {

// Which layer reads a contract: the first row whose prefix its id has.
struct LayerRow { std::string_view prefix; int layer; };
constexpr std::array<LayerRow, 14> kLayers = {{{"build", 0}, {"portability", 0}, {"safety.", 1}, {"run.", 1}, {"launch.", 1}, {"interface", 1}, {"memory.", 2},
    {"shared.", 2}, {"occupancy", 2}, {"registers.", 2}, {"compute.", 2}, {"numerics", 3}, {"honest", 3}, {"goal", 3}}};
constexpr std::array<std::string_view, 4> kTitles = {"Syntax and target", "Safety", "Hardware", "Golden data and goal"};

int layer_of(std::string_view contract) {
  for (const LayerRow& row : kLayers)
    if (contract.starts_with(row.prefix)) return row.layer;
  return 3;
}

const Finding* first_finding(const Verdict& verdict, const std::string& contract) {
  const auto found = std::find_if(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& f) { return f.contract == contract; });
  return found == verdict.findings.end() ? nullptr : &*found;
}

std::string cause_of(const Finding& finding) {
  std::string text = finding.cause.empty() ? finding.message : finding.cause;
  if (finding.line > 0) text += fmt::format(" (line {})", finding.line);
  return text;
}

AuditRow row_of(const Verdict& verdict, const ContractReport& contract) {
  AuditRow row;
  row.contract = contract.id;
  if (const judge::ContractRow* known = judge::find_contract(contract.id)) row.statement = known->statement;
  row.level = contract.level;
  row.status = contract.status;
  row.expected = contract.required;
  row.measured = contract.measured;
  row.evidence = contract.evidence;
  const Finding* finding = first_finding(verdict, contract.id);
  if (row.measured.empty() && finding && !finding->measured.empty()) row.measured = finding->measured;
  if (row.measured.empty()) row.measured = contract.status == Status::passed ? "as expected" : std::string(name(contract.status));
  if (finding) row.cause = cause_of(*finding);
  else if (contract.status == Status::unknown) row.cause = contract.measured.empty() ? "not established" : contract.measured;
  return row;
}

AuditRow cases_row(const Verdict& verdict) {
  AuditRow row;
  row.contract = "cases";
  row.statement = "outputs agree with the reference at every size and kind of values";
  const auto count = [&](Status status) { return std::count_if(verdict.cases.begin(), verdict.cases.end(), [&](const CaseReport& c) { return c.status == status; }); };
  row.expected = fmt::format("{} of {} passed", verdict.cases.size(), verdict.cases.size());
  row.measured = fmt::format("{} of {} passed", count(Status::passed), verdict.cases.size());
  const bool failed = count(Status::failed) > 0, all = count(Status::passed) == static_cast<long>(verdict.cases.size());
  row.status = failed ? Status::failed : all ? Status::passed : Status::unknown;
  for (const CaseReport& c : verdict.cases)
    if (row.cause.empty() && c.status == Status::failed) row.cause = c.why;
  for (const CaseReport& c : verdict.cases)
    if (row.cause.empty() && c.status != Status::passed) row.cause = c.why;
  row.evidence = "reference";
  return row;
}

// The largest error of any case, as a figure to compare between candidates.
AuditRow error_row(const Verdict& verdict) {
  AuditRow row;
  row.contract = "error";
  row.statement = "largest error over all cases and outputs";
  row.expected = "within the tolerance of type and reduction length";
  double abs = 0, rel_l2 = 0;
  std::uint64_t mismatched = 0;
  bool any = false;
  for (const CaseReport& c : verdict.cases)
    for (const TensorReport& t : c.tensors) {
      any = true;
      abs = std::max(abs, t.max_abs);
      rel_l2 = std::max(rel_l2, t.rel_l2);
      mismatched += t.mismatched;
    }
  row.status = !any ? Status::unknown : mismatched > 0 ? Status::failed : Status::passed;
  row.measured = any ? fmt::format("max abs {:.3g}, rel L2 {:.3g}, {} mismatched", abs, rel_l2, mismatched) : "nothing compared";
  row.evidence = "reference";
  return row;
}

struct StepRow {
  std::string_view title, question;
  std::span<const std::string_view> contracts;
};
constexpr std::string_view kOccupancy[] = {"occupancy"};
constexpr std::string_view kMemory[] = {"memory.coalescing", "memory.alignment", "memory.vector", "memory.reuse"};
constexpr std::string_view kBanks[] = {"shared.banks"};
constexpr std::string_view kMix[] = {"compute.issue", "compute.tensor", "registers.spill"};
constexpr std::string_view kDivergence[] = {"compute.divergence"};
constexpr StepRow kSteps[] = {
    {"Occupancy", "Are there enough resident warps to cover latency?", kOccupancy},
    {"Memory throughput", "Does every byte that moves serve, and in wide, aligned requests?", kMemory},
    {"Banks", "Does shared memory answer without extra wavefronts?", kBanks},
    {"Instruction mix", "Do the issue slots go to useful arithmetic?", kMix},
    {"Divergence", "Do warps run with all of their lanes?", kDivergence},
};

std::string answer_of(const ReadingStep& step) {
  for (const Status wanted : {Status::failed, Status::unknown})
    for (const AuditRow& row : step.rows)
      if (row.status == wanted) {
        const std::string what = fmt::format("{}: {}", row.contract, row.measured);
        return wanted == Status::failed ? what + (row.cause.empty() ? "" : ", " + row.cause) : what + " (not known)";
      }
  std::string text = "Yes";
  for (const AuditRow& row : step.rows)
    if (row.status == Status::passed && row.measured != "as expected") text += fmt::format("{} {} {}", text == "Yes" ? ":" : ";", row.contract, row.measured);
  return text + ".";
}

}  // namespace

std::vector<AuditLayer> audit(const Verdict& verdict) {
  std::vector<AuditLayer> layers;
  for (const std::string_view title : kTitles) layers.push_back({std::string(title), {}});
  for (const ContractReport& contract : verdict.contracts)
    if (contract.status != Status::off) layers[static_cast<std::size_t>(layer_of(contract.id))].rows.push_back(row_of(verdict, contract));
  if (!verdict.cases.empty()) {
    layers[3].rows.push_back(cases_row(verdict));
    layers[3].rows.push_back(error_row(verdict));
  }
  return layers;
}

std::vector<ReadingStep> five_steps(const Verdict& verdict) {
  std::vector<ReadingStep> steps;
  for (const StepRow& known : kSteps) {
    ReadingStep step{std::string(known.title), std::string(known.question), {}, true, {}};
    for (const std::string_view id : known.contracts)
      for (const ContractReport& contract : verdict.contracts)
        if (contract.id == id && contract.status != Status::off) step.rows.push_back(row_of(verdict, contract));
    for (const AuditRow& row : step.rows) step.good &= row.status == Status::passed;
    if (step.rows.empty()) step.good = false;
    step.answer = step.rows.empty() ? "not judged" : answer_of(step);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace kforge::report
