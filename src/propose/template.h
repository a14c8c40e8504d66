// Kernel templates: data/kernels/NAME/{template.toml,kernel.cu,README.md}, embedded into the binary. A template is a CUDA source in
// mustache with typed parameters; bound to a task (template_binding.h) and given a value for each parameter it becomes a candidate.
//
//   [template]     title, summary, patterns (of the planner, "unknown" included), binder (a row of template_binding.cc), expected_gain
//                  over a naive kernel; optional dtypes (of every tensor; none: any), min_sm, max_sm, rule (of the knowledge base)
//   [[parameter]]  name, title, choices (integers), default
//   [[known]]      a value for some parameters: a point that was best somewhere, and is tried after the default one where it is one of the space
//   [[constraint]] holds (task/expression.h, over the parameters, the binding's numbers at each measure size, and the sheet's numbers as
//                  sheet_NAME), why
//   [estimate]     NAME = expression over the same numbers and the names before it: what a launch will do (template_estimate.h)
//
// In the source, `{{NAME}}` is a parameter's value or a text of the binding, `{{#NAME_is_VALUE}}` a section for one choice.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/embedded_text.h"
#include "base/error.h"
#include "hardware/data_sheet.h"

namespace kforge::propose {

struct TemplateParameter {
  std::string name, title;
  std::vector<std::int64_t> choices;
  std::int64_t standard = 0;        // the default, one of the choices
};

struct TemplateConstraint {
  std::string holds, why;
};

struct Template {
  std::string name, title, summary, binder, rule;
  std::vector<std::string> patterns, dtypes;
  int min_sm = 75, max_sm = 1000;   // max_sm: of instructions that later architectures do not have
  double expected_gain = 1;
  std::vector<TemplateParameter> parameters;
  std::vector<TemplateConstraint> constraints;
  std::vector<std::map<std::string, std::int64_t>> known;      // by parameter, the others at their defaults
  std::vector<std::pair<std::string, std::string>> estimate;   // name, expression; each may use those before it
  std::string source;               // kernel.cu
};

// Errors: bad_input with file, line and key.
Expected<Template> parse_template(std::string_view name, std::string_view toml, std::string_view source);

// The built-in ones, in order of name. Errors: bad_input (a defect of the data: the tests read them all).
Expected<std::vector<Template>> templates();

std::span<const EmbeddedText> embedded_kernels();   // the files of data/kernels
// Text of data/kernels/parts/NAME.cu, which sources include as {{> NAME}}; "" when there is none.
std::string_view template_part(std::string_view name);

// The numbers of a data sheet that constraints may name: sheet_multiprocessors, sheet_max_threads_per_sm, ...
std::map<std::string, std::int64_t> sheet_numbers(const hardware::DataSheet& sheet);

}  // namespace kforge::propose
