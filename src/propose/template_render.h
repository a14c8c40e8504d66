// A bound template with a value for each parameter, as the text of a .cu file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "propose/template.h"
#include "propose/template_binding.h"

namespace kforge::propose {

using ParameterValues = std::map<std::string, std::int64_t>;

// A template's text, taken apart once for many values. Not thread-safe.
class TemplateText {
 public:
  explicit TemplateText(const Template& made);
  ~TemplateText();
  // Errors: bad_input (a defect of the template: a tag that nothing fills, mustache that does not parse).
  Expected<std::string> render(const Binding& binding, const ParameterValues& values);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The same for one use.
Expected<std::string> render(const Template& made, const Binding& binding, const ParameterValues& values);

// Identifiers in the source outside of tags: names that a task's own must not hide.
std::vector<std::string> identifiers_of(const Template& made);

}  // namespace kforge::propose
