#include "forge/program_report.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "forge/host_lines.h"
#include "judge/findings.h"
#include "kforge/program.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using evidence::LaunchLog;

struct CheckRow {
  const char* name;
  const char* contract;
  bool fast, observer;                   // part of "fast"; needs the observers of every access
  const char* what;
};
constexpr CheckRow kChecks[] = {
    {"bounds", "safety.bounds", true, false, "every access inside a live allocation and aligned; freed once"},
    {"barriers", "safety.barriers", true, false, "barriers, shuffles and warp-synchronous operations reached by all live lanes they name"},
    {"hang", "run.hang", true, false, "no deadlock"},
    {"limit", "run.limit", true, false, "within --limit"},
    {"launch", "launch.limits", true, false, "launches within the GPU's limits"},
    {"portability", "portability", true, false, "device code that the GPU can run"},
    {"leaks", "safety.leaks", false, false, "advice: allocations that are never freed"},
    {"uninitialised", "safety.uninitialised", false, true, "nothing unwritten decides an address, a branch or a result"},
    {"races", "safety.races", false, true, "no two unordered conflicting accesses, shared and global"},
    {"async", "safety.async", false, true, "copies in flight are waited for"},
};

void merge(std::vector<evidence::KernelProfile>& kernels, evidence::KernelProfile&& more) {
  const auto same = std::find_if(kernels.begin(), kernels.end(), [&](const auto& known) { return known.kernel == more.kernel; });
  if (same == kernels.end()) {
    kernels.push_back(std::move(more));
    return;
  }
  same->launch_count += more.launch_count;
  same->totals += more.totals;
  for (const evidence::LaunchShape& shape : more.launches)
    if (std::find(same->launches.begin(), same->launches.end(), shape) == same->launches.end()) same->launches.push_back(shape);
  for (evidence::LineProfile& line : more.lines) {
    const auto known = std::find_if(same->lines.begin(), same->lines.end(), [&](const auto& l) { return l.position == line.position; });
    if (known == same->lines.end()) same->lines.push_back(std::move(line));
    else known->counters += line.counters;
  }
}

void add(LaunchLog&& log, ProgramReport& report) {
  for (evidence::KernelProfile& kernel : log.kernels) merge(report.log.kernels, std::move(kernel));
  for (evidence::Violation& violation : log.violations) report.log.violations.push_back(std::move(violation));
  for (evidence::Unproven& unproven : log.unproven) report.log.unproven.push_back(std::move(unproven));
  if (report.log.ending == evidence::Ending::finished) report.log.ending = log.ending, report.log.ending_detail = std::move(log.ending_detail);
}

// Host-side violations carry addresses in place of lines (cudart/session.h).
void find_lines(LaunchLog& log, HostLines& lines) {
  for (evidence::Violation& violation : log.violations) {
    std::vector<HostAddress> frames;
    for (const evidence::SourceFrame& frame : violation.where.frames)
      if (frame.line == 0 && frame.function.starts_with('+'))
        if (const auto offset = parse_unsigned(std::string_view(frame.function).substr(1))) frames.push_back({frame.file, *offset});
    if (!frames.empty()) violation.where = lines.resolve(frames);
  }
}

void read_places(const Json& sites, HostLines& lines, ProgramReport& report) {
  for (const auto& [label, list] : sites.items()) {
    std::vector<HostAddress> frames;
    for (const Json& frame : list)
      if (frame.is_array() && frame.size() == 2 && frame[0].is_string() && frame[1].is_number_unsigned()) frames.push_back({frame[0], frame[1]});
    report.places[label] = lines.resolve(frames);
  }
}

