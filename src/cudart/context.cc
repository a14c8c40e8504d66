#include "cudart/context.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "cudart/array_api.h"
#include "cudart/graph.h"
#include "cudart/pool_api.h"

namespace kforge::cudart {
namespace {

// The worker asks for a sheet by name or by path; a program that nobody configured takes KFORGE_GPU.
Expected<hardware::DataSheet> sheet_of(const std::string& wanted) {
  return wanted.find('/') == std::string::npos ? hardware::find_sheet(wanted) : hardware::read_sheet(wanted);
}

void* handle_of(int small) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(small)); }

// "FILE:LINE: KERNEL: block: [0,0,0], thread: [0,0,0] Assertion `X` failed." goes to stderr, as CUDA's driver has it.
bool is_assertion(std::string_view text) {
  return text.ends_with("` failed.\n") && text.find(": block: [") != std::string_view::npos && text.find("] Assertion `") != std::string_view::npos;
}

constexpr std::size_t kPrintBytes = 1 << 20;   // CUDA's default cudaLimitPrintfFifoSize

}  // namespace

Context& Context::get() {
  static Context* const context = new Context;
  return *context;
}

Context::Context() { make_stores(); }

void Context::make_stores() {
  graphs = std::make_shared<GraphStore>();
  arrays = std::make_shared<ArrayStore>();
  pools = std::make_shared<PoolStore>();
}

bool Context::make_device() {
  if (const char* wanted = std::getenv("KFORGE_GPU"); wanted != nullptr && *wanted != 0 && !configured)
    settings.sheet = wanted;
  if (!configured) session.begin(settings);
  auto sheet = sheet_of(settings.sheet);
  if (!sheet) {
    std::fprintf(stderr, "kforge: %s\n", to_string(sheet.error()).c_str());
    return false;
  }
  device_ = std::make_unique<emulator::Device>(std::move(*sheet));
  device_->memory().set_capacity(device_->sheet().memory_bytes);
  device_->set_checks(settings.checks);
  device_->set_seed(settings.seed);
  device_->set_limits(session.limits());
  device_->on_print([this](std::string_view text) {
    std::string& sink = is_assertion(text) ? asserted_ : printed_;
    if (sink.size() < kPrintBytes) sink.append(text.substr(0, kPrintBytes - sink.size()));
  });
  return true;
}

emulator::Device* Context::device() {
  if (!device_ && !device_failed_) device_failed_ = !make_device();
  return device_.get();
}

void Context::reset() {
  flush_output();
  session.keep(*this);
  device_.reset();
  device_failed_ = false;
  registry.forget_device();
  timeline = {};
  stream_races.forget();
  streams_.clear();
  legacy_.branches.clear();
  per_thread_.clear();
  events_.clear();
  tensors.clear();
  make_stores();
  limits.clear();
  advice = {};
  log.clear();
  call.running = false;
  call.given = nullptr;
  call.allocated.clear();
  fatal_ = cudaSuccess;
  fatal_seen_ = false;
  last_error() = cudaSuccess;
}

Stream& Context::per_thread_stream() {
  const auto [found, is_new] = per_thread_.try_emplace(std::this_thread::get_id());
  if (is_new) found->second.index = timeline.create(StreamSort::blocking);
  return found->second;
}

Stream* Context::find_stream(void* handle) {
  if (handle == nullptr || handle == handle_of(1)) return &legacy_;
  if (handle == handle_of(2)) return &per_thread_stream();
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second.get();
}

Stream* Context::create_stream(unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->index = timeline.create(flags == 0 ? StreamSort::blocking : StreamSort::non_blocking);
  stream->flags = flags;
  stream->priority = priority;
  stream->id = next_stream_id_++;
  Stream* result = stream.get();
  streams_.emplace(result, std::move(stream));
  return result;
}

bool Context::destroy_stream(void* handle) { return streams_.erase(handle) != 0; }

std::vector<Stream*> Context::streams_of(const Capture* capture) {
  std::vector<Stream*> result;
  const auto take = [&](Stream& stream) { if (stream.capture.get() == capture) result.push_back(&stream); };
  for (auto& [handle, stream] : streams_) take(*stream);
  for (auto& [thread, stream] : per_thread_) take(stream);
  return result;
}

Event* Context::find_event(void* handle) {
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second.get();
}

Event* Context::create_event(unsigned flags) {
  auto event = std::make_unique<Event>();
  event->flags = flags;
  Event* result = event.get();
  events_.emplace(result, std::move(event));
  return result;
}

bool Context::destroy_event(void* handle) { return events_.erase(handle) != 0; }

void Context::issue(const Stream& stream, std::string what, double us) {
  const bool late = !call.running && call.any_ended && std::this_thread::get_id() != call.thread;
  if (late) violate("interface", "late-work", {}, fmt::format("{} was issued by another thread after the launcher had returned", what));
  if (loading) on_given_stream_ = false;
  if (call.running && call.given != nullptr) on_given_stream_ = on_given_stream_ && stream.root().index == call.given->index;
  timeline.issue(stream.index, std::move(what), us);
  stream_races.passed(stream.index);
}

void Context::violate(std::string contract, std::string kind, std::string kernel, std::string message, bool advice) {
  evidence::Violation violation;
  violation.contract = std::move(contract);
  violation.kind = std::move(kind);
  violation.kernel = std::move(kernel);
  violation.message = std::move(message);
  violation.advice = advice;
  if (violation.kernel.empty()) violation.where = call_position();
  log.violate(std::move(violation));
}

evidence::SourcePosition Context::call_position() const {
  evidence::SourcePosition position;
  if (session.active() && running_ != nullptr)   // `kforge run` turns addresses into lines
    for (const CallFrame& frame : call_site()) position.frames.push_back({frame.module, 0, 0, fmt::format("+{:#x}", frame.offset)});
  return position;
}

void Context::flush_output() {
  for (const auto& [text, file] : {std::pair{&printed_, stdout}, std::pair{&asserted_, stderr}}) {
    if (text->empty()) continue;
    std::fwrite(text->data(), 1, text->size(), file);
    std::fflush(file);
    text->clear();
  }
}

std::string Context::next_label() { return fmt::format("{} #{}", running_name(), ++allocations_); }

Status Context::begin(const Function& function) {
  running_ = &function;
  on_given_stream_ = true;
  detail_.clear();
  if (HostFunctionScope::active()) {
    if (call.running || loading)
      violate("interface", "host-function", {}, fmt::format("{} is called in a host function of a stream, where CUDA can be asked for nothing", function.name));
    return cudaErrorNotPermitted;
  }
  if (function.mode == Mode::sync) {
    flush_output();
    fatal_seen_ = fatal_ != cudaSuccess;
  }
  if (function.mode != Mode::plain && fatal_seen_) return fatal_;
  return cudaSuccess;
}

Status Context::end(const Function& function, Status status) {
  running_ = nullptr;
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error() = status;
  if (!call.running && !loading) return status;
  evidence::RuntimeCall record;
  record.function = function.name;
  record.kind = on_given_stream_ || function.kind[0] != 0 ? function.kind : "streams";
  record.on_given_stream = on_given_stream_;
  record.error = status;
  record.detail = std::move(detail_);
  detail_.clear();
  log.record(std::move(record));
  return status;
}

int& Context::last_error() {
  thread_local int error = cudaSuccess;
  return error;
}

}  // namespace kforge::cudart
