#include "trial/candidate_process.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "evidence/launch_log_bytes.h"

namespace kforge::trial {
namespace {

using evidence::Ending;

void note_change(const std::string& name, CallEvidence& out) {
  auto& names = out.log.changed_inputs;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Has the system enter the pages of a range into this process's table at once, where each would cost a fault. What it refuses is left to the faults.
void map_pages(const std::byte* data, std::uint64_t bytes, int how) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::uint64_t kWorthwhile = 8 * kPage;
  if (bytes < kWorthwhile) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data) / kPage * kPage, end = (reinterpret_cast<std::uintptr_t>(data) + bytes + kPage - 1) / kPage * kPage;
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, how));
}

Answer faulty(const ProcessFault& fault) {
  Answer answer;
  answer.fault = fault;
  return answer;
}

}  // namespace

Expected<void> CandidateProcess::start() { return start(-1); }

Expected<void> CandidateProcess::start(int inputs_fd) {
  worker_.reset();   // two contexts of one candidate need twice the memory
  WorkerOptions options = options_;
  options.inputs_fd = inputs_fd;
  auto worker = WorkerProcess::start(options);
  if (!worker) return Unexpected(worker.error());
  worker_ = std::move(*worker);
  renew_ = false;
  const Answer& started = worker_->started();
  if (started.ok) return {};
  if (started.from_outside) return fail(ErrorCode::failed, "the candidate could not be loaded on this machine: " + started.undecided, {}, "this says nothing about the candidate: free memory, and run again");
  if (!started.error.empty() && !started.error.starts_with("object: "))
    return fail(ErrorCode::failed, (options_.gpu ? "the GPU cannot be used: " : "the emulated device cannot be used: ") + started.error);
  load_fault_ = started.fault.contract.empty() ? ProcessFault{"interface", "the candidate cannot be loaded: " + started.error.substr(8)} : started.fault;
  return {};
}

Expected<CandidateProcess::Asked> CandidateProcess::ask(const CaseLayout& layout, const std::vector<SharedBytes>& inputs, const task::Sizes& sizes, CallOptions options, CallLimit limit) {
  for (;;) {
    const bool fresh = renew_ || !worker_;
    if (fresh)
      if (auto started = start(); !started) return Unexpected(started.error());
    if (!load_fault_.contract.empty()) return Asked{faulty(load_fault_), nullptr};
    SharedArena& arena = worker_->arena();
    if (auto reserved = arena.reserve(layout.arena_bytes); !reserved) return Unexpected(reserved.error());
    place_inputs(layout, inputs, arena.data());
    options.new_case |= fresh;
    Answer answer = worker_->call(request_text(task_, layout, sizes, options), limit);
    const bool refused = !answer.ok && answer.fault.contract.empty() && answer.undecided.empty();
    if (!refused || fresh) return Asked{std::move(answer), arena.data()};
    renew_ = true;
  }
}

Expected<CandidateProcess::Asked> CandidateProcess::ask_alone(const CaseLayout& layout, const SealedInputs& inputs, const task::Sizes& sizes, CallOptions options, CallLimit limit) {
  if (auto started = start(inputs.fd()); !started) return Unexpected(started.error());
  if (!load_fault_.contract.empty()) return Asked{faulty(load_fault_), nullptr};
  options.new_case = true;
  options.outputs = false;
  options.sealed_bytes = inputs.bytes();
  return Asked{worker_->call(request_text(task_, layout, sizes, options), limit), nullptr};
}

std::optional<evidence::Violation> CandidateProcess::chatter() {
  constexpr std::uint64_t kMuch = 64 << 10;
  const std::uint64_t bytes = worker_ ? worker_->printed_bytes() : 0;
  if (told_ || bytes <= kMuch) return {};
  told_ = true;
  evidence::Violation out;
  out.contract = "interface";
  out.kind = "printing";
  out.advice = true;
  out.message = "the candidate prints so much that but for its end nothing of it is kept";
  out.measured = human_bytes(static_cast<double>(bytes)) + " and more";
  out.required = "at most " + human_bytes(static_cast<double>(kMuch));
  return out;
}

void place_inputs(const CaseLayout& layout, const std::vector<SharedBytes>& inputs, std::byte* arena) {
  std::size_t next_input = 0;
  for (const TensorPlace& place : layout.places) {
    if (!place.has_input()) continue;
    const SharedBytes& input = inputs[next_input++];
    map_pages(arena + place.in, place.bytes, MADV_POPULATE_WRITE);
    std::memcpy(arena + place.in, input.data(), std::min<std::uint64_t>(input.size(), place.bytes));
  }
}

void read_answer(const Answer& answer, const CaseLayout& layout, const std::byte* arena, Prepared& prepared, CallEvidence& out) {
  const nlohmann::json json = nlohmann::json::parse(answer.json, nullptr, false);
  const nlohmann::json returned = json.value("returned", nlohmann::json()), completed = json.value("completed", nlohmann::json()),
                       detail = json.value("detail", nlohmann::json());
  std::string error = "fields are missing";
  const bool shaped = returned.is_number_integer() && completed.is_boolean() && detail.is_string();
  if (!shaped || (!answer.log.empty() && !evidence::from_bytes(answer.log, out.log, error))) {
    out.fault = {"run.crash", "the candidate damaged the worker: its log cannot be read (" + error + ")"};
    return;
  }
  out.log.returned = returned.get<int>();
  if (out.log.ending_detail.empty()) out.log.ending_detail = detail.get<std::string>();
  out.completed = completed.get<bool>() && out.log.ending == Ending::finished;
  if (!out.sampled) read_tensors(layout, arena, prepared, out);
}

void read_tensors(const CaseLayout& layout, const std::byte* arena, Prepared& prepared, CallEvidence& out) {
  std::size_t next_input = 0, next_output = 0;
  for (const TensorPlace& place : layout.places) {
    const std::byte* back = arena + place.out;
    if (place.has_output() || out.completed) map_pages(back, place.bytes, MADV_POPULATE_READ);
    if (place.has_input()) {
      const SharedBytes& input = prepared.inputs[next_input++];
      if (!place.has_output() && out.completed && std::memcmp(back, input.data(), place.bytes) != 0) note_change(place.tensor->name, out);
    }
    if (!place.has_output()) continue;
    Output output{place.tensor->name, {}, {}, {}};
    if (out.completed) output.bytes.assign(back, back + place.bytes);
    for (auto& draw : prepared.further) output.further_references.push_back(std::move(draw[next_output]));
    if (next_output < prepared.outputs.size()) output.reference = std::move(prepared.outputs[next_output++]);
    out.outputs.push_back(std::move(output));
  }
}

}  // namespace kforge::trial
