#include "trial/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "task/dtype_convert.h"
#include "trial/prepared_store.h"

namespace kforge::trial {
namespace {

constexpr std::uint64_t kNudges = 8;              // draws of changed last bits: few leave an element that hangs on them where it is by chance
constexpr std::size_t kFurtherBytes = 16u << 20;   // inputs larger than this are not drawn again for the pool

Prepared failed(Error error) {
  Prepared out;
  out.error = std::move(error);
  return out;
}

Error reference_error(const task::Task& task, const Job& job, const std::string& what) {
  return {ErrorCode::bad_input, fmt::format("the reference fails at {} ({} values): {}", job.run.label, job.run.values, what), {task.reference},
          "the reference must work at every size that [sizes] allows; exclude sizes with `where`"};
}

Error ended_from_outside(const std::string& what) {
  return {ErrorCode::failed, "the reference could not be run on this machine: " + what, {}, "this says nothing about the task: free memory, and run again"};
}

bool is_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// Of the coarsest arithmetic that some output is agreed to be computed in.
double accumulate_unit(const task::Task& task) {
  double unit = 0;
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != task::Role::in) unit = std::max(unit, task::unit_roundoff(task::accumulate_type(task, tensor)));
  return unit;
}

bool is_nan_everywhere(const std::vector<double>& values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

}  // namespace

std::vector<SharedList<double>> references_in(const CallEvidence& call) {
  std::vector<SharedList<double>> out;
  for (const Output& output : call.outputs) out.push_back(output.reference);
  return out;
}

std::vector<Job> jobs_of(const std::vector<task::Case>& cases, bool measure) {
  std::vector<Job> out;
  for (const task::Case& run : cases) {
    if (run.measure != measure) continue;
    for (std::uint32_t call = 0; call < std::max(run.calls, 1u); ++call) {
      out.push_back({run, call});
      out.back().run.seed = run.seed + call;
    }
  }
  return out;
}

References::References(const task::Task& task, WorkerOptions options, double call_seconds, std::vector<Job> jobs, PreparedStore* store)
    : task_(task), options_(std::move(options)), call_seconds_(call_seconds), jobs_(std::move(jobs)), store_(store), thread_([this] { produce(); }) {}

References::~References() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Prepared References::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
  Prepared out = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return out;
}

void References::push(Prepared prepared) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || ready_.size() < kPreparedAhead; });
  ready_.push_back(std::move(prepared));
  changed_.notify_all();
}

// A worker that answers; it is started where there is none, or where it ended with a call that took too long. REQUIRES: one thread, which outlives `worker`.
Expected<WorkerProcess*> References::working(std::unique_ptr<WorkerProcess>& worker, const Job& job) const {
  if (worker && !worker->alive()) worker.reset();
  if (!worker) {
    auto started = WorkerProcess::start(options_);
    if (!started) return Unexpected(started.error());
    worker = std::move(*started);
  }
  const Answer& started = worker->started();
  if (started.from_outside) return Unexpected(ended_from_outside(started.undecided));
  if (!started.ok) return Unexpected(reference_error(task_, job, started.fault.contract.empty() ? started.error : started.fault.message));
  return worker.get();
}

Prepared References::of_worker(std::unique_ptr<WorkerProcess>& worker, const Job& job) const {
  const auto ready = working(worker, job);
  return ready ? prepare(**ready, job) : failed(ready.error());
}

std::vector<std::vector<double>> References::moves(const Job& job, const std::vector<SharedBytes>& inputs, const std::vector<SharedList<double>>& outputs) {
  const auto ready = working(nudging_, job);
  if (!ready) return {};
  const std::vector<std::span<const std::byte>> bytes(inputs.begin(), inputs.end());
  std::vector<std::vector<double>> moves;
  for (const auto& values : outputs) moves.emplace_back(values.size(), 0.0);
  for (std::uint64_t draw = 0; draw < kNudges; ++draw) {
    const auto nudged = run(**ready, job, bytes, job.run.seed + (draw << 32));
    if (!nudged) return {};
    for (std::size_t k = 0; k < moves.size(); ++k)
      for (std::size_t i = 0; i < moves[k].size(); ++i) {
        const double move = std::abs((*nudged)[k][i] - outputs[k][i]);
        moves[k][i] = std::isnan(move) ? std::numeric_limits<double>::infinity() : std::max(moves[k][i], move);
      }
  }
  return moves;
}

