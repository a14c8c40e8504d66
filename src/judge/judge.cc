#include "judge/judge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/files.h"
#include "evidence/unsupported.h"
#include "judge/answer.h"
#include "judge/contract_table.h"
#include "judge/correctness.h"
#include "judge/measured_time.h"
#include "judge/suspect.h"

namespace kforge::judge {
namespace {

double bytes_of_inputs(const task::Task& task, const task::Sizes& sizes) {
  double bytes = 0;
  for (const task::Tensor& tensor : task.tensors)
    if (const auto found = task::layout(tensor, sizes); found && tensor.role != task::Role::out) bytes += static_cast<double>(found->bytes);
  return bytes;
}

// Of a floor of physics: rates of a sheet are estimates, and bytes read twice are taken for different ones.
constexpr double kPossiblePart = 0.7;

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
    : task_(task), sheet_(sheet), options_(std::move(options)), findings_(HostLines(read_file(options_.candidate).value_or(""))),
      numerics_(task, options_.defences) {}

void Judge::see(const trial::CallEvidence& call) {
  if (options_.defences.names_off().empty()) see_call(call);
  else see_call(without(options_.defences, call));
}

void Judge::see_call(const trial::CallEvidence& call) {
  CaseReport report;
  for (const std::string& size : task_.size_names()) report.sizes.emplace_back(size, call.run.sizes.at(size));
  report.values = call.run.values;
  report.call = call.call;
  report.sampled = call.sampled;
  if (call.on_gpu) {
    see_gpu(call, std::move(report));
    return;
  }
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

// A real GPU shows how a call ends and what comes out of it; all else is the emulator's to see.
void Judge::see_gpu(const trial::CallEvidence& call, CaseReport report) {
  report.device = call.timed ? "gpu timed" : "gpu";
  if (!call.skipped.empty()) {
    report.status = Status::skipped;
    report.why = call.skipped;
    unproven_.push_back(fmt::format("on the GPU at {}: {}", call.run.label, call.skipped));
    for (const evidence::Unproven& item : call.log.unproven) unknown_[item.contract] = item.why;
    cases_.push_back(std::move(report));
    return;
  }
  std::string why = judge_call(task_, call, options_.candidate, findings_);
  const bool whole = call.completed && call.log.ending == evidence::Ending::finished && call.fault.contract.empty();
  if (whole && call.unverified.empty()) {
    gpu_complete_ = true;
    const std::string wrong = numerics_.see(call, options_.candidate, report, findings_);
    if (why.empty()) why = wrong;
    if (call.timed && !wrong.empty()) {
      Finding finding = make_finding("honest", {}, options_.candidate);
      finding.message = fmt::format("the outputs of a timed call are wrong: {} [{}]", wrong, call.run.label);
      findings_.add(std::move(finding));
    }
  } else if (whole) {
    unproven_.push_back(fmt::format("numerics on the GPU at {}: {}", call.run.label, call.unverified));
  }
  report.status = !why.empty() ? Status::failed : whole && call.unverified.empty() ? Status::passed : Status::unknown;
  report.why = !why.empty() ? why : call.unverified;
  cases_.push_back(std::move(report));
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
    if (labels.size() > shown) at += fmt::format(" and {}", counted(labels.size() - shown, "more size"));
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
  judge_build(task_, trial, sheet_.sm(), options_.candidate, options_.defences, findings_);
  if (!trial.ptx_error.empty()) unknown_["portability"] = trial.ptx_error;
  for (const trial::CallEvidence& call : measured_) {
    const PerformanceInput input = input_of(trial, call);
    times_[call.run.sizes] = modelled_time(input);
    floors_[call.run.sizes] = seen_floor_us(input, bytes_of_inputs(task_, call.run.sizes));
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
    report = honest();
  } else if (id == "numerics.deterministic") {
    report.status = repeats_ == 0 ? Status::unknown : differing_.empty() ? Status::passed : Status::failed;
    report.measured = repeats_ == 0 ? "not repeated with equal inputs" : differing_.empty() ? "" : differing_;
    report.evidence = "emulator";
  } else if (id == "goal") {
    report.status = Status::unknown;
    report.measured = not_timed_;
  } else {
    const bool seen = any_complete_ || (id == "numerics" && gpu_complete_);
    report.status = findings_.has_error(id) ? Status::failed : seen ? Status::passed : Status::unknown;
    report.evidence = id.starts_with("run.") ? "process" : id == "numerics" && gpu_complete_ ? (any_complete_ ? "gpu, emulator" : "gpu") : "emulator";
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

// Narrower arithmetic than agreed, where the task's tolerance admits it.
void Judge::see_arithmetic(const trial::TrialResult& trial) {
  constexpr double kByItself = 2;   // times what the declared arithmetic reaches: what needs no operation to be seen
  const auto excess = numerics_.reached().worst(task_);
  if (!options_.defences.on(trial::Defence::precision) || !trial.module || !excess || findings_.has_error("numerics")) return;
  const auto operation = narrower_operation(*trial.module, task_);
  const auto blind = numerics_.operand_use().blind();
  if (!operation && !blind && !(task_.numerics.accumulate && excess->times > kByItself)) return;
  Finding finding = make_finding("numerics", operation ? operation->position : evidence::SourcePosition{}, options_.candidate);
  finding.message = fmt::format("{}: narrower arithmetic than agreed, which the tolerance admits: {}{}", excess->output, excess->why, operation ? "; the code holds " + operation->text : blind ? fmt::format("; '{}' does not follow the lowest bits of '{}'", blind->output, blind->operand) : "");
  finding.measured = fmt::format("{:.1f} times what the agreed arithmetic reaches", excess->times);
  finding.required = "at most what the agreed arithmetic reaches";
  finding.advice = {"compute in the agreed type, or state the narrower one in [numerics] accumulate"};
  findings_.add(std::move(finding));
}

PerformanceInput Judge::input_of(const trial::TrialResult& trial, const trial::CallEvidence& call) const {
  PerformanceInput input;
  input.task = &task_;
  input.sheet = &sheet_;
  input.reports = &trial.artefact.kernels;
  input.kernels = &call.log.kernels;
  input.candidate = options_.candidate;
  add_tensor_bytes(input, call.run.sizes);
  input.sampled_blocks = call.log.sampled_blocks;
  return input;
}

std::optional<gpu::Suspect> Judge::suspect(const trial::TrialResult& so_far, const task::Sizes& sizes) const {
  const auto call = std::find_if(measured_.begin(), measured_.end(), [&](const trial::CallEvidence& one) { return one.run.sizes == sizes; });
  if (call == measured_.end()) return std::nullopt;
  const auto time = modelled_time(input_of(so_far, *call));
  return time ? suspected(*time, call->log.kernels, so_far.module.get()) : std::nullopt;
}

// What only hardware counters tell, where ncu could read them (contracts.md: the best evidence).
void Judge::see_counters(const trial::TrialResult& trial) {
  if (options_.only_correctness) return;
  for (const trial::CounterProfile& profile : trial.counters) {
    double read = 0, active = 0, cycles = 0;
    for (const gpu::CounterRow& kernel : profile.kernels) {
      const auto figure = [&](const char* metric) {
        const auto found = kernel.metrics.find(metric);
        return found == kernel.metrics.end() ? 0 : found->second;
      };
      read += figure("dram__bytes_read.sum");
      cycles += figure("sm__cycles_active.avg");
      active += figure("sm__cycles_active.avg") * figure("smsp__issue_active.avg.pct_of_peak_sustained_active") / 100;
    }
    const auto put = [&](const char* contract, double value, bool larger_is_worse, std::string text) {
      const double limit = threshold(task_, contract);
      Measurement m;
      m.contract = contract;
      m.value = value;
      m.larger_is_worse = larger_is_worse;
      m.measured = true;
      m.status = (larger_is_worse ? value <= limit : value >= limit) ? Status::passed : Status::failed;
      m.text = std::move(text);
      m.required = fmt::format(fmt::runtime(find_contract(contract)->required), limit);
      m.evidence = "ncu";
      if (m.status == Status::failed) {
        Finding finding = make_finding(contract, {}, options_.candidate);
        finding.severity = Severity::warning;
        finding.message = fmt::format("by the hardware's counters: {}", m.text);
        finding.measured = m.text;
        finding.required = m.required;
        findings_.add(std::move(finding));
      }
      const auto known = performance_.find(contract);
      m.level = known == performance_.end() ? find_contract(contract)->level : known->second.level;
      if (known == performance_.end() || known->second.evidence != "ncu" || worse(m, known->second)) performance_[contract] = std::move(m);
    };
    const double inputs = bytes_of_inputs(task_, profile.sizes);
    if (read > 0 && inputs > 0) put("memory.reuse", read / inputs, true, fmt::format("{:.2f} [{}]", read / inputs, profile.label));
    const std::string waits = gpu::describe_stalls(profile.stalls);
    if (cycles > 0) put("compute.issue", active / cycles, false, fmt::format("{:.2f} [{}]{}{}", active / cycles, profile.label, waits.empty() ? "" : "; ", waits));
  }
}

ContractReport Judge::honest() const {
  ContractReport out;
  out.id = "honest";
  out.level = find_contract("honest")->level;
  out.required = find_contract("honest")->required;
  out.evidence = options_.gpu ? "gpu" : "";
  out.status = findings_.has_error("honest") ? Status::failed : !options_.gpu || timed_ ? Status::passed : Status::unknown;
  out.measured = timed_ ? time_evidence_ : options_.gpu ? not_timed_ : "none: no clock was read, a modelled time comes from counts";
  return out;
}

// The measured time in place of the modelled one. What was to be measured and was not leaves no time at all: a model is no measurement.
void Judge::see_times(const trial::TrialResult& trial, Verdict& verdict) {
  const auto rung = std::find_if(trial.rungs.begin(), trial.rungs.end(), [](const trial::Rung& r) { return r.name == "time"; });
  if (!options_.gpu || rung == trial.rungs.end() || rung->status == trial::RungStatus::skipped) return;
  std::vector<const trial::Timing*> own;
  for (const trial::Timing& timing : trial.times)
    if (timing.name.empty()) own.push_back(&timing);
  for (const trial::Timing* timing : own) {
    const auto add = [&](std::string message) {
      Finding finding = make_finding("honest", {}, options_.candidate);
      finding.message = std::move(message) + fmt::format(" [{}]", timing->label);
      findings_.add(std::move(finding));
    };
    for (const std::string& why : timing->dishonest) add(why);
    const double floor = floors_.count(timing->sizes) ? floors_.at(timing->sizes) : 0;
    if (options_.defences.on(trial::Defence::physics) && timing->failure.empty() && timing->us < kPossiblePart * floor) add(fmt::format("{:.2f} us are less than physics allows: {:.2f} us for the bytes that must move", timing->us, floor));
  }
  const auto failed = std::find_if(own.begin(), own.end(), [](const trial::Timing* timing) { return !timing->failure.empty(); });
  if (own.empty() || failed != own.end()) {
    not_timed_ = "the time could not be measured: " + (own.empty() ? rung->why : (*failed)->failure);
    verdict.time.reset();
    return;
  }
  const TimeReport modelled = verdict.time.value_or(TimeReport{});
  double floor = 0;
  for (const trial::Timing* timing : own) floor += floors_.count(timing->sizes) ? floors_.at(timing->sizes) : 0;
  verdict.time = measured_time(trial.times, options_.conditions);
  verdict.time->modelled_us = modelled.us;
  if (!modelled.bottleneck.empty()) verdict.time->bottleneck = fmt::format("{}, as the time model has it ({:.4g} us in all)", modelled.bottleneck, modelled.us);
  verdict.time->floor_us = floor;
  timed_ = std::all_of(own.begin(), own.end(), [](const trial::Timing* timing) { return timing->verified > 0 && timing->unverified.empty(); });
  if (!timed_) {   // the time of an answer that nobody knows is no time
    not_timed_ = "no output of a timed call was compared: " + own.front()->unverified;
    verdict.time.reset();
    return;
  }
  time_evidence_ = fmt::format("{} samples, {} calls verified, {:.4g} us a call in bursts by the parent's clock{}", verdict.time->samples, verdict.time->verified, verdict.time->back_to_back_us,
                               std::all_of(own.begin(), own.end(), [](const trial::Timing* timing) { return timing->witnessed; }) ? ", seen by another process" : "");
}

Expected<Verdict> Judge::conclude(const trial::TrialResult& trial) {
  numerics_.finish(options_.candidate, findings_);
  see_build(trial);
  see_arithmetic(trial);
  see_counters(trial);
  list_skipped();
  Verdict verdict;
  verdict.task = task_.name;
  verdict.candidate = options_.candidate;
  verdict.gpu = sheet_.name;
  verdict.device = options_.gpu ? options_.conditions.gpu : "emulated " + sheet_.name;
  std::vector<std::optional<hardware::ModelledTime>> times;   // a size that did not run leaves the verdict without a time
  for (const task::Sizes& sizes : task_.measure) {
    const auto found = times_.find(sizes);
    times.push_back(found == times_.end() ? std::nullopt : found->second);
  }
  verdict.time = time_report(times);
  see_times(trial, verdict);
  for (const trial::Rung& rung : trial.rungs) verdict.rungs.push_back({rung.name, rung_status(rung.status), rung.seconds, rung.why});
  for (const ContractRow& row : contract_table()) verdict.contracts.push_back(report(row.id));

  answer(verdict, options_.only_correctness);
  for (const ContractReport& c : verdict.contracts)
    if (c.status == Status::unknown && !find_contract(c.id)->must_know) unproven_.push_back(c.id + (c.measured.empty() ? "" : ": " + c.measured));
  if (!numerics_.task_fault().empty())
    return fail(ErrorCode::bad_input, numerics_.task_fault(), {task_.path, 0, 0}, "mend the reference or the values of the inputs: 0/0, infinity minus infinity, and the root or logarithm of a negative number are NaN");
  if (verdict.status != VerdictStatus::rejected) {
    if (const auto blind = numerics_.blind_output(); (any_complete_ || gpu_complete_) && blind)
      return fail(ErrorCode::bad_input, fmt::format("this task's check cannot fail: every case of output '{}' is degenerate ({})", *blind, numerics_.why_blind(*blind)),
                  {task_.path, 0, 0}, "give the inputs values, or add [sizes] verify, for which the output differs");
  }
  verdict.findings = findings_.take();
  for (Finding& finding : verdict.findings) {   // a finding never weighs more than its contract
    const auto contract = std::find_if(verdict.contracts.begin(), verdict.contracts.end(), [&](const ContractReport& c) { return c.id == finding.contract; });
    if (contract != verdict.contracts.end() && contract->level != Level::required && finding.severity == Severity::error) finding.severity = Severity::warning;
  }
  // Where threads race, other bits are the race's doing, and an order of summation mends nothing.
  const bool races = std::any_of(verdict.findings.begin(), verdict.findings.end(), [](const Finding& f) { return f.contract == "safety.races"; });
  for (Finding& finding : verdict.findings)
    if (races && finding.contract == "numerics.deterministic") {
      finding.cause = "a race between threads (safety.races)";
      finding.advice = {"mend the race first"};
    }
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(), [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  verdict.cases = std::move(cases_);
  verdict.resources = std::move(resources_);
  verdict.unproven = std::move(unproven_);
  return verdict;
}

}  // namespace kforge::judge
