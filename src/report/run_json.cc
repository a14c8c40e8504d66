// A run as one JSON document, schema kforge.run/1. run_read.cc reads it back: a key that is added here is added there.
#include <cmath>

#include <nlohmann/json.hpp>

#include "kforge/report.h"
#include "report/json_parts.h"

namespace kforge {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json(const Move& move) {
  return {{"id", move.id}, {"title", move.title}, {"answers", move.answers}, {"rule", move.rule}, {"expected_gain", number(move.expected_gain)}};
}

Json json(const Candidate& candidate) {
  Json parameters = Json::object();
  for (const auto& [key, value] : candidate.parameters) parameters[key] = value;
  return {{"id", candidate.id}, {"parent", candidate.parent}, {"proposer", candidate.proposer}, {"move", json(candidate.move)},
          {"source", candidate.source}, {"flags", candidate.flags}, {"parameters", parameters}};
}

Json json(const TriedCandidate& tried) {
  return {{"candidate", json(tried.candidate)}, {"verdict", report::verdict_json(tried.verdict)}, {"started_s", number(tried.started_s)},
          {"build_s", number(tried.build_s)}, {"judge_s", number(tried.judge_s)}, {"reused", tried.reused}, {"observed_gain", number(tried.observed_gain)}};
}

Json json(const Contribution& contribution) {
  return {{"move", json(contribution.move)}, {"candidate", contribution.candidate}, {"factor", number(contribution.factor)}, {"how", contribution.how}};
}

Json json(const StageCost& cost) {
  return {{"stage", cost.stage}, {"cpu_s", number(cost.cpu_s)}, {"wall_s", number(cost.wall_s)}, {"times", cost.times}};
}

Json json(const PlanSize& size) {
  return {{"sizes", size.sizes}, {"operations", number(size.operations)}, {"read_bytes", number(size.read_bytes)}, {"write_bytes", number(size.write_bytes)},
          {"bound", size.bound}, {"floor_us", number(size.floor_us)}, {"target_us", number(size.target_us)}};
}

Json json(const PlanStep& step) {
  return {{"id", step.id}, {"title", step.title}, {"why", step.why}, {"rule", step.rule}, {"expected_gain", number(step.expected_gain)},
          {"enabled", step.enabled}, {"parameters", step.parameters}};
}

template <class T>
Json list(const std::vector<T>& items) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(json(item));
  return out;
}

Json json(const Plan& plan) {
  return {{"task", plan.task}, {"gpu", plan.gpu}, {"pattern", {{"name", plan.guess.pattern}, {"confidence", number(plan.guess.confidence)}, {"why", plan.guess.why}}},
          {"sizes", list(plan.sizes)}, {"steps", list(plan.steps)}, {"notes", plan.notes}};
}

}  // namespace

Json report::run_json(const RunRecord& run) {
  return {{"schema", "kforge.run/1"}, {"id", run.id}, {"task", {{"name", run.task_name}, {"path", run.task_path}, {"text", run.task_text}}},
          {"gpu", run.gpu}, {"device", run.device}, {"version", run.version}, {"toolkit", run.toolkit}, {"started", run.started}, {"seconds", number(run.seconds)},
          {"seed", run.seed}, {"outcome", run.outcome}, {"outcome_why", run.outcome_why}, {"goal_met", run.goal_met}, {"baseline", run.baseline}, {"winner", run.winner}, {"best", run.best},
          {"winners", run.winners}, {"contributions", list(run.contributions)}, {"dead_ends", Json(run.dead_ends)}, {"costs", list(run.costs)},
          {"program", {{"total_us", number(run.program_total_us)}, {"share", number(run.program_share)}}}, {"plan", json(run.plan)}, {"tried", list(run.tried)}};
}

std::string to_json(const RunRecord& run) { return report::dump(report::run_json(run)); }

std::string to_json(const RunRecord& run, const std::vector<KernelFigures>& figures) {
  Json json = report::run_json(run);
  if (!figures.empty()) json["kernels"] = report::kernels_json(figures);
  return report::dump(json);
}

}  // namespace kforge