void read_one(const fs::path& path, ProgramReport& report) {
  const auto text = read_file(path);
  if (text && text->empty()) {   // as cudart/session.cc leaves it
    report.damaged = path.filename().string() + " could not be written (is the disk full, or does ulimit -f forbid it?)";
    return;
  }
  const std::size_t line = text ? text->find('\n') : std::string::npos;
  if (line == std::string::npos) {
    report.damaged = path.filename().string() + " is cut off";
    return;
  }
  const Json figures = Json::parse(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(line), nullptr, false);
  LaunchLog log;
  if (std::string error; !figures.is_object() || !evidence::from_json(std::string_view(*text).substr(line + 1), log, error)) {
    report.damaged = path.filename().string() + " cannot be read: " + error;
    return;
  }
  report.any = true;
  report.launches += figures.value("launches", std::uint64_t{0});
  report.thread_instructions += figures.value("thread_instructions", std::uint64_t{0});
  report.seconds += figures.value("seconds", 0.0);
  report.complete = report.complete && figures.value("ended", false);
  HostLines lines;
  find_lines(log, lines);
  if (figures.contains("sites")) read_places(figures["sites"], lines, report);
  add(std::move(log), report);
}

// Says where each allocation was made that the finding speaks of.
Finding with_places(Finding finding, const ProgramReport& report) {
  const std::string text = finding.message + " " + finding.measured + " ";
  for (const auto& [label, position] : report.places) {
    const std::size_t at = text.find(label);
    if (at == std::string::npos || std::isdigit(static_cast<unsigned char>(text[at + label.size()])) != 0 || position.frames.empty()) continue;
    if (finding.line == 0 && finding.kernel.empty()) finding.file = position.frames.front().file, finding.line = position.frames.front().line;
    finding.details.push_back(fmt::format("{}: {}:{}", label, position.frames.front().file, position.frames.front().line));
  }
  return finding;
}

// What kernels of Thrust do on purpose, by a part of their mangled names: advice, where both lines are the library's own.
struct LibraryHabit { std::string_view kernel, contract, memory, why; };
constexpr LibraryHabit kLibraryHabits[] = {
    {"8__unique", "safety.races", "", "unique in place reads the key before a tile, over which the tile before it writes that same key"},
    {"16__set_operations", "safety.uninitialised", "shared memory", "set operations compare keys behind the end of a tile, and drop what comes of it"},
};

bool is_in_library(const evidence::SourcePosition& position) {
  return std::ranges::all_of(position.frames, [](const evidence::SourceFrame& frame) { return frame.file.find("/thrust/") != std::string::npos || frame.file.find("/cub/") != std::string::npos; });
}

void excuse_library(evidence::Violation& violation) {
  if (!violation.kernel.starts_with("_ZN6thrust") || violation.where.frames.empty() || !is_in_library(violation.where) || !is_in_library(violation.other)) return;
  if (violation.kind == "race-streams" || violation.kind == "race-dependent-launch" || violation.kind == "race-write-write") return;
  for (const LibraryHabit& habit : kLibraryHabits) {
    if (violation.contract != habit.contract || violation.kernel.find(habit.kernel) == std::string::npos || violation.measured.find(habit.memory) == std::string::npos) continue;
    violation.advice = true;
    violation.message += fmt::format(" (a habit of the library: {})", habit.why);
  }
}

Json metrics_of(const evidence::Counters& counters) {
  Json json = Json::object();
  for (const evidence::MetricRow& row : evidence::metric_table())
    if (counters[row.id] != 0) json[std::string(row.name)] = counters[row.id];
  return json;
}

Json extent(const evidence::Dim3& d) { return {d.x, d.y, d.z}; }

// Lines of one place, with what was inlined there from elsewhere: the innermost frame.
Json line_json(const evidence::LineProfile& line) {
  Json json = {{"metrics", metrics_of(line.counters)}};
  if (line.position.frames.empty()) return json;
  const evidence::SourceFrame& inner = line.position.frames.front();
  json["file"] = inner.file, json["line"] = inner.line;
  Json chain = Json::array();
  for (std::size_t i = 1; i < line.position.frames.size(); ++i)
    chain.push_back(fmt::format("{}:{}", line.position.frames[i].file, line.position.frames[i].line));
  if (!chain.empty()) json["inlined_at"] = std::move(chain);
  return json;
}

}  // namespace

