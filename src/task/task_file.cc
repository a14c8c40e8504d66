// A task file from text to Task: TOML (toml_document), each key alone (task_sections), then what concerns several parts at once:
// names that clash, sizes that nothing defines, rows that miss a size, tensors that do not fit.
#include <algorithm>
#include <limits>
#include <set>

#include <fmt/ranges.h>

#include "base/files.h"
#include "task/cases.h"
#include "task/expression.h"
#include "task/formula.h"
#include "task/task_sections.h"
#include "task/values.h"

namespace kforge::task {
namespace {

std::vector<std::string_view> views(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

// Tensors, sizes and scalars become parameters of one function.
Done check_names(const Draft& draft) {
  std::set<std::string> taken;
  const auto sizes = draft.task.size_names();
  taken.insert(sizes.begin(), sizes.end());
  const auto claim = [&](const std::string& name, const TomlValue& place) -> Done {
    if (taken.insert(name).second) return {};
    return wrong_value(place, fmt::format("the name '{}' is used twice", name), "tensors, sizes and scalars are parameters of one function");
  };
  for (const auto& tensor : draft.tensors)
    if (auto done = claim(tensor.tensor.name, tensor.name); !done) return done;
  for (std::size_t i = 0; i < draft.task.scalars.size(); ++i)
    if (auto done = claim(draft.task.scalars[i].name, draft.scalar_names[i]); !done) return done;
  return {};
}

Done check_roles(const Draft& draft) {
  const bool output = std::any_of(draft.tensors.begin(), draft.tensors.end(), [](const TensorDraft& t) { return t.tensor.role != Role::in; });
  if (output) return {};
  return wrong_value(draft.semantics_table, "no tensor is an output", "give one tensor role = \"out\"");
}

// Every name in `expression` must be a size. REQUIRES: it parses (checked when it was read), as a condition if `condition`.
Done check_expression(const std::string& expression, const TomlValue& place, const std::vector<std::string>& sizes, bool condition) {
  const auto parsed = condition ? Expression::parse_condition(expression) : Expression::parse(expression);
  if (!parsed) return relocate(parsed.error(), place);
  for (const auto& name : parsed->names())
    if (std::find(sizes.begin(), sizes.end(), name) == sizes.end())
      return wrong_value(place, fmt::format("no size '{}': sizes are the names in the tensors' shapes", name), suggestion(name, views(sizes)));
  return {};
}

Done check_expressions(const Draft& draft) {
  const auto sizes = draft.task.size_names();
  for (const auto& tensor : draft.tensors) {
    for (std::size_t i = 0; i < tensor.tensor.strides.size(); ++i)
      if (auto done = check_expression(tensor.tensor.strides[i], tensor.strides.items[i], sizes, false); !done) return done;
    for (const auto& argument : tensor.tensor.values.expressions)
      if (!argument.empty())
        if (auto done = check_expression(argument, tensor.values, sizes, false); !done) return done;
  }
  for (const auto& condition : draft.where)
    if (auto done = check_expression(condition.text, condition, sizes, true); !done) return done;
  if (!draft.has_reduction) return {};
  return check_expression(draft.reduction.text, draft.reduction, sizes, false);
}

// A place inside a string of the file. Strings of several lines begin after their quotes, or on the next line.
Unexpected relocate_in_lines(Error error, const TomlValue& value, std::string_view text) {
  const Where inside = error.where;
  std::size_t at = 0;
  for (int line = 1; line < value.where.line && at != std::string_view::npos; ++line) at = text.find('\n', at) == std::string_view::npos ? std::string_view::npos : text.find('\n', at) + 1;
  const std::size_t quote = at == std::string_view::npos ? at : at + static_cast<std::size_t>(value.where.column) - 1;
  const std::string_view opened = quote < text.size() ? text.substr(quote, 5) : std::string_view();
  const bool block = opened.starts_with("\"\"\"") || opened.starts_with("'''");
  const bool next_line = block && (opened.substr(3, 1) == "\n" || opened.substr(3, 2) == "\r\n");
  error.where = value.where;
  error.where.line += inside.line - 1 + (next_line ? 1 : 0);
  const bool first = inside.line == 1 && !next_line;
  error.where.column = first ? value.where.column + (block ? 2 : 0) + inside.column : inside.column;
  return Unexpected(std::move(error));
}

// The formula, and what follows from it for the numbers.
Done check_formula(const Draft& draft) {
  if (!draft.has_formula) return {};
  const auto parsed = formula::of(draft.task);
  if (parsed) return {};
  Error error = parsed.error();
  error.message = "formula: " + error.message;
  return relocate_in_lines(std::move(error), draft.formula, draft.text);
}

void default_reduction(Task& task) {
  if (task.formula.empty() || task.numerics.reduction) return;
  const auto parsed = formula::of(task);
  if (!parsed) return;
  if (std::string length = formula::reduction_length(*parsed); !length.empty()) task.numerics.reduction = std::move(length);
}

// A row names every size and nothing else, and every size fits the launcher's integers.
Done check_row_names(const SizeRow& row, const Task& task, const std::vector<std::string>& names) {
  for (const auto& entry : row.value.entries) {
    if (std::find(names.begin(), names.end(), entry.key) == names.end())
      return fail(ErrorCode::bad_input, fmt::format("no size '{}': sizes are the names in the tensors' shapes", entry.key), entry.where,
                  suggestion(entry.key, views(names)));
    if (!task.sizes_are_64_bit && entry.value.integer > std::numeric_limits<std::int32_t>::max())
      return wrong_value(entry.value, fmt::format("{} = {} does not fit the launcher's int", entry.key, entry.value.integer),
                         "set size_type = \"i64\" in [interface]");
  }
  for (const auto& name : names)
    if (!row.sizes.contains(name))
      return wrong_value(row.value, fmt::format("size '{}' is missing from this row", name), "each row gives every size that a shape names");
  return {};
}

Done check_row(const SizeRow& row, const Draft& draft, const std::vector<std::string>& names) {
  if (auto done = check_row_names(row, draft.task, names); !done) return done;
  for (const auto& condition : draft.where) {
    auto allowed = holds(condition.text, row.sizes);
    if (!allowed) return relocate(allowed.error(), condition);
    if (!*allowed) return wrong_value(row.value, fmt::format("`where` excludes this row: {}", printable(condition.text)), "change the row or the condition");
  }
  for (const auto& tensor : draft.tensors) {
    auto placed = layout(tensor.tensor, row.sizes);
    if (!placed) return fail(ErrorCode::bad_input, placed.error().message, row.value.where, placed.error().hint);
    if (auto values = arguments_at(tensor.tensor.values, row.sizes); !values) return relocate(values.error(), tensor.values);
  }
  return {};
}

Done check_sizes(Draft& draft) {
  const auto names = draft.task.size_names();
  if (names.empty() && draft.measure.empty()) draft.measure.emplace_back();
  if (draft.measure.empty())
    return wrong_value(draft.has_sizes ? draft.sizes_table : draft.semantics_table, "no measure sizes",
                       fmt::format("[sizes] measure = [{{{} = ...}}]", fmt::join(names, " = ..., ")));
  for (const auto* rows : {&draft.measure, &draft.verify})
    for (const auto& row : *rows)
      if (auto done = check_row(row, draft, names); !done) return done;
  for (const auto& row : draft.measure) draft.task.measure.push_back(row.sizes);
  for (const auto& row : draft.verify) draft.task.verify.push_back(row.sizes);
  return {};
}

// abs = 0 and rel = 0 together ask for nothing of their own: the contract's bound stands.
void normalise_bounds(Numerics& numerics) {
  if (numerics.abs.value_or(0) == 0 && numerics.rel.value_or(0) == 0) {
    numerics.abs.reset();
    numerics.rel.reset();
  }
}

Expected<Task> parse(std::string_view text, const std::string& path, bool check_files) {
  auto root = parse_toml(text, path);
  if (!root) return Unexpected(root.error());
  if (root->where.line == 0) root->where = {path, 1, 1};
  Draft draft;
  draft.task.path = path;
  draft.text = text;
  const Reading reading{std::filesystem::path(path).parent_path(), check_files};
  auto done = read_sections(*root, draft, reading);
  if (!done) return Unexpected(done.error());
  for (const auto& tensor : draft.tensors) draft.task.tensors.push_back(tensor.tensor);
  for (const auto check : {check_roles, check_names, check_expressions, check_formula})
    if (done = check(draft); !done) return Unexpected(done.error());
  if (done = check_sizes(draft); !done) return Unexpected(done.error());
  normalise_bounds(draft.task.numerics);
  default_reduction(draft.task);
  return std::move(draft.task);
}

}  // namespace

std::vector<std::string> Task::size_names() const {
  std::vector<std::string> names;
  for (const auto& tensor : tensors)
    for (const auto& extent : tensor.shape)
      if (const auto parsed = Expression::parse(extent))
        for (const auto& name : parsed->names())
          if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

Expected<Task> parse_task(std::string_view text, const std::string& path) { return parse(text, path, false); }

Expected<Task> read_task(const std::string& path) {
  auto text = read_file(path, kMaxTaskFileBytes);
  if (!text) {
    auto error = text.error();
    // A file that is too large is no task file: the call is wrong, no budget was spent.
    if (error.code == ErrorCode::limit) error.code = ErrorCode::bad_input;
    if (error.where.file.empty()) error.where.file = path;
    return Unexpected(std::move(error));
  }
  return parse(*text, path, true);
}

}  // namespace kforge::task
