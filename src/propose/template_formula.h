// A task's formula (task/formula.h) as the terms that templates bind: the same form that a lifted reference has.
#pragma once

#include <optional>
#include <string>

#include "propose/template_lift.h"
#include "task/formula.h"

namespace kforge::propose {

// Nothing when an operation has no term; `why` then names it.
std::optional<Lifted> lift_formula(const task::formula::Formula& formula, const task::Task& task, std::string& why);

}  // namespace kforge::propose
