// The sections of a task file, read into a draft: a Task, and where each part stands in the file, so that the checks over the
// whole (task_file.cc) can point at it.
#pragma once

#include <string>
#include <vector>

#include "task/section.h"
#include "task/task.h"

namespace kforge::task {


struct TensorDraft {
  Tensor tensor;
  TomlValue name, shape, strides, values;   // `values` and `strides` are strings or arrays only when given
  bool has_strides = false, has_values = false;
};

struct SizeRow {
  TomlValue value;
  Sizes sizes;
};

struct Draft {
  Task task;
  std::vector<TensorDraft> tensors;
  std::vector<TomlValue> scalar_names;
  std::vector<SizeRow> measure, verify;
  std::vector<TomlValue> where;
  TomlValue reduction, sizes_table, semantics_table, formula;
  bool has_reduction = false, has_sizes = false, has_formula = false;
  std::string_view text;                    // of the whole file: places inside strings of several lines are found in it
};

// Everything that can be said about one key alone. Errors: bad_input with the place.
Done read_sections(const TomlValue& root, Draft& draft, const Reading& reading);

}  // namespace kforge::task
