// The optimisation plan: what the computation is, what bounds it on the target, what is to be tried in which order and why.
// A person may edit it (a TOML file) before `optimize --plan FILE` follows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"

namespace kforge {

// Words of [semantics] pattern: elementwise reduction arg_reduction softmax layer_norm rms_norm transpose scan stencil histogram gemm
// convolution attention sort gather scatter unknown.
struct PatternGuess {
  std::string pattern = "unknown";
  double confidence = 0;       // 0 to 1; 1 when the task names it
  std::string why;             // "the task says so", "a loop over `cols` with max, exp and a sum, then a division"
};

// One measure size and its floor.
struct PlanSize {
  std::map<std::string, std::int64_t> sizes;
  double operations = 0;       // arithmetic of the output type, a multiply-add is two
  double read_bytes = 0;       // compulsory: inputs once
  double write_bytes = 0;      // outputs once
  std::string bound;           // "dram", "l2", "fp32", "tensor", "latency", ...
  double floor_us = 0;         // roofline
  double target_us = 0;        // from the goal, else what a good kernel reaches (floor over the achievable fraction)
};

struct PlanStep {
  std::string id;              // "template:softmax_row", "transform:vector-access"; the order in the plan is the order of trying
  std::string title, why;
  std::string rule;            // of the knowledge base
  double expected_gain = 1;    // over the naive kernel
  bool enabled = true;
  std::map<std::string, std::vector<std::string>> parameters;  // restricts a template's parameters to these values; empty: all
};

struct Plan {
  std::string task, gpu;
  PatternGuess guess;
  std::vector<PlanSize> sizes;
  std::vector<PlanStep> steps;
  std::vector<std::string> notes;  // re-targeting, share in the whole (Amdahl), what the planner could not tell
};

// Errors: bad_input (task), missing or unsupported (gpu). `gpu` "" means the task's.
Expected<Plan> plan(const std::string& task_path, const std::string& gpu);

std::string to_toml(const Plan& plan);   // with comments that say what may be edited; read_plan gives the same plan back
std::string to_json(const Plan& plan);   // schema kforge.plan/1
// Errors: bad_input with file, line, key and the nearest known key.
Expected<Plan> read_plan(const std::string& path);

}  // namespace kforge
