#include "cudart/session.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/files.h"
#include "cudart/context.h"
#include "cudart/pool_api.h"

namespace kforge::cudart {
namespace {

constexpr double kSecondsBetweenReports = 2;

// After the destructors of everything that was loaded before us: what is still allocated then is a leak.
__attribute__((destructor)) void end_of_program() {
  Context& context = Context::get();
  const std::unique_lock lock(context.mutex, std::try_to_lock);   // a thread that was left in a launch holds it for ever
  if (!lock.owns_lock()) return;                                 // what kernels printed since the host last waited is lost, as with CUDA
  context.session.report(context, true);
}

template <class T>
void append(std::vector<T>&& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void append(evidence::LaunchLog from, evidence::LaunchLog& to) {
  append(std::move(from.kernels), to.kernels);
  append(std::move(from.violations), to.violations);
  append(std::move(from.unproven), to.unproven);
  if (to.ending == evidence::Ending::finished) to.ending = from.ending, to.ending_detail = std::move(from.ending_detail);
}

// Whether one of its texts speaks of the allocation with that label; "cudaMalloc #1" is not "cudaMalloc #12".
bool names(const evidence::Violation& violation, const std::string& label) {
  for (const std::string* text : {&violation.message, &violation.measured}) {
    const std::size_t at = text->find(label);
    if (at == std::string::npos) continue;
    const std::size_t end = at + label.size();
    if (end == text->size() || (*text)[end] < '0' || (*text)[end] > '9') return true;
  }
  return false;
}

nlohmann::json to_json(const std::vector<CallFrame>& frames) {
  nlohmann::json list = nlohmann::json::array();
  for (const CallFrame& frame : frames) list.push_back({frame.module, frame.offset});
  return list;
}

// Advice: what the program allocated and never freed, each allocation by its label.
void report_leaks(Context& context) {
  using emulator::MemoryKind;
  constexpr std::size_t kMost = 50;
  if (context.device_if_any() == nullptr) return;
  std::size_t told = 0;
  for (const emulator::Allocation* allocation : context.device_if_any()->memory().live()) {
    const bool by_program = allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::managed || allocation->kind == MemoryKind::pinned;
    if (!by_program || allocation->foreign || context.pools->graph_memory.contains(allocation->base) || ++told > kMost) continue;
    context.violate("safety.leaks", "leak", {}, fmt::format("{} of {} {} never freed", counted(allocation->size, "byte"), allocation->label, allocation->size == 1 ? "is" : "are"), true);
  }
  if (told > kMost) context.violate("safety.leaks", "leak", {}, fmt::format("{} never freed", told - kMost == 1 ? "1 further allocation is" : counted(told - kMost, "further allocation") + " are"), true);
}

// Where files may not grow the kernel sends SIGXFSZ, and what that does is the program's affair: it is not to end by a file of ours.
class NoFileLimitSignal {
 public:
  NoFileLimitSignal() {
    ::sigemptyset(&one_);
    ::sigaddset(&one_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &one_, &before_);
  }
  ~NoFileLimitSignal() {
    constexpr timespec kAtOnce{};
    while (::sigtimedwait(&one_, nullptr, &kAtOnce) > 0) {}
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileLimitSignal(const NoFileLimitSignal&) = delete;
  NoFileLimitSignal& operator=(const NoFileLimitSignal&) = delete;

 private:
  sigset_t one_, before_;
};

// A report that cannot be written is left empty, which needs no space, so that its reader sees that there should be one.
void write_report(const std::string& path, const std::string& text) {
  const NoFileLimitSignal quiet;
  if (write_file_atomic(path, text)) return;
  if (const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); file >= 0) ::close(file);
}

}  // namespace

bool Session::begin(Settings& settings) {
  const char* text = std::getenv("KFORGE_RUN");
  if (text == nullptr || active()) return active();
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    std::fprintf(stderr, "kforge: KFORGE_RUN is no JSON object and is passed over\n");
    return false;
  }
  settings.sheet = json.value("sheet", settings.sheet);
  settings.checks.safety = json.value("safety", false);
  settings.checks.forgiving = json.value("forgiving", false);
  settings.checks.profile = json.value("profile", false);
  settings.seed = json.value("seed", settings.seed);
  limits_.thread_instructions = json.value("instructions", std::uint64_t{0});
  sites_ = json.value("sites", false);
  folder_ = json.value("report", std::string{});
  written_ = std::chrono::steady_clock::now();
  return active();
}

void Session::add_launch(const emulator::LaunchResult& result) {
  ++launches_;
  thread_instructions_ += result.thread_instructions;
  seconds_ += result.seconds;
}

void Session::remember(const std::string& label) {
  constexpr std::size_t kMost = 20000;
  if (active() && sites_ && places_.size() < kMost) places_[label] = call_site();
}

void Session::report(Context& context, bool at_end) {
  if (!active()) return;
  const emulator::Device* device = context.device_if_any();
  const std::size_t known = kept_.violations.size() + context.log.violation_count() + (device == nullptr ? 0 : device->violation_count());
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - written_;
  if (at_end || known != reported_ || since.count() > kSecondsBetweenReports) write(context, at_end);
  reported_ = known;
}

void Session::keep(Context& context) {
  if (!active() || context.device_if_any() == nullptr) return;
  report_leaks(context);
  append(context.device_if_any()->take_log(), kept_);
  context.log.move_into(kept_);
}

void Session::write(Context& context, bool at_end) {
  if (at_end) report_leaks(context);
  evidence::LaunchLog log = kept_;
  if (context.device_if_any() != nullptr) append(context.device_if_any()->peek_log(), log);
  CallLog(context.log).move_into(log);
  if (!context.settings.checks.profile)
    for (evidence::KernelProfile& kernel : log.kernels) kernel.lines.clear();
  nlohmann::json sites = nlohmann::json::object();
  for (const evidence::Violation& violation : log.violations)
    for (const auto& [label, frames] : places_)
      if (names(violation, label)) sites[label] = to_json(frames);
  const nlohmann::json figures = {{"sites", std::move(sites)}, {"launches", launches_}, {"thread_instructions", thread_instructions_}, {"seconds", seconds_}, {"ended", at_end}};
  write_report(fmt::format("{}/{}.json", folder_, ::getpid()), figures.dump() + "\n" + evidence::to_json(log));
  written_ = std::chrono::steady_clock::now();
}

}  // namespace kforge::cudart
