#include "judge/judge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "evidence/unsupported.h"
#include "judge/answer.h"
#include "judge/contract_table.h"
#include "judge/correctness.h"

namespace kforge::judge {
namespace {

Status case_status(const trial::CallEvidence& call, const std::string& why) {
  if (!call.skipped.empty()) return Status::skipped;
  if (!why.empty()) return Status::failed;
  if (call.sampled || !call.completed) return Status::unknown;
  return Status::passed;
}

// failed before unknown before passed; of two equal ones the worse value.
bool worse(const Measurement& a, const Measurement& b) {
  const auto rank = [](Status status) { return status == Status::failed ? 2 : status == Status::unknown ? 1 : 0; };
  if (rank(a.status) != rank(b.status)) return rank(a.status) > rank(b.status);
  if (a.measured != b.measured) return a.measured;
  return a.larger_is_worse ? a.value > b.value : a.value < b.value;
}

Level task_level(const task::Task& task, std::string_view id, Level level) {
  const auto entry = task.contracts.find(std::string(id));
  if (entry == task.contracts.end() || !entry->second.level) return level;
  switch (*entry->second.level) {
    case task::Level::required: return Level::required;
    case task::Level::advice: return Level::advice;
    case task::Level::off: return Level::off;
  }
  return level;
}

// The bounds of contracts.md that the task replaces by its own; empty: none.
std::string own_bounds(const task::Numerics& numerics) {
  std::vector<std::string> parts;
  if (numerics.abs || numerics.rel)
    parts.push_back(fmt::format("|out - ref| <= {:g} + {:g} |ref|", numerics.abs.value_or(0), numerics.rel.value_or(0)));
  if (numerics.integer_difference.value_or(0) != 0) parts.push_back(fmt::format("integers may differ by {:g}", *numerics.integer_difference));
  if (numerics.allow_nan) parts.push_back("NaN is allowed where the reference has it");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Status rung_status(trial::RungStatus status) {
  static constexpr Status kStatus[] = {Status::passed, Status::failed, Status::skipped, Status::unknown};
  return kStatus[static_cast<int>(status)];
}

}  // namespace

Judge::Judge(const task::Task& task, const hardware::DataSheet& sheet, JudgeOptions options)
    : task_(task), sheet_(sheet), options_(std::move(options)), numerics_(task) {}

void Judge::see(const trial::CallEvidence& call) {
  CaseReport report;
  for (const std::string& size : task_.size_names()) report.sizes.emplace_back(size, call.run.sizes.at(size));
  report.values = call.run.values;
  report.call = call.call;
  report.sampled = call.sampled;
  if (!call.skipped.empty()) {
    report.status = Status::skipped;
    report.why = call.skipped;
    see_skipped(call);
    cases_.push_back(std::move(report));
    return;
  }
  std::string why = judge_call(task_, call, options_.candidate, findings_);
  const bool whole = call.completed && !call.sampled && call.log.ending == evidence::Ending::finished;
  if (whole) {
    any_complete_ = true;
    const std::string wrong = numerics_.see(call, options_.candidate, report, findings_);
    if (why.empty()) why = wrong;
  }
  if (call.repeats > 0) see_repeats(call);
  for (const evidence::Unproven& item : call.log.unproven) unknown_[item.contract] = item.why;
  if (const std::string what = evidence::unsupported_instruction(call.log); !what.empty()) unknown_["portability"] = what;
  if (call.sampled) {
    const bool early = call.log.ending != evidence::Ending::finished;
    unproven_.push_back(fmt::format("correctness at {}: over the emulator's budget, {} blocks sampled{}{}", call.run.label, call.log.sampled_blocks,
                                    early ? "; they ended early: " : "", early ? call.log.ending_detail : ""));
  }
  report.status = case_status(call, why);
  report.why = !why.empty() ? why : report.status == Status::unknown ? (call.sampled ? "sampled blocks only" : "did not complete") : "";
  cases_.push_back(std::move(report));
  if (call.run.measure && call.completed && !options_.only_correctness) see_measured(call);
}

void Judge::see_skipped(const trial::CallEvidence& call) {
  for (const evidence::Unproven& item : call.log.unproven) unknown_[item.contract] = item.why;
  auto group = std::find_if(skipped_.begin(), skipped_.end(), [&](const auto& entry) { return entry.first == call.skipped; });
  if (group == skipped_.end()) group = skipped_.insert(group, {call.skipped, {}});
  std::vector<std::string>& labels = group->second;
  if (std::find(labels.begin(), labels.end(), call.run.label) == labels.end()) labels.push_back(call.run.label);
}

// One line a reason, with the sizes that it left unproven.
void Judge::list_skipped() {
  constexpr std::size_t kShown = 3;
  for (const auto& [why, labels] : skipped_) {
    const std::size_t shown = std::min(kShown, labels.size());
    std::string at = fmt::format("{}", fmt::join(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
    if (labels.size() > shown) at += fmt::format(" and {} more sizes", labels.size() - shown);
    unproven_.push_back(fmt::format("correctness at {}: {}", at, why));
  }
}

bool Judge::rejected() const {
  const auto table = contract_table();
  return std::any_of(table.begin(), table.end(), [&](const ContractRow& row) {
    return row.group == Group::correctness && task_level(task_, row.id, row.level) == Level::required && findings_.has_error(row.id);
  });
}

void Judge::see_repeats(const trial::CallEvidence& call) {
  repeats_ += call.repeats;
  if (call.differing_output.empty()) return;
  const StoringLine storing = StoringLines(call.log, call.differing_output).busiest();
  Finding finding = make_finding("numerics.deterministic", storing.position, options_.candidate);
  finding.severity = Severity::warning;
  finding.kernel = storing.kernel.empty() ? "" : readable_kernel(storing.kernel);
  finding.message = fmt::format("equal inputs gave other bits of '{}' when warps and blocks ran in another order [{}]", call.differing_output, call.run.label);
  differing_ = fmt::format("'{}' differs", call.differing_output);
  findings_.add(std::move(finding));
}

void Judge::see_measured(const trial::CallEvidence& call) {
  trial::CallEvidence kept;
  kept.run = call.run;
  kept.sampled = call.sampled;
  kept.log = call.log;
  measured_.push_back(std::move(kept));
}

void Judge::see_build(const trial::TrialResult& trial) {
  built_ = trial.artefact.ok;
  judge_build(trial, sheet_.sm(), options_.candidate, findings_);
  if (!trial.ptx_error.empty()) unknown_["portability"] = trial.ptx_error;
  for (const trial::CallEvidence& call : measured_) {
    PerformanceInput input;
    input.task = &task_;
    input.sheet = &sheet_;
    input.reports = &trial.artefact.kernels;
    input.kernels = &call.log.kernels;
    input.candidate = options_.candidate;
    add_tensor_bytes(input, call.run.sizes);
    input.sampled_blocks = call.log.sampled_blocks;
    times_[call.run.sizes] = modelled_time(input);
    for (Measurement& m : judge_performance(input, findings_)) {
      const auto [entry, fresh] = performance_.try_emplace(m.contract, m);
      const bool required = entry->second.level == Level::required || m.level == Level::required;
      if (!fresh && worse(m, entry->second)) entry->second = std::move(m);
      if (required) entry->second.level = Level::required;
    }
    if (resources_.empty()) resources_ = resources(input);
  }
}

ContractReport Judge::report(std::string_view id) const {
  const ContractRow& row = *find_contract(id);
  ContractReport report;
  report.id = id;
  report.level = row.level;
  report.required = fmt::format(fmt::runtime(row.required), threshold(task_, id));
  if (row.group == Group::performance) {
    const auto entry = performance_.find(std::string(id));
    if (entry == performance_.end()) {
      report.status = Status::unknown;
      report.measured = "no measured size ran";
    } else {
      const Measurement& m = entry->second;
      report.level = m.level;
      report.status = m.status;
      report.measured = m.text;
      report.required = m.required;
      report.evidence = m.evidence;
    }
  } else if (id == "build" || id == "interface" || id == "portability") {
    report.status = findings_.has_error(id) ? Status::failed : built_ && (id == "build" || any_complete_) ? Status::passed : Status::unknown;
    report.evidence = id == "portability" ? "ptx" : id == "build" ? "nvcc" : "process";
  } else if (id == "honest") {
    report.status = Status::passed;
    report.measured = "none: time is not measured here";
  } else if (id == "numerics.deterministic") {
    report.status = repeats_ == 0 ? Status::unknown : differing_.empty() ? Status::passed : Status::failed;
    report.measured = repeats_ == 0 ? "not repeated with equal inputs" : differing_.empty() ? "" : differing_;
    report.evidence = "emulator";
  } else if (id == "goal") {
    report.status = Status::unknown;
    report.measured = "time is not measured here";
  } else {
    report.status = findings_.has_error(id) ? Status::failed : any_complete_ ? Status::passed : Status::unknown;
    report.evidence = id.starts_with("run.") ? "process" : "emulator";
  }
  if (id == "numerics") {
    const std::string own = own_bounds(task_.numerics);
    if (!own.empty()) report.measured = report.required = "by the task's own bounds: " + own;
  }
  const auto unknown = unknown_.find(std::string(id));
  if (unknown != unknown_.end() && report.status != Status::failed) {
    report.status = Status::unknown;
    report.measured = unknown->second;
  }
  report.level = task_level(task_, id, report.level);
  // What is not judged here is off, whatever level the task gives it.
  if (id == "goal" && !task_.goal) report.level = Level::off;
  if (row.group != Group::correctness && options_.only_correctness) report.level = Level::off;
  // A task with a goal is judged by it: failed performance contracts explain the distance (contracts.md).
  if (row.group == Group::performance && task_.goal && report.level == Level::required) report.level = Level::advice;
  if (report.level == Level::off) report.status = Status::off;
  return report;
}

Expected<Verdict> Judge::conclude(const trial::TrialResult& trial) {
  numerics_.finish(options_.candidate, findings_);
  see_build(trial);
  list_skipped();
  Verdict verdict;
  verdict.task = task_.name;
  verdict.candidate = options_.candidate;
  verdict.gpu = sheet_.name;
  verdict.device = "emulated " + sheet_.name;
  std::vector<std::optional<hardware::ModelledTime>> times;   // a size that did not run leaves the verdict without a time
  for (const task::Sizes& sizes : task_.measure) {
    const auto found = times_.find(sizes);
    times.push_back(found == times_.end() ? std::nullopt : found->second);
  }
  verdict.time = time_report(times);
  for (const trial::Rung& rung : trial.rungs) verdict.rungs.push_back({rung.name, rung_status(rung.status), rung.seconds, rung.why});
  for (const ContractRow& row : contract_table()) verdict.contracts.push_back(report(row.id));

  answer(verdict, options_.only_correctness);
  for (const ContractReport& c : verdict.contracts)
    if (c.status == Status::unknown && !find_contract(c.id)->must_know) unproven_.push_back(c.id + (c.measured.empty() ? "" : ": " + c.measured));
  if (!numerics_.task_fault().empty())
    return fail(ErrorCode::bad_input, numerics_.task_fault(), {task_.path, 0, 0}, "mend the reference or the values of the inputs");
  if (verdict.status != VerdictStatus::rejected) {
    if (const auto blind = numerics_.blind_output(); any_complete_ && blind)
      return fail(ErrorCode::bad_input, fmt::format("this task's check cannot fail: every case of output '{}' is degenerate ({})", *blind,
                                                    "its reference is zero, constant or a copy of an input"),
                  {task_.path, 0, 0}, "give the inputs values, or add [sizes] verify, for which the output differs");
  }
  verdict.findings = findings_.take();
  for (Finding& finding : verdict.findings) {   // a finding never weighs more than its contract
    const auto contract = std::find_if(verdict.contracts.begin(), verdict.contracts.end(), [&](const ContractReport& c) { return c.id == finding.contract; });
    if (contract != verdict.contracts.end() && contract->level != Level::required && finding.severity == Severity::error) finding.severity = Severity::warning;
  }
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(), [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  verdict.cases = std::move(cases_);
  verdict.resources = std::move(resources_);
  verdict.unproven = std::move(unproven_);
  return verdict;
}

}  // namespace kforge::judge
