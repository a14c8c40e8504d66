// [build] flags of a task: which words may be added to the compiler's command line.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "task/toml_document.h"

namespace kforge::task {

// The array's words. Errors: bad_input at the word that is no option, lacks its value, or says what the build alone decides (what is made, where,
// and for which GPU). What nvcc itself refuses is found when it is called (build/candidate.cc).
Expected<std::vector<std::string>> read_flags(const TomlValue& value);

}  // namespace kforge::task