ProgramReport read_program_report(const fs::path& folder) {
  ProgramReport report;
  const auto names = list_directory(folder);
  if (!names) return report;
  for (const std::string& name : *names)
    if (name.ends_with(".json")) read_one(folder / name, report);
  return report;
}

Expected<CheckChoice> choose_checks(const std::string& wanted) {
  CheckChoice choice;
  const auto take = [&](const CheckRow& row) {
    choice.contracts.emplace_back(row.contract);
    choice.needs_observers |= row.observer;
  };
  if (wanted == "none") return choice;
  if (wanted == "fast" || wanted == "all") {
    for (const CheckRow& row : kChecks)
      if (row.fast || wanted == "all") take(row);
    return choice;
  }
  for (const std::string_view word : split(wanted, ',')) {
    const auto* row = std::find_if(std::begin(kChecks), std::end(kChecks), [&](const CheckRow& r) { return r.name == word; });
    if (row == std::end(kChecks)) {
      std::string known;
      for (const CheckRow& r : kChecks) known += fmt::format(", {}", r.name);
      return fail(ErrorCode::bad_input, fmt::format("there is no check named \"{}\"", word), {}, "none, fast, all, or some of these with commas between: " + known.substr(2));
    }
    take(*row);
  }
  return choice;
}

std::vector<Finding> program_findings(const ProgramReport& report, const CheckChoice& checks, const std::string& source) {
  judge::FindingSet findings;
  const auto chosen = [&](const std::string& contract) { return std::find(checks.contracts.begin(), checks.contracts.end(), contract) != checks.contracts.end(); };
  for (evidence::Violation violation : report.log.violations) {
    excuse_library(violation);
    if (chosen(violation.contract)) findings.add(with_places(judge::to_finding(violation, source), report));
  }
  const auto ended = [&](const char* contract) {
    if (!chosen(contract) || findings.has_error(contract)) return;
    Finding finding = judge::make_finding(contract, {}, source);
    finding.message = report.log.ending_detail;
    if (finding.contract == "run.limit") finding.advice = {"reduce the work of the program, or raise the budget (--limit)"};
    findings.add(std::move(finding));
  };
  if (report.log.ending == evidence::Ending::hang) ended("run.hang");
  if (report.log.ending == evidence::Ending::limit) ended("run.limit");
  return findings.take();
}

std::string profile_json(const ProgramReport& report, const std::string& gpu) {
  Json json = {{"schema", "kforge.profile/1"}, {"gpu", gpu}, {"kernels", Json::array()}};
  for (const evidence::KernelProfile& kernel : report.log.kernels) {
    Json row = {{"kernel", judge::readable_kernel(kernel.kernel)}, {"mangled", kernel.kernel}, {"launches", kernel.launch_count},
                {"source", evidence::name(kernel.source)}, {"shapes", Json::array()}, {"metrics", metrics_of(kernel.totals)}, {"lines", Json::array()}};
    for (const evidence::LaunchShape& shape : kernel.launches)
      row["shapes"].push_back({{"grid", extent(shape.grid)}, {"block", extent(shape.block)}, {"static_shared_bytes", shape.static_shared_bytes},
                               {"dynamic_shared_bytes", shape.dynamic_shared_bytes}});
    for (const evidence::LineProfile& line : kernel.lines) row["lines"].push_back(line_json(line));
    json["kernels"].push_back(std::move(row));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kforge::forge

namespace kforge {

const std::vector<ProgramCheck>& program_checks() {
  static const std::vector<ProgramCheck> checks = [] {
    std::vector<ProgramCheck> all;
    for (const auto& row : forge::kChecks) all.push_back({row.name, row.what, row.fast});
    return all;
  }();
  return checks;
}

}  // namespace kforge
