// A task seen by a template: the texts and numbers that its source and its constraints name. A binder recognises one family of
// computations (element-wise, row-wise, transpose, ...) in the task's formula or lifted reference, and refuses what it cannot prove.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "propose/template.h"
#include "propose/template_lift.h"
#include "task/task.h"

namespace kforge::propose {

// Texts by name; lists of the same for sections.
struct Binding {
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> flags;
  std::map<std::string, std::vector<Binding>> lists;
  // Over the task's sizes, for constraints: "columns" -> the term of its extent. Evaluated at each measure size.
  std::map<std::string, TermPtr> numbers;
};

// What the task computes: its formula or reference, lifted. Nothing lifted: only patterns and shapes are known, and `why` says why.
struct Computation {
  const task::Task& task;
  std::string pattern;            // of the plan's guess
  std::optional<Lifted> lifted;
  std::string why;
};
Computation computation_of(const task::Task& task, const std::string& pattern);

// `taken`: identifiers of the template's source, which no name of the task may be in the file.
using Binder = std::optional<Binding> (*)(const Computation& computation, const std::vector<std::string>& taken);
Binder find_binder(std::string_view name);   // nullptr: unknown

// The value of a term over sizes; nothing when it names anything else.
std::optional<std::int64_t> value_of(const TermPtr& term, const task::Sizes& sizes);

// The template bound to the task, or nothing where it does not apply; `why` then says why.
std::optional<Binding> bind_template(const Template& made, const Computation& computation, const hardware::DataSheet& sheet, std::string& why);

// ---- For binders

// Names of the task as the file writes them.
class FileNames {
 public:
  FileNames(const task::Task& task, const std::vector<std::string>& taken);
  const std::string& operator()(const std::string& name) const;

 private:
  std::map<std::string, std::string> names_;
};

// Launcher, parameters, types, headers: what every template needs.
Binding common_binding(const task::Task& task, const FileNames& names);
std::string extent_text(const TermPtr& extent, const task::Task& task, const FileNames& names);
// Product of extents as a term.
TermPtr product_of(const std::vector<TermPtr>& extents);
const task::Tensor& tensor_of(const task::Task& task, const std::string& name);
bool is_row_major(const task::Tensor& tensor);
std::vector<TermPtr> extents_of(const task::Tensor& tensor);
bool same_extent(const TermPtr& a, const TermPtr& b);
std::vector<std::string> loads_of(const std::vector<TermPtr>& terms);   // tensors, each once, in order of first use
std::string lines(const std::vector<std::string>& statements, int indent);
TermPtr without_casts(const TermPtr& term);   // to reals, which elements of narrow types become where they are multiplied

std::optional<Binding> bind_elementwise(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_rows(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_columns(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_all(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_transpose(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_scan(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_histogram(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_gemm(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_gemm_mma(const Computation&, const std::vector<std::string>& taken);   // operands of tensor cores
std::optional<Binding> bind_gemm_wgmma(const Computation&, const std::vector<std::string>& taken);   // and of those of sm_90a
std::optional<Binding> bind_attention(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_march(const Computation&, const std::vector<std::string>& taken);
std::optional<Binding> bind_stencil(const Computation&, const std::vector<std::string>& taken);

}  // namespace kforge::propose
