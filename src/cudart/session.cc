#include "cudart/session.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cudart/context.h"

namespace kforge::cudart {
namespace {

constexpr double kSecondsBetweenReports = 2;

// After the destructors of everything that was loaded before us: what is still allocated then is a leak.
__attribute__((destructor)) void end_of_program() {
  Context& context = Context::get();
  const std::unique_lock lock(context.mutex, std::try_to_lock);   // a thread that was left in a launch holds it for ever
  if (!lock.owns_lock()) return;
  context.flush_output();
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
  settings.checks.profile = json.value("profile", false);
  settings.seed = json.value("seed", settings.seed);
  limits_.thread_instructions = json.value("instructions", std::uint64_t{0});
  folder_ = json.value("report", std::string{});
  written_ = std::chrono::steady_clock::now();
  return active();
}

void Session::add_launch(const emulator::LaunchResult& result) {
  ++launches_;
  thread_instructions_ += result.thread_instructions;
  seconds_ += result.seconds;
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
  append(context.device_if_any()->take_log(), kept_);
  context.log.move_into(kept_);
}

void Session::write(Context& context, bool at_end) {
  evidence::LaunchLog log = kept_;
  if (context.device_if_any() != nullptr) append(context.device_if_any()->peek_log(), log);
  CallLog(context.log).move_into(log);
  if (!context.settings.checks.profile)
    for (evidence::KernelProfile& kernel : log.kernels) kernel.lines.clear();
  const nlohmann::json figures = {{"launches", launches_}, {"thread_instructions", thread_instructions_}, {"seconds", seconds_}, {"ended", at_end}};
  // A report that cannot be written is missed by the reader, who says so.
  (void)write_file_atomic(fmt::format("{}/{}.json", folder_, ::getpid()), figures.dump() + "\n" + evidence::to_json(log));
  written_ = std::chrono::steady_clock::now();
}

}  // namespace kforge::cudart
