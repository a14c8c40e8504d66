#include "report/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "judge/contract_table.h"

namespace kforge::report {

RunWork work_of(const Plan& plan) {
  RunWork work;
  double largest = -1;
  for (const PlanSize& size : plan.sizes) {
    work.operations += size.operations;
    work.read_bytes += size.read_bytes;
    work.write_bytes += size.write_bytes;
    work.floor_us += size.floor_us;
    work.target_us += size.target_us;
    if (size.floor_us > largest) largest = size.floor_us, work.bound = size.bound;
  }
  return work;
}

std::string floor_text(const RunWork& work) {
  return fmt::format("{} read once from DRAM (the {} of results may stay in L2) and {} operations", human_bytes(work.read_bytes), human_bytes(work.write_bytes), human_count(work.operations));
}

double microseconds(const TriedCandidate& tried) {
  return tried.verdict.time && std::isfinite(tried.verdict.time->us) && tried.verdict.time->us > 0 ? tried.verdict.time->us : 0;
}

namespace {

bool is_wrong(const Verdict& verdict) {
  return std::any_of(verdict.contracts.begin(), verdict.contracts.end(), [](const ContractReport& c) {
    const judge::ContractRow* row = judge::find_contract(c.id);
    return row && row->group == judge::Group::correctness && c.level == Level::required && c.status == Status::failed;
  });
}

ProgramGain program_gain(const RunRecord& run, double speedup) {
  ProgramGain gain;
  if (!(run.program_share > 0) || run.program_share > 1) return gain;
  gain.stated = true;
  gain.share = run.program_share;
  gain.total_us = run.program_total_us;
  gain.kernel_speedup = speedup > 0 ? speedup : 1;
  const double after = 1 - gain.share + gain.share / gain.kernel_speedup;
  gain.speedup = 1 / after;
  gain.limit = gain.share < 1 ? 1 / (1 - gain.share) : std::numeric_limits<double>::infinity();
  gain.total_after_us = gain.total_us * after;
  return gain;
}

// Why it was rejected, and the first thing that was found: what the compiler said, say.
std::string fault_text(const Verdict& verdict) {
  const auto first = std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
  if (first == verdict.findings.end() || first->message.empty()) return verdict.why;
  return fmt::format("{}: {}{}", verdict.why, first->message, first->line > 0 ? fmt::format(" (line {})", first->line) : "");
}

}  // namespace

Standing standing_of(const RunRecord& run) {
  Standing s;
  s.baseline = run.baseline.empty() ? nullptr : run.find(run.baseline);
  s.winner = run.winner.empty() ? nullptr : run.find(run.winner);
  s.work = work_of(run.plan);
  if (s.baseline && is_wrong(s.baseline->verdict)) s.start_fault = fault_text(s.baseline->verdict);
  else if (s.baseline) s.baseline_us = microseconds(*s.baseline);
  if (s.winner) s.winner_us = microseconds(*s.winner);
  if (s.baseline_us > 0 && s.winner_us > 0) s.speedup = s.baseline_us / s.winner_us;
  if (s.work.floor_us > 0 && s.winner_us > 0) s.roofline_fraction = s.work.floor_us / s.winner_us;
  if (s.winner && s.winner->verdict.time) {
    s.time_source = s.winner->verdict.time->source;
    s.bottleneck = s.winner->verdict.time->bottleneck;
  }
  s.program = program_gain(run, s.speedup);
  return s;
}

const TriedCandidate* shown_of(const RunRecord& run) {
  for (const std::string* id : {&run.winner, &run.best})
    if (const TriedCandidate* found = id->empty() ? nullptr : run.find(*id)) return found;
  return run.tried.empty() ? nullptr : &run.tried.back();
}

std::string_view source_of(const RunRecord& run, const std::string& candidate_id) {
  const TriedCandidate* tried = run.find(candidate_id);
  return tried ? std::string_view(tried->candidate.source) : std::string_view{};
}

std::string sizes_text(const PlanSize& size) {
  std::string text;
  for (const auto& [name, value] : size.sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "one size" : text;
}

std::string bound_text(const std::string& bound) {
  struct Row { std::string_view bound, text; };
  static constexpr Row kRows[] = {{"dram", "DRAM bandwidth"}, {"l2", "L2 bandwidth"}, {"fp32", "FP32 arithmetic"}, {"fp64", "FP64 arithmetic"}, {"fp16", "FP16 arithmetic"}, {"int", "integer arithmetic"},
                                  {"special", "special functions"}, {"tensor", "tensor cores"}, {"latency", "latency"}};
  for (const Row& row : kRows)
    if (row.bound == bound) return std::string(row.text);
  return bound;
}

std::string time_text(double us) { return us > 0 && std::isfinite(us) ? human_seconds(us * 1e-6) : "-"; }

std::string gain_text(double factor) {
  if (!(factor > 0) || !std::isfinite(factor)) return "-";
  return factor < 9.995 ? fmt::format("{:.2f}x", factor) : factor < 99.95 ? fmt::format("{:.1f}x", factor) : fmt::format("{:.0f}x", factor);
}

std::string short_id(const std::string& id) { return id.substr(0, 8); }

std::string move_title(const Candidate& candidate) {
  if (!candidate.move.title.empty()) return candidate.move.title;
  return !candidate.move.id.empty() ? candidate.move.id : !candidate.proposer.empty() ? candidate.proposer : short_id(candidate.id);
}

}  // namespace kforge::report
