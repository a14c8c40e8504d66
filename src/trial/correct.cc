#include "trial/correct.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "task/adversarial.h"
#include "trial/candidate_process.h"
#include "trial/case_rung.h"
#include "trial/memory_need.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
using evidence::Ending;

class GpuRun {
 public:
  GpuRun(const TrialRequest& request, const CorrectOptions& options, const std::function<void(const CallEvidence&)>& on_call)
      : request_(request), task_(*request.task), options_(options), on_call_(on_call), process_(task_, options.candidate), outcome_(request.stop) {}

  Expected<Rung> run() {
    const auto start = Clock::now();
    outcome_.rung.name = "correct";
    outcome_.rung.status = RungStatus::passed;
    if (auto started = process_.start(); !started) return Unexpected(started.error());
    for (const bool measure : {false, true}) {
      if (measure && options_.skip_measure) continue;
      if (auto done = run_jobs(jobs_of(options_.cases, measure)); !done) return Unexpected(done.error());
    }
    if (calls_ == 0 && outcome_.rung.status == RungStatus::passed) outcome_.rung = {"correct", RungStatus::skipped, 0, outcome_.stopped_why().empty() ? "no case was run" : outcome_.stopped_why()};
    outcome_.rung.seconds = seconds_since(start);
    return outcome_.rung;
  }

 private:
  Expected<void> run_jobs(const std::vector<Job>& jobs) {
    if (jobs.empty()) return {};
    if (auto fits = check_memory(task_, jobs, RunKind::on_gpu, 0); !fits) return fits;
    references_.emplace(task_, options_.reference, request_.budget.seconds_of_reference(), jobs, request_.prepared);
    for (const Job& job : jobs) {
      if (outcome_.stopped()) {
        skip(job, outcome_.stopped_why());
        continue;
      }
      Prepared prepared = references_->next();
      if (prepared.error) return Unexpected(std::move(*prepared.error));
      if (prepared.dropped) continue;
      if (request_.progress) request_.progress(fmt::format("correct {}{}", job.run.label, job.run.calls > 1 ? fmt::format(" call {} of {}", job.call + 1, job.run.calls) : ""));
      if (auto done = run_call(job, std::move(prepared)); !done) return done;
    }
    return {};
  }

  Expected<void> run_call(const Job& job, Prepared prepared) {
    CallEvidence out;
    out.run = job.run;
    out.call = job.call;
    out.on_gpu = true;
    out.unverified = prepared.unanswered;
    const auto layout = lay_out(task_, job.run.sizes, false);
    if (!layout) return Unexpected(layout.error());
    const CallOptions options{.new_case = job.call == 0, .reset = false, .outputs = true, .serial = ++serial_, .thread_instructions = 0, .sampled_blocks = 0,
                              .seconds = request_.budget.call_seconds, .schedule_seed = request_.seed};
    const auto start = Clock::now();
    auto asked = process_.ask(*layout, prepared.inputs, job.run.sizes, options, {request_.budget.call_seconds, 0, request_.stop});
    if (!asked) return lost(job, asked.error());
    const Answer& answer = asked->answer;
    if (answer.from_outside) return fail(ErrorCode::failed, "the candidate could not be run on the GPU: " + answer.undecided, {}, "this says nothing about the candidate: run again");
    out.seconds = seconds_since(start);
    out.fault = answer.fault;
    if (!answer.ok && out.fault.contract.empty()) out.skipped = "it cannot be run on this GPU: " + (answer.error.empty() ? answer.undecided : answer.error);
    if (answer.ok) {
      read_answer(answer, *layout, asked->arena, prepared, out);
      if (auto much = process_.chatter()) out.log.violations.push_back(std::move(*much));
      note_gpu_error(out);
      if (out.log.ending != Ending::finished || !out.skipped.empty()) process_.renew();   // the error sticks to the context
    }
    if (auto well = look_after(out); !well) return well;
    out.inputs = std::move(prepared.inputs);
    report(std::move(out));
    return {};
  }

  // The device was this candidate's alone: what the driver logs is its doing.
  Expected<void> look_after(CallEvidence& call) {
    const bool trapped = call.log.ending == Ending::trap;
    if (!options_.watch || (call.fault.contract.empty() && !trapped && call.skipped.empty())) return {};
    const std::string logged = options_.watch->take(true);
    if (trapped) call.log.ending_detail += logged;
    else if (!call.fault.contract.empty()) call.fault.message += logged;
    else call.skipped += logged;
    return options_.watch->well();
  }

  // The first context could be made: what the candidate did since is why none can any more.
  Expected<void> lost(const Job& job, const Error& error) {
    outcome_.fail(job.run, error.message, true, RungStatus::unknown);
    skip(job, error.message);
    return {};
  }

  void report(CallEvidence call) {
    ++calls_;
    if (!call.fault.contract.empty()) outcome_.fail(call.run, call.fault.message, true);
    else if (!call.skipped.empty()) outcome_.fail(call.run, call.skipped, false, RungStatus::unknown);
    else if (call.log.ending == Ending::trap) outcome_.fail(call.run, call.log.ending_detail, false);
    else if (call.log.returned != 0) outcome_.fail(call.run, fmt::format("the launcher returned error {}", call.log.returned), false);
    if (references_ && task::is_adversarial(call.run.values)) call.moves = [&] { return references_->moves({call.run, call.call}, call.inputs, references_in(call)); };
    on_call_(call);
  }

  void skip(const Job& job, const std::string& why) {
    CallEvidence out;
    out.run = job.run;
    out.call = job.call;
    out.on_gpu = true;
    out.skipped = why;
    on_call_(out);
  }

  const TrialRequest& request_;
  const task::Task& task_;
  const CorrectOptions& options_;
  const std::function<void(const CallEvidence&)>& on_call_;
  CandidateProcess process_;
  CaseRung outcome_;
  std::uint64_t serial_ = 0, calls_ = 0;
  std::optional<References> references_;   // of the jobs that run
};

}  // namespace

namespace {

// What the GPU reports when it is itself at fault; a candidate can bring about all others.
constexpr std::string_view kOfTheMachine[] = {"cudaErrorECCUncorrectable", "cudaErrorNvlinkUncorrectable", "cudaErrorDevicesUnavailable", "cudaErrorSystemNotReady", "cudaErrorSystemDriverMismatch",
                                              "cudaErrorNoDevice", "cudaErrorContained", "cudaErrorDeviceUninitialized"};

}  // namespace

bool is_machine_fault(std::string_view error) { return std::find(std::begin(kOfTheMachine), std::end(kOfTheMachine), error) != std::end(kOfTheMachine); }

void note_gpu_error(CallEvidence& call) {
  if (call.completed || !call.fault.contract.empty() || call.log.ending != Ending::finished) return;
  if (is_machine_fault(call.log.ending_detail)) {
    call.skipped = fmt::format("the GPU itself is at fault: {}", call.log.ending_detail);
    call.log.unproven.push_back({"run.crash", call.skipped});
    return;
  }
  call.log.ending = Ending::trap;
  call.log.ending_detail = "the GPU reports " + (call.log.ending_detail.empty() ? "an error" : call.log.ending_detail);
}

Expected<Rung> correct_on_gpu(const TrialRequest& request, const CorrectOptions& options, const std::function<void(const CallEvidence&)>& on_call) {
  return GpuRun(request, options, on_call).run();
}

}  // namespace kforge::trial
