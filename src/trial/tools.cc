#include "trial/tools.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/held_directory.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "gpu/counter_sets.h"
#include "gpu/sanitizer.h"
#include "gpu/stalls.h"
#include "trial/candidate_process.h"
#include "trial/protocol.h"

namespace kforge::trial {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostElements = 1 << 18;   // of a case under compute-sanitizer, which is a hundred times slower
constexpr double kToolSeconds = 120;

// A case as files: `kforge-worker run REQUEST ARENA` makes its call.
class CaseFiles {
 public:
  static Expected<CaseFiles> write(const task::Task& task, const WorkerOptions& worker, const task::Case& run) {
    auto folder = HeldDirectory::create("kforge-tool");
    if (!folder) return Unexpected(folder.error());
    const auto layout = lay_out(task, run.sizes, false);
    if (!layout) return Unexpected(layout.error());
    const auto inputs = make_inputs(task, run, true);
    if (!inputs) return Unexpected(inputs.error());
    std::string arena(kArenaHeaderBytes + layout->arena_bytes, '\0');
    place_inputs(*layout, {inputs->begin(), inputs->end()}, reinterpret_cast<std::byte*>(arena.data()) + kArenaHeaderBytes);
    const auto request = nlohmann::json::parse(request_text(task, *layout, run.sizes, {}));
    const std::string text = nlohmann::json{{"start", nlohmann::json::parse(start_text(worker))}, {"request", request}}.dump();
    CaseFiles out(std::move(*folder), worker.program);
    if (auto written = write_file_atomic(out.request(), text); !written) return Unexpected(written.error());
    if (auto written = write_file_atomic(out.arena(), arena); !written) return Unexpected(written.error());
    return out;
  }

  // What the tool wrote on both streams. Errors: it could not be started.
  Expected<std::string> run_under(std::vector<std::string> tool) const {
    tool.insert(tool.end(), {program_, "run", request(), arena()});
    ProcessRequest request;
    request.arguments = std::move(tool);
    request.merge_output = true;
    request.working_directory = folder_.path();
    request.limits.wall_seconds = kToolSeconds;
    const auto result = run_process(request);
    if (!result) return Unexpected(result.error());
    return result->timed_out ? fmt::format("{}\nstopped after {} s", result->out, kToolSeconds) : result->out;
  }

 private:
  CaseFiles(HeldDirectory folder, std::string program) : folder_(std::move(folder)), program_(std::move(program)) {}
  std::string request() const { return (folder_.path() / "request.json").string(); }
  std::string arena() const { return (folder_.path() / "arena").string(); }
  HeldDirectory folder_;
  std::string program_;
};

Rung without(const char* rung, const char* program) {
  return {rung, RungStatus::skipped, 0, fmt::format("{} is not on PATH; the emulator's evidence stands (kforge doctor)", program)};
}

// The largest that a tool can watch in reasonable time.
const task::Case* case_for(const task::Task& task, const std::vector<task::Case>& cases) {
  const task::Case* found = nullptr;
  std::int64_t most = 0;
  for (const task::Case& run : cases) {
    const auto elements = task::total_elements(task, run.sizes);
    if (run.values != "declared" || !elements || *elements > kMostElements || *elements <= most) continue;
    most = *elements;
    found = &run;
  }
  return found;
}

}  // namespace

Expected<Rung> sanitize_on_gpu(const TrialRequest& request, const WorkerOptions& worker, const std::vector<task::Case>& cases, const std::function<void(const CallEvidence&)>& on_call) {
  const auto program = find_program("compute-sanitizer");
  if (!program) return without("sanitize", "compute-sanitizer");
  const task::Case* run = case_for(*request.task, cases);
  if (!run) return Rung{"sanitize", RungStatus::skipped, 0, "no case is small enough"};
  const auto start = Clock::now();
  const auto files = CaseFiles::write(*request.task, worker, *run);
  if (!files) return Unexpected(files.error());
  Rung rung{"sanitize", RungStatus::passed, 0, {}};
  for (const gpu::SanitizerTool& tool : gpu::kSanitizerTools) {
    if (request.progress) request.progress(fmt::format("sanitize {}: {}", run->label, tool.name));
    const auto text = files->run_under({program->string(), "--tool", tool.name, "--print-limit", "20"});
    if (!text) return Unexpected(text.error());
    gpu::SanitizerReport report = gpu::read_sanitizer(*text, tool);
    if (!report.trouble.empty()) {
      if (rung.status == RungStatus::passed) rung = {"sanitize", RungStatus::unknown, 0, fmt::format("{}: {}", tool.name, report.trouble)};
      continue;
    }
    if (report.violations.empty()) continue;
    const bool wrong = std::any_of(report.violations.begin(), report.violations.end(), [](const evidence::Violation& v) { return !v.advice; });
    if (wrong) rung = {"sanitize", RungStatus::failed, 0, fmt::format("{}: {}", run->label, report.violations.front().message)};
    CallEvidence call;
    call.run = *run;
    call.on_gpu = true;
    call.log.violations = std::move(report.violations);
    on_call(call);
  }
  rung.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return rung;
}

