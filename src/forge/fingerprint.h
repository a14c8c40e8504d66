// What a verdict and a remembered winner depend on, as short keys: equal keys, equal answers.
#pragma once

#include <string>

#include "base/error.h"
#include "hardware/data_sheet.h"
#include "kforge/candidate.h"
#include "kforge/plan.h"
#include "store/rows.h"
#include "task/task.h"

namespace kforge::forge {

struct Surroundings {
  std::string task_text, reference;   // contents of the task file and of the reference ("" when it has none)
  std::string toolkit;                // version of the CUDA compiler
  std::string program;                // of this program: its version and its files
  std::string device = "emulator";    // where times come from (forge/target.h, device_key)
};
// Errors: missing (no compiler), failed (the task's files cannot be read).
Expected<Surroundings> surroundings_of(const task::Task& task);

// "" when the source includes files of the user: then its text does not say what it is.
std::string verdict_key(const Candidate& candidate, const Surroundings& around, const hardware::DataSheet& sheet, std::uint64_t seed);
store::WinnerKey winner_key(const task::Task& task, const Plan& plan, const Surroundings& around, const hardware::DataSheet& sheet);

bool includes_own_files(const std::string& source);

}  // namespace kforge::forge