void References::produce() {
  std::unique_ptr<WorkerProcess> worker;
  for (const Job& job : jobs_) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    auto kept = store_ ? store_->find(job, false) : std::nullopt;
    if (!kept) {
      kept = of_worker(worker, job);
      if (store_) store_->keep(job, false, *kept);
    }
    push(std::move(*kept));
  }
}

// The reference's outputs on `inputs`: Errors: bad_input naming the reference and the case.
Expected<std::vector<std::vector<double>>> References::run(WorkerProcess& worker, const Job& job, const std::vector<std::span<const std::byte>>& inputs, std::optional<std::uint64_t> nudge) const {
  const auto layout = lay_out(task_, job.run.sizes, true);
  if (!layout) return Unexpected(layout.error());
  if (auto reserved = worker.arena().reserve(layout->arena_bytes); !reserved) return Unexpected(reserved.error());
  std::size_t next_input = 0;
  for (const TensorPlace& place : layout->places) {
    if (!place.has_input()) continue;
    std::byte* const at = worker.arena().data() + place.in;
    store_for_reference(place, inputs[next_input++], at);
    if (nudge) nudge_for_reference(place, accumulate_unit(task_), *nudge + next_input, at);
  }
  const Answer answer = worker.call(request_text(task_, *layout, job.run.sizes, {}), {call_seconds_, 0});
  if (answer.from_outside) return Unexpected(ended_from_outside(answer.undecided));
  if (!answer.ok && job.run.measure && answer.fault.contract == "run.limit") return fail(ErrorCode::limit, fmt::format("the reference needs more than {:g} s", call_seconds_));
  if (!answer.ok) return Unexpected(reference_error(task_, job, answer.fault.contract.empty() ? answer.error : answer.fault.message));
  std::vector<std::vector<double>> outputs;
  for (const TensorPlace& place : layout->places)
    if (place.has_output()) outputs.push_back(gather_reference(place, worker.arena().data() + place.out));
  return outputs;
}

Prepared References::prepare(WorkerProcess& worker, const Job& job) const {
  const StageTimer timer(options_.costs, "inputs");
  auto inputs = make_inputs(task_, job.run, false);
  if (!inputs) return failed(inputs.error());
  auto outputs = run(worker, job, {inputs->begin(), inputs->end()});
  Prepared out;
  if (!outputs && outputs.error().code == ErrorCode::limit) {
    out.inputs.assign(std::make_move_iterator(inputs->begin()), std::make_move_iterator(inputs->end()));
    out.unanswered = outputs.error().message;
    return out;
  }
  if (!outputs) return failed(outputs.error());
  for (const std::vector<double>& values : *outputs) {
    out.dropped |= job.run.values != "declared" && !is_finite(values);
    if (!out.dropped && !task_.numerics.allow_nan && is_nan_everywhere(values))
      return failed(reference_error(task_, job, "every element of an output is NaN or was not written"));
  }
  out.outputs.assign(std::make_move_iterator(outputs->begin()), std::make_move_iterator(outputs->end()));
  out.inputs.assign(std::make_move_iterator(inputs->begin()), std::make_move_iterator(inputs->end()));
  if (!out.dropped && job.call + 1 == std::max(job.run.calls, 1u)) add_further(worker, job, out);
  return out;
}

// Outputs of fewer than 32 elements are judged by a bound that is pooled over further draws of the reference alone.
void References::add_further(WorkerProcess& worker, Job job, Prepared& out) const {
  std::size_t bytes = 0;
  for (const SharedBytes& input : out.inputs) bytes += input.size();
  if (bytes > kFurtherBytes) return;
  const std::uint32_t draws = task::draws_to_pool(task_, job.run.sizes);
  for (std::uint32_t draw = std::max(job.run.calls, 1u); draw < draws; ++draw) {
    ++job.run.seed;
    const auto inputs = make_inputs(task_, job.run, false);
    if (!inputs) return;
    auto outputs = run(worker, job, {inputs->begin(), inputs->end()});
    if (!outputs) return;
    out.further.push_back(std::move(*outputs));
  }
}

}  // namespace kforge::trial
