// Which kind of computation a task is: by its hint, else by its formula, else by what its reference does, else by its shapes. The
// answer says how sure it is and why.
#pragma once

#include <string>
#include <string_view>

#include "kforge/plan.h"
#include "task/task.h"

namespace kforge::propose {

// The words that a pattern may be (kforge/plan.h).
bool is_pattern(std::string_view word);
std::string nearest_pattern(std::string_view word);   // "" when none is near

// `reference`: the text of the reference; "" when it is not C++ or could not be read.
PatternGuess guess_pattern(const task::Task& task, std::string_view reference);

// By what C++ does alone; "unknown" with confidence 0 when it says nothing.
PatternGuess guess_by_reference(std::string_view reference, std::string_view function);

}  // namespace kforge::propose