namespace {

struct Counted {
  gpu::NcuReport report;
  std::string refused;           // why the suspect's metrics are missing; "" when they are there
};

// Where ncu will not read the set, as it does not know a metric of it in this version or for this GPU, those of contracts are read all the same.
Expected<Counted> count(const CaseFiles& files, const std::string& ncu, std::optional<gpu::Suspect> suspect) {
  const auto ask = [&](std::optional<gpu::Suspect> wanted) -> Expected<gpu::NcuReport> {
    const auto text = files.run_under({ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics", join(gpu::ncu_metrics(wanted), ",")});
    if (!text) return Unexpected(text.error());
    return gpu::read_ncu(*text);
  };
  auto report = ask(suspect);
  if (!report) return Unexpected(report.error());
  if (!suspect || report->trouble.empty()) return Counted{std::move(*report), {}};
  auto fewer = ask(std::nullopt);
  if (!fewer) return Unexpected(fewer.error());
  return Counted{std::move(*fewer), report->trouble};
}

// "dram__throughput... 91.3 % (of the DRAM's peak rate)" of the kernel that took longest, each metric of the set by its name.
std::string told_of(const gpu::CounterSet& set, const Counted& counted) {
  constexpr const char* kTime = "gpu__time_duration.sum";
  const auto time_of = [](const gpu::CounterRow& row) {
    const auto found = row.metrics.find(kTime);
    return found == row.metrics.end() ? 0 : found->second;
  };
  const gpu::CounterRow& longest = *std::max_element(counted.report.rows.begin(), counted.report.rows.end(), [&](const auto& a, const auto& b) { return time_of(a) < time_of(b); });
  std::vector<std::string> figures;
  std::string missing;
  for (const gpu::CounterHint& hint : set.metrics) {
    const auto found = longest.metrics.find(std::string(hint.metric));
    if (found != longest.metrics.end()) figures.push_back(fmt::format("{} {:.4g} {} {}", hint.metric, found->second, hint.unit, hint.words));
    else missing += (missing.empty() ? "; without " : ", ") + std::string(hint.metric);
  }
  const std::string passes = counted.report.passes > 0 ? fmt::format(" in {} pass{}", counted.report.passes, counted.report.passes == 1 ? "" : "es") : "";
  return fmt::format("suspected: {} ({} of {}{}): {}{}", set.words, set.name, longest.kernel, passes, figures.empty() ? "nothing was counted" : join(figures, ", "), missing);
}

double extent(const task::Sizes& sizes) {
  double product = 1;
  for (const auto& [name, value] : sizes) product *= static_cast<double>(value);
  return product;
}

const task::Sizes& largest(const std::vector<task::Sizes>& measure) {
  return *std::max_element(measure.begin(), measure.end(), [](const task::Sizes& a, const task::Sizes& b) { return extent(a) < extent(b); });
}

}  // namespace

Expected<Rung> profile_on_gpu(const TrialRequest& request, const WorkerOptions& worker, TrialResult& result) {
  const auto program = find_program("ncu");
  if (!program) return without("profile", "ncu");
  const auto start = Clock::now();
  Rung rung{"profile", RungStatus::passed, 0, {}};
  std::vector<std::string> told;
  for (const task::Sizes& sizes : request.task->measure) {
    task::Case run;
    run.sizes = sizes;
    run.seed = request.seed;
    for (const std::string& name : request.task->size_names()) run.label += fmt::format("{}{}={}", run.label.empty() ? "" : " ", name, sizes.at(name));
    if (request.progress) request.progress("profile " + run.label);
    const auto files = CaseFiles::write(*request.task, worker, run);
    if (!files) return Unexpected(files.error());
    const auto suspect = request.suspect ? request.suspect(result, sizes) : std::nullopt;
    auto counted = count(*files, program->string(), suspect);
    if (!counted) return Unexpected(counted.error());
    if (!counted->report.trouble.empty()) {
      rung = {"profile", RungStatus::unknown, 0, counted->report.trouble + "; the emulator's evidence stands"};
      continue;
    }
    CounterProfile& profile = result.counters.emplace_back(CounterProfile{sizes, run.label, suspect, {}, {}});
    if (&sizes == &largest(request.task->measure)) {
      std::vector<std::string> tool = {program->string(), "--clock-control", "none"};
      for (const std::string& option : gpu::stall_options()) tool.push_back(option);
      const auto source = files->run_under(tool);
      if (!source) return Unexpected(source.error());
      gpu::StallReport stalls = gpu::read_stalls(*source);
      const std::string where = gpu::describe_stalls(stalls.kernels);
      told.push_back(run.label + ": " + (!where.empty() ? where : stalls.trouble.empty() ? "no warp was seen to wait" : stalls.trouble));
      profile.stalls = std::move(stalls.kernels);
    }
    if (suspect) told.push_back(run.label + ": " + (counted->refused.empty() ? told_of(gpu::counter_set(*suspect), *counted) : fmt::format("{}: the set '{}' was left out", counted->refused, gpu::counter_set(*suspect).name)));
    profile.kernels = std::move(counted->report.rows);
  }
  if (rung.status == RungStatus::passed) rung.why = join(told, "; ");
  rung.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return rung;
}

}  // namespace kforge::trial
