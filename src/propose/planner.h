// Plans: what a task computes, what bounds it on a GPU, how fast it can be, and what is to be tried in which order and why.
#pragma once

#include <string>

#include "base/error.h"
#include "hardware/data_sheet.h"
#include "hardware/roofline.h"
#include "kforge/plan.h"
#include "task/task.h"

namespace kforge::propose {

// Errors: bad_input (sizes that do not fit; a defect of a template).
Expected<Plan> make_plan(const task::Task& task, const hardware::DataSheet& sheet);

// The work of one size: compulsory bytes, and operations by unit as far as the pattern, the shapes and the formula tell.
struct SizeWork {
  hardware::Work work;
  double operations = 0;
  double read_bytes = 0, write_bytes = 0;
};
Expected<SizeWork> work_of(const task::Task& task, const std::string& pattern, const task::Sizes& sizes);

// The fraction of a bound that good kernels reach ("dram": 0.9). docs/plan.md says where the figures come from.
double achievable_fraction(std::string_view bound);

// Moves that a generation of GPUs adds, and those that this one lacks; the share in the whole; what could not be told.
std::vector<std::string> plan_notes(const task::Task& task, const hardware::DataSheet& sheet, const Plan& plan);

// The steps, in order. Errors: a defect of a template.
Expected<std::vector<PlanStep>> plan_steps(const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern);

// The file format of docs/plan.md.
std::string plan_to_toml(const Plan& plan);
Expected<Plan> parse_plan(std::string_view text, const std::string& file);

}  // namespace kforge::propose
