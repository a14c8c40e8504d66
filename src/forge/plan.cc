// `plan` and the two forms of a plan: TOML to edit, JSON to read by programs.
#include "kforge/plan.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "forge/target.h"
#include "propose/planner.h"
#include "task/task.h"

namespace kforge {
namespace {

constexpr std::size_t kMostPlanBytes = 4u << 20;

}  // namespace

Expected<Plan> plan(const std::string& task_path, const std::string& gpu) {
  const auto task = task::read_task(task_path);
  if (!task) return Unexpected(task.error());
  const auto target = forge::open_target(gpu.empty() ? task->gpu : gpu, "");
  if (!target) return Unexpected(target.error());
  return propose::make_plan(*task, target->sheet);
}

std::string to_toml(const Plan& plan) { return propose::plan_to_toml(plan); }

std::string to_json(const Plan& plan) {
  nlohmann::ordered_json out{{"schema", "kforge.plan/1"}, {"task", plan.task}, {"gpu", plan.gpu}};
  out["pattern"] = {{"name", plan.guess.pattern}, {"confidence", plan.guess.confidence}, {"why", plan.guess.why}};
  out["sizes"] = nlohmann::ordered_json::array();
  for (const PlanSize& size : plan.sizes)
    out["sizes"].push_back({{"sizes", size.sizes}, {"operations", size.operations}, {"read_bytes", size.read_bytes}, {"write_bytes", size.write_bytes},
                            {"bound", size.bound}, {"floor_us", size.floor_us}, {"target_us", size.target_us}});
  out["steps"] = nlohmann::ordered_json::array();
  for (const PlanStep& step : plan.steps)
    out["steps"].push_back({{"id", step.id}, {"title", step.title}, {"why", step.why}, {"rule", step.rule}, {"expected_gain", step.expected_gain},
                            {"enabled", step.enabled}, {"parameters", step.parameters}});
  out["notes"] = plan.notes;
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Expected<Plan> read_plan(const std::string& path) {
  auto text = read_file(path, kMostPlanBytes);
  if (!text) {
    Error error = text.error();
    if (error.code == ErrorCode::limit) error.code = ErrorCode::bad_input;
    if (error.where.file.empty()) error.where.file = path;
    return Unexpected(std::move(error));
  }
  return propose::parse_plan(*text, path);
}

}  // namespace kforge
