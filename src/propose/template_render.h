// A bound template with a value for each parameter, as the text of a .cu file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "propose/template.h"
#include "propose/template_binding.h"

namespace kforge::propose {

using ParameterValues = std::map<std::string, std::int64_t>;

// Errors: bad_input (a defect of the template: a tag that nothing fills, mustache that does not parse).
Expected<std::string> render(const Template& made, const Binding& binding, const ParameterValues& values);

// Identifiers in the source outside of tags: names that a task's own must not hide.
std::vector<std::string> identifiers_of(const Template& made);

}  // namespace kforge::propose
