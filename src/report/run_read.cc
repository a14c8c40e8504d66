// What run_json.cc wrote, read back.
#include <nlohmann/json.hpp>

#include "kforge/figures.h"
#include "kforge/report.h"
#include "report/read_parts.h"

namespace kforge {
namespace {

using report::JsonReader;

void read_into(JsonReader& reader, Move& move) {
  reader.read("id", move.id);
  reader.read("title", move.title);
  reader.read("answers", move.answers);
  reader.read("rule", move.rule);
  reader.read("expected_gain", move.expected_gain);
}

void read_into(JsonReader& reader, Candidate& c) {
  reader.read("id", c.id);
  reader.read("parent", c.parent);
  reader.read("proposer", c.proposer);
  reader.in_object("move", [&](JsonReader& move) { read_into(move, c.move); });
  reader.read("source", c.source);
  reader.read("flags", c.flags);
  reader.read("parameters", c.parameters);
}

void read_into(JsonReader& reader, TriedCandidate& t) {
  reader.in_object("candidate", [&](JsonReader& candidate) { read_into(candidate, t.candidate); });
  reader.in_object("verdict", [&](JsonReader& verdict) { report::read_into(verdict, t.verdict); });
  reader.read("started_s", t.started_s);
  reader.read("build_s", t.build_s);
  reader.read("judge_s", t.judge_s);
  reader.read("reused", t.reused);
  reader.read("observed_gain", t.observed_gain);
}

void read_into(JsonReader& reader, Contribution& c) {
  reader.in_object("move", [&](JsonReader& move) { read_into(move, c.move); });
  reader.read("candidate", c.candidate);
  reader.read("factor", c.factor);
  reader.read("how", c.how);
}

void read_into(JsonReader& reader, StageCost& c) {
  reader.read("stage", c.stage);
  reader.read("cpu_s", c.cpu_s);
  reader.read("wall_s", c.wall_s);
  reader.read("times", c.times);
}

void read_into(JsonReader& reader, PlanSize& s) {
  reader.read("sizes", s.sizes);
  reader.read("operations", s.operations);
  reader.read("read_bytes", s.read_bytes);
  reader.read("write_bytes", s.write_bytes);
  reader.read("bound", s.bound);
  reader.read("floor_us", s.floor_us);
  reader.read("target_us", s.target_us);
}

void read_into(JsonReader& reader, PlanStep& s) {
  reader.read("id", s.id);
  reader.read("title", s.title);
  reader.read("why", s.why);
  reader.read("rule", s.rule);
  reader.read("expected_gain", s.expected_gain);
  reader.read("enabled", s.enabled);
  reader.read("parameters", s.parameters);
}

template <class T>
void read_list(JsonReader& reader, const char* key, std::vector<T>& out) {
  reader.in_array(key, [&](JsonReader& inner) { read_into(inner, out.emplace_back()); });
}

void read_into(JsonReader& reader, Plan& plan) {
  reader.read("task", plan.task);
  reader.read("gpu", plan.gpu);
  reader.in_object("pattern", [&](JsonReader& pattern) {
    pattern.read("name", plan.guess.pattern);
    pattern.read("confidence", plan.guess.confidence);
    pattern.read("why", plan.guess.why);
  });
  read_list(reader, "sizes", plan.sizes);
  read_list(reader, "steps", plan.steps);
  reader.read("notes", plan.notes);
}

void read_into(JsonReader& reader, RunRecord& run) {
  reader.require("schema", "kforge.run/1");
  reader.read("id", run.id);
  reader.in_object("task", [&](JsonReader& task) {
    task.read("name", run.task_name);
    task.read("path", run.task_path);
    task.read("text", run.task_text);
  });
  reader.read("gpu", run.gpu);
  reader.read("device", run.device);
  reader.read("version", run.version);
  reader.read("toolkit", run.toolkit);
  reader.read("started", run.started);
  reader.read("seconds", run.seconds);
  reader.read("seed", run.seed);
  reader.read("outcome", run.outcome);
  reader.read("outcome_why", run.outcome_why);
  reader.read("goal_met", run.goal_met);
  reader.read("baseline", run.baseline);
  reader.read("winner", run.winner);
  reader.read("best", run.best);
  reader.read("winners", run.winners);
  read_list(reader, "contributions", run.contributions);
  read_list(reader, "costs", run.costs);
  std::vector<std::pair<std::string, std::string>> dead_ends;
  reader.read("dead_ends", dead_ends);
  run.dead_ends.insert(dead_ends.begin(), dead_ends.end());
  reader.in_object("program", [&](JsonReader& program) {
    program.read("total_us", run.program_total_us);
    program.read("share", run.program_share);
  });
  reader.in_object("plan", [&](JsonReader& plan) { read_into(plan, run.plan); });
  read_list(reader, "tried", run.tried);
}

void read_metrics(JsonReader& reader, MetricValues& out) {
  std::map<std::string, std::int64_t> values;
  reader.read("metrics", values);
  for (const auto& [name, value] : values)
    if (value > 0) out[name] = static_cast<std::uint64_t>(value);
}

void read_into(JsonReader& reader, LineFigures& line) {
  reader.read("file", line.file);
  reader.read("line", line.line);
  read_metrics(reader, line.metrics);
}

void read_into(JsonReader& reader, KernelFigures& kernel) {
  reader.read("kernel", kernel.kernel);
  reader.read("mangled", kernel.mangled);
  reader.read("launches", kernel.launches);
  reader.read("shapes", kernel.shapes);
  reader.read("sampled", kernel.sampled);
  reader.read("source", kernel.source);
  read_metrics(reader, kernel.metrics);
  reader.in_array("lines", [&](JsonReader& line) { read_into(line, kernel.lines.emplace_back()); });
}

}  // namespace

Expected<std::vector<KernelFigures>> read_figures(std::string_view json, const std::string& file) {
  const auto parsed = report::parse_json(json, file);
  if (!parsed) return Unexpected(parsed.error());
  JsonReader reader(**parsed, file);
  std::vector<KernelFigures> out;
  reader.in_array("kernels", [&](JsonReader& kernel) { read_into(kernel, out.emplace_back()); });
  if (auto done = reader.done(); !done) return Unexpected(done.error());
  return out;
}

Expected<RunRecord> read_run(std::string_view json, const std::string& file) {
  const auto parsed = report::parse_json(json, file);
  if (!parsed) return Unexpected(parsed.error());
  JsonReader reader(**parsed, file);
  RunRecord run;
  read_into(reader, run);
  if (auto done = reader.done(); !done) return Unexpected(done.error());
  return run;
}

}  // namespace kforge
