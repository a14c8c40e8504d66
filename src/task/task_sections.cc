#include "task/task_sections.h"

#include <array>
#include <cmath>

#include "task/build_flags.h"
#include "task/contract_ids.h"
#include "task/dtype_convert.h"
#include "task/expression.h"
#include "task/values.h"

namespace kforge::task {
namespace {

using Kind = TomlValue::Kind;

constexpr std::size_t kMaxTensors = 64, kMaxScalars = 64, kMaxDimensions = 8, kMaxRows = 64, kMaxWhere = 64;

// Stores a value that was read, or passes its error on.
template <class T, class U>
Done put(Expected<T> value, U& out) {
  if (!value) return Unexpected(value.error());
  out = std::move(*value);
  return {};
}

Done put_positive(const TomlValue& value, std::optional<double>& out) {
  auto number = read_number(value);
  if (!number) return Unexpected(number.error());
  if (*number <= 0) return wrong_value(value, fmt::format("{} is not above 0", *number), "give a positive number");
  out = *number;
  return {};
}

Done put_tolerance(const TomlValue& value, std::optional<double>& out) {
  auto number = read_number(value);
  if (!number) return Unexpected(number.error());
  if (*number < 0) return wrong_value(value, fmt::format("{} is negative", *number), "a tolerance is 0 or more");
  out = *number;
  return {};
}

Expected<Dtype> read_dtype(const TomlValue& value) {
  std::vector<std::string_view> known;
  for (const auto& type : dtype_table()) known.push_back(type.name);
  auto index = read_choice(value, "dtype", known);
  if (!index) return Unexpected(index.error());
  return dtype_table()[*index].id;
}

Done at_most(const TomlValue& value, std::size_t most, std::string_view what) {
  if (auto kind = expect(value, Kind::array); !kind) return kind;
  if (value.items.size() <= most) return {};
  return wrong_value(value, fmt::format("{} {}, at most {} are supported", value.items.size(), what, most), "split the task");
}

// An array of expressions; integers are expressions too.
Done read_expressions(const TomlValue& value, std::vector<std::string>& out, std::string_view what) {
  if (auto few = at_most(value, kMaxDimensions, what); !few) return few;
  for (const auto& item : value.items) {
    if (item.kind == Kind::integer) {
      if (item.integer < 0) return wrong_value(item, fmt::format("{} is negative", item.integer), "extents and strides are 0 or more");
      out.push_back(std::to_string(item.integer));
      continue;
    }
    auto text = read_text(item);
    if (!text) return Unexpected(text.error());
    auto parsed = Expression::parse(*text);
    if (!parsed) return relocate(parsed.error(), item);
    out.push_back(std::move(*text));
  }
  return {};
}

// ---- [task]

Done read_task_name(const TomlValue& value, Draft& draft, const Reading&) {
  auto text = read_text(value);
  if (!text) return Unexpected(text.error());
  const bool plain = std::all_of(text->begin(), text->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
  if (!plain || text->size() > 64 || text->front() == '.' || text->front() == '-')
    return wrong_value(value, fmt::format("'{}' is no task name", printable(*text)), "letters, digits, _ - and . ; at most 64; it names files");
  draft.task.name = *text;
  return {};
}

constexpr std::array<Field<Draft>, 2> kTaskFields{{
    {"name", true, read_task_name},
    {"summary", false, [](const TomlValue& v, Draft& d, const Reading&) { return put(read_text(v), d.task.summary); }},
}};

// ---- [semantics]

constexpr std::array<std::string_view, 3> kRoles{"in", "out", "inout"};

constexpr std::array<Field<TensorDraft>, 6> kTensorFields{{
    {"name", true,
     [](const TomlValue& v, TensorDraft& t, const Reading&) {
       t.name = v;
       return put(read_identifier(v, "tensor name"), t.tensor.name);
     }},
    {"dtype", true, [](const TomlValue& v, TensorDraft& t, const Reading&) { return put(read_dtype(v), t.tensor.dtype); }},
    {"shape", true,
     [](const TomlValue& v, TensorDraft& t, const Reading&) {
       t.shape = v;
       return read_expressions(v, t.tensor.shape, "dimensions");
     }},
    {"strides", false,
     [](const TomlValue& v, TensorDraft& t, const Reading&) {
       t.strides = v;
       t.has_strides = true;
       return read_expressions(v, t.tensor.strides, "strides");
     }},
    {"role", true,
     [](const TomlValue& v, TensorDraft& t, const Reading&) -> Done {
       auto index = read_choice(v, "role", kRoles);
       if (!index) return Unexpected(index.error());
       t.tensor.role = static_cast<Role>(*index);
       return {};
     }},
    {"values", false,
     [](const TomlValue& v, TensorDraft& t, const Reading&) {
       t.values = v;
       t.has_values = true;
       return expect(v, Kind::string);
     }},
}};

// What needs two keys of one tensor.
Done finish_tensor(TensorDraft& draft) {
  auto& tensor = draft.tensor;
  if (draft.has_strides && tensor.strides.size() != tensor.shape.size())
    return wrong_value(draft.strides, fmt::format("{} strides for {} dimensions", tensor.strides.size(), tensor.shape.size()),
                       "give one stride a dimension, in elements");
  if (!draft.has_values) {
    tensor.values = default_values(tensor.dtype);
    return {};
  }
  if (tensor.role == Role::out) return wrong_value(draft.values, fmt::format("'{}' is an output: it has no input values", tensor.name), "remove `values`");
  auto values = parse_values(draft.values.text, tensor.dtype);
  if (!values) return relocate(values.error(), draft.values);
  tensor.values = std::move(*values);
  return {};
}

Done read_tensors(const TomlValue& value, Draft& draft, const Reading& reading) {
  if (auto few = at_most(value, kMaxTensors, "tensors"); !few) return few;
  for (const auto& item : value.items) {
    TensorDraft tensor;
    auto done = read_table<TensorDraft>(item, "[[semantics.tensor]]", kTensorFields, tensor, reading);
    if (done) done = finish_tensor(tensor);
    if (!done) return done;
    draft.tensors.push_back(std::move(tensor));
  }
  return {};
}

struct ScalarDraft {
  Scalar scalar;
  TomlValue name, value;
};

constexpr std::array<Field<ScalarDraft>, 3> kScalarFields{{
    {"name", true,
     [](const TomlValue& v, ScalarDraft& s, const Reading&) {
       s.name = v;
       return put(read_identifier(v, "scalar name"), s.scalar.name);
     }},
    {"dtype", true, [](const TomlValue& v, ScalarDraft& s, const Reading&) { return put(read_dtype(v), s.scalar.dtype); }},
    {"value", true,
     [](const TomlValue& v, ScalarDraft& s, const Reading&) -> Done {
       s.value = v;
       if (v.kind != Kind::boolean) return put(read_number(v), s.scalar.value);
       s.scalar.value = v.boolean ? 1 : 0;
       return {};
     }},
}};

Done read_scalars(const TomlValue& value, Draft& draft, const Reading& reading) {
  if (auto few = at_most(value, kMaxScalars, "scalars"); !few) return few;
  for (const auto& item : value.items) {
    ScalarDraft scalar;
    if (auto done = read_table<ScalarDraft>(item, "[[semantics.scalar]]", kScalarFields, scalar, reading); !done) return done;
    const auto& s = scalar.scalar;
    if (!is_float(s.dtype) && round_to(s.dtype, s.value) != s.value)
      return wrong_value(scalar.value, fmt::format("{} is no {}", s.value, name(s.dtype)), "give a value of the scalar's type");
    draft.task.scalars.push_back(s);
    draft.scalar_names.push_back(scalar.name);
  }
  return {};
}

Done read_reference(const TomlValue& value, Draft& draft, const Reading& reading) {
  auto path = read_path(value, reading);
  if (!path) return Unexpected(path.error());
  const auto extension = std::filesystem::path(*path).extension().string();
  constexpr std::array<std::string_view, 5> kExtensions{".cpp", ".cc", ".cxx", ".py", ".cu"};
  if (std::find(kExtensions.begin(), kExtensions.end(), extension) == kExtensions.end())
    return wrong_value(value, fmt::format("a reference is C++ (.cpp), Python (.py) or CUDA (.cu), this ends in '{}'", printable(extension, 12)),
                       "reference = \"reference.cpp\"");
  draft.task.reference = std::move(*path);
  return {};
}

constexpr std::array<Field<Draft>, 5> kSemanticsFields{{
    {"pattern", false, [](const TomlValue& v, Draft& d, const Reading&) { return put(read_text(v), d.task.pattern); }},
    {"reference", false, read_reference},
    {"formula", false,
     [](const TomlValue& v, Draft& d, const Reading&) {
       d.formula = v;
       d.has_formula = true;
       return put(read_text(v), d.task.formula);
     }},
    {"tensor", true, read_tensors},
    {"scalar", false, read_scalars},
}};

// ---- [sizes]

Done read_row(const TomlValue& item, SizeRow& row) {
  if (auto kind = expect(item, Kind::table); !kind) return kind;
  row.value = item;
  for (const auto& entry : item.entries) {
    if (!is_identifier(entry.key))
      return fail(ErrorCode::bad_input, fmt::format("'{}' is no size name", printable(entry.key)), entry.where, "letters, digits and _");
    if (auto kind = expect(entry.value, Kind::integer); !kind) return kind;
    if (entry.value.integer < 1)
      return wrong_value(entry.value, fmt::format("{} = {}: a size is at least 1", entry.key, entry.value.integer), "give a positive integer");
    row.sizes[entry.key] = entry.value.integer;
  }
  return {};
}

Done read_rows(const TomlValue& value, std::vector<SizeRow>& rows) {
  if (auto few = at_most(value, kMaxRows, "rows of sizes"); !few) return few;
  for (const auto& item : value.items) {
    SizeRow row;
    if (auto done = read_row(item, row); !done) return done;
    rows.push_back(std::move(row));
  }
  return {};
}

Done read_where(const TomlValue& value, Draft& draft, const Reading&) {
  if (auto few = at_most(value, kMaxWhere, "conditions"); !few) return few;
  for (const auto& item : value.items) {
    auto text = read_text(item);
    if (!text) return Unexpected(text.error());
    if (auto parsed = Expression::parse_condition(*text); !parsed) return relocate(parsed.error(), item);
    draft.task.where.push_back(std::move(*text));
    draft.where.push_back(item);
  }
  return {};
}

constexpr std::array<Field<Draft>, 3> kSizesFields{{
    {"measure", false, [](const TomlValue& v, Draft& d, const Reading&) { return read_rows(v, d.measure); }},
    {"verify", false, [](const TomlValue& v, Draft& d, const Reading&) { return read_rows(v, d.verify); }},
    {"where", false, read_where},
}};

// ---- [numerics]

constexpr std::array<Field<Draft>, 6> kNumericsFields{{
    {"accumulate", false,
     [](const TomlValue& v, Draft& d, const Reading&) -> Done {
       auto dtype = read_dtype(v);
       if (!dtype) return Unexpected(dtype.error());
       if (!is_float(*dtype)) return wrong_value(v, fmt::format("{} is no floating type", name(*dtype)), "accumulate is f64, f32, f16, ...");
       d.task.numerics.accumulate = *dtype;
       return {};
     }},
    {"reduction", false,
     [](const TomlValue& v, Draft& d, const Reading&) -> Done {
       d.reduction = v;
       d.has_reduction = true;
       if (v.kind == Kind::integer) d.reduction.text = std::to_string(v.integer);
       else if (auto text = read_text(v); !text) return Unexpected(text.error());
       if (auto parsed = Expression::parse(d.reduction.text); !parsed) return relocate(parsed.error(), v);
       d.task.numerics.reduction = d.reduction.text;
       return {};
     }},
    {"abs", false, [](const TomlValue& v, Draft& d, const Reading&) { return put_tolerance(v, d.task.numerics.abs); }},
    {"rel", false, [](const TomlValue& v, Draft& d, const Reading&) { return put_tolerance(v, d.task.numerics.rel); }},
    {"integer_difference", false, [](const TomlValue& v, Draft& d, const Reading&) { return put_tolerance(v, d.task.numerics.integer_difference); }},
    {"allow_nan", false,
     [](const TomlValue& v, Draft& d, const Reading&) -> Done {
       d.task.numerics.allow_nan = v.boolean;
       return expect(v, Kind::boolean);
     }},
}};

// ---- [hardware] [goal] [interface] [build] [program]

constexpr std::array<Field<Draft>, 1> kHardwareFields{{
    {"gpu", false, [](const TomlValue& v, Draft& d, const Reading&) { return put(read_text(v), d.task.gpu); }},
}};

constexpr std::array<std::string_view, 5> kBaselines{"pytorch", "cublas", "cublaslt", "cudnn", "roofline"};

Done read_versus(const TomlValue& value, Goal& goal, const Reading& reading) {
  if (auto few = at_most(value, 16, "baselines"); !few) return few;
  for (const auto& item : value.items) {
    auto text = read_text(item);
    if (!text) return Unexpected(text.error());
    if (text->ends_with(".cu")) {
      auto path = read_path(item, reading);
      if (!path) return Unexpected(path.error());
      goal.versus.push_back(*path);
    } else {
      auto index = read_choice(item, "baseline", kBaselines);
      if (!index) return Unexpected(index.error());
      goal.versus.push_back(*text);
    }
  }
  return {};
}

constexpr std::array<Field<Goal>, 5> kGoalFields{{
    {"versus", false, read_versus},
    {"ratio", false, [](const TomlValue& v, Goal& g, const Reading&) { return put_positive(v, g.ratio); }},
    {"roofline", false,
     [](const TomlValue& v, Goal& g, const Reading&) -> Done {
       if (auto done = put_positive(v, g.roofline); !done) return done;
       if (*g.roofline > 1) return wrong_value(v, fmt::format("{} of the roofline cannot be reached", *g.roofline), "a fraction of at most 1");
       return {};
     }},
    {"us", false, [](const TomlValue& v, Goal& g, const Reading&) { return put_positive(v, g.us); }},
    {"p99_us", false, [](const TomlValue& v, Goal& g, const Reading&) { return put_positive(v, g.p99_us); }},
}};

Done read_goal(const TomlValue& value, Draft& draft, const Reading& reading) {
  Goal goal;
  if (auto done = read_table<Goal>(value, "[goal]", kGoalFields, goal, reading); !done) return done;
  if (goal.versus.empty() && !goal.ratio && !goal.roofline && !goal.us && !goal.p99_us)
    return wrong_value(value, "[goal] asks for nothing", "give versus and ratio, roofline, us or p99_us; or remove the section");
  if (goal.ratio && goal.versus.empty()) return wrong_value(value, "[goal] has a ratio and nothing to compare with", "add versus = [\"cublas\"]");
  draft.task.goal = std::move(goal);
  return {};
}

constexpr std::array<std::string_view, 6> kAllow{"workspace", "streams", "sync", "host_alloc", "libraries", "graph"};
constexpr std::array<std::string_view, 2> kSizeTypes{"i32", "i64"};

Done read_allow(const TomlValue& value, Draft& draft, const Reading&) {
  if (auto kind = expect(value, Kind::array); !kind) return kind;
  for (const auto& item : value.items) {
    auto index = read_choice(item, "permission", kAllow);
    if (!index) return Unexpected(index.error());
    draft.task.allow.emplace_back(kAllow[*index]);
  }
  return {};
}

constexpr std::array<Field<Draft>, 3> kInterfaceFields{{
    {"function", true, [](const TomlValue& v, Draft& d, const Reading&) { return put(read_identifier(v, "C function name"), d.task.function); }},
    {"allow", false, read_allow},
    {"size_type", false,
     [](const TomlValue& v, Draft& d, const Reading&) -> Done {
       auto index = read_choice(v, "size type", kSizeTypes);
       if (!index) return Unexpected(index.error());
       d.task.sizes_are_64_bit = *index == 1;
       return {};
     }},
}};

constexpr std::array<Field<Draft>, 1> kBuildFields{{{"flags", false, [](const TomlValue& v, Draft& d, const Reading&) { return put(read_flags(v), d.task.flags); }}}};

constexpr std::array<Field<Program>, 2> kProgramFields{{
    {"total_us", true,
     [](const TomlValue& v, Program& p, const Reading&) -> Done {
       std::optional<double> number;
       if (auto done = put_positive(v, number); !done) return done;
       p.total_us = *number;
       return {};
     }},
    {"share", true,
     [](const TomlValue& v, Program& p, const Reading&) -> Done {
       std::optional<double> number;
       if (auto done = put_positive(v, number); !done) return done;
       if (*number > 1) return wrong_value(v, fmt::format("a share of {} is more than the whole", *number), "a fraction of at most 1");
       p.share = *number;
       return {};
     }},
}};

// ---- [contracts]

constexpr std::array<std::string_view, 3> kLevels{"required", "advice", "off"};

Done read_level(const TomlValue& value, ContractOverride& out) {
  auto index = read_choice(value, "level", kLevels);
  if (!index) return Unexpected(index.error());
  out.level = static_cast<Level>(*index);
  return {};
}

Done read_contract(const TomlEntry& entry, const ContractId& contract, ContractOverride& out) {
  if (entry.value.kind == Kind::string) return read_level(entry.value, out);
  if (entry.value.kind != Kind::table)
    return wrong_value(entry.value, fmt::format("a level or a table is expected, this is {}", describe(entry.value.kind)),
                       fmt::format("\"{}\" = \"advice\", or {{ level = \"advice\" }}", contract.id));
  for (const auto& key : entry.value.entries) {
    if (key.key == "level") {
      if (auto done = read_level(key.value, out); !done) return done;
      continue;
    }
    if (contract.threshold.empty() || key.key != contract.threshold) {
      std::vector<std::string_view> known{"level"};
      if (!contract.threshold.empty()) known.push_back(contract.threshold);
      return fail(ErrorCode::bad_input, fmt::format("unknown key '{}' in contract '{}'", printable(key.key), contract.id), key.where, suggestion(key.key, known));
    }
    auto number = read_number(key.value);
    if (!number) return Unexpected(number.error());
    if (*number < 0) return wrong_value(key.value, fmt::format("{} is negative", *number), "a threshold is 0 or more");
    out.thresholds[key.key] = *number;
  }
  return {};
}

Done read_contracts(const TomlValue& value, Draft& draft, const Reading&) {
  if (auto kind = expect(value, Kind::table); !kind) return kind;
  for (const auto& entry : value.entries) {
    const auto found = std::find_if(kContractIds.begin(), kContractIds.end(), [&](const ContractId& c) { return c.id == entry.key; });
    if (found == kContractIds.end()) {
      std::vector<std::string_view> known;
      for (const auto& contract : kContractIds) known.push_back(contract.id);
      // An id without its quotes is a nested table in TOML.
      const bool nested = entry.value.kind == Kind::table && entry.key.find('.') == std::string::npos;
      return fail(ErrorCode::bad_input, fmt::format("unknown contract '{}'", printable(entry.key)), entry.where,
                  nested ? "ids stand in quotes: \"memory.coalescing\" = \"advice\"" : suggestion(entry.key, known));
    }
    if (auto done = read_contract(entry, *found, draft.task.contracts[entry.key]); !done) return done;
  }
  return {};
}

template <auto& fields>
Done read_fields(const TomlValue& value, Draft& draft, const Reading& reading, std::string_view name) {
  return read_table<Draft>(value, name, fields, draft, reading);
}

constexpr std::array<Field<Draft>, 10> kSections{{
    {"task", true, [](const TomlValue& v, Draft& d, const Reading& r) { return read_fields<kTaskFields>(v, d, r, "[task]"); }},
    {"semantics", true,
     [](const TomlValue& v, Draft& d, const Reading& r) -> Done {
       d.semantics_table = v;
       if (auto done = read_fields<kSemanticsFields>(v, d, r, "[semantics]"); !done) return done;
       if (d.has_formula && !d.task.reference.empty())
         return wrong_value(d.formula, "a formula and a reference: one says what is right", "remove one of them");
       if (d.has_formula || !d.task.reference.empty()) return Done{};
       return wrong_value(v, "missing key 'reference' in [semantics]", "or formula = \"y = ...\"; see docs/task-file.md");
     }},
    {"sizes", false,
     [](const TomlValue& v, Draft& d, const Reading& r) {
       d.sizes_table = v;
       d.has_sizes = true;
       return read_fields<kSizesFields>(v, d, r, "[sizes]");
     }},
    {"numerics", false, [](const TomlValue& v, Draft& d, const Reading& r) { return read_fields<kNumericsFields>(v, d, r, "[numerics]"); }},
    {"hardware", false, [](const TomlValue& v, Draft& d, const Reading& r) { return read_fields<kHardwareFields>(v, d, r, "[hardware]"); }},
    {"goal", false, read_goal},
    {"interface", true, [](const TomlValue& v, Draft& d, const Reading& r) { return read_fields<kInterfaceFields>(v, d, r, "[interface]"); }},
    {"build", false, [](const TomlValue& v, Draft& d, const Reading& r) { return read_fields<kBuildFields>(v, d, r, "[build]"); }},
    {"program", false,
     [](const TomlValue& v, Draft& d, const Reading& r) {
       return read_table<Program>(v, "[program]", kProgramFields, d.task.program.emplace(), r);
     }},
    {"contracts", false, read_contracts},
}};

}  // namespace

Done read_sections(const TomlValue& root, Draft& draft, const Reading& reading) {
  return read_table<Draft>(root, "the task file", kSections, draft, reading);
}

}  // namespace kforge::task
