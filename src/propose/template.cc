#include "propose/template.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "task/expression.h"
#include "task/section.h"

namespace kforge::propose {
namespace {

using task::Done;
using task::Field;
using task::Reading;
using task::TomlValue;

template <std::string Template::*kMember>
Done read_string(const TomlValue& value, Template& out, const Reading&) {
  auto text = task::read_text(value);
  if (!text) return Unexpected(text.error());
  out.*kMember = *text;
  return {};
}
template <std::vector<std::string> Template::*kMember>
Done read_strings(const TomlValue& value, Template& out, const Reading&) {
  auto texts = task::read_texts(value);
  if (!texts) return Unexpected(texts.error());
  out.*kMember = *texts;
  return {};
}
Done read_gain(const TomlValue& value, Template& out, const Reading&) {
  auto number = task::read_number(value);
  if (!number) return Unexpected(number.error());
  out.expected_gain = *number;
  return {};
}
template <int Template::*kMember>
Done read_sm(const TomlValue& value, Template& out, const Reading&) {
  auto number = task::read_number(value);
  if (!number) return Unexpected(number.error());
  out.*kMember = static_cast<int>(*number);
  return {};
}

constexpr Field<Template> kTemplateFields[] = {
    {"title", true, read_string<&Template::title>},
    {"summary", true, read_string<&Template::summary>},
    {"binder", true, read_string<&Template::binder>},
    {"patterns", true, read_strings<&Template::patterns>},
    {"dtypes", false, read_strings<&Template::dtypes>},
    {"rule", false, read_string<&Template::rule>},
    {"expected_gain", true, read_gain},
    {"min_sm", false, read_sm<&Template::min_sm>},
    {"max_sm", false, read_sm<&Template::max_sm>},
};

template <class T, std::string T::*kMember>
Done read_member(const TomlValue& value, T& out, const Reading&) {
  auto text = task::read_text(value);
  if (!text) return Unexpected(text.error());
  out.*kMember = *text;
  return {};
}
Done read_choices(const TomlValue& value, TemplateParameter& out, const Reading&) {
  if (auto done = task::expect(value, TomlValue::Kind::array); !done) return done;
  for (const TomlValue& item : value.items) {
    if (auto done = task::expect(item, TomlValue::Kind::integer); !done) return done;
    out.choices.push_back(item.integer);
  }
  return {};
}
Done read_default(const TomlValue& value, TemplateParameter& out, const Reading&) {
  if (auto done = task::expect(value, TomlValue::Kind::integer); !done) return done;
  out.standard = value.integer;
  return {};
}

constexpr Field<TemplateParameter> kParameterFields[] = {
    {"name", true, read_member<TemplateParameter, &TemplateParameter::name>},
    {"title", true, read_member<TemplateParameter, &TemplateParameter::title>},
    {"choices", true, read_choices},
    {"default", true, read_default},
};
constexpr Field<TemplateConstraint> kConstraintFields[] = {
    {"holds", true, read_member<TemplateConstraint, &TemplateConstraint::holds>},
    {"why", true, read_member<TemplateConstraint, &TemplateConstraint::why>},
};

template <class T>
Done read_rows(const TomlValue& value, std::string_view name, std::span<const Field<T>> fields, std::vector<T>& out) {
  if (auto done = task::expect(value, TomlValue::Kind::array); !done) return done;
  for (const TomlValue& item : value.items) {
    T row;
    if (auto done = task::read_table<T>(item, name, fields, row, {}); !done) return done;
    out.push_back(std::move(row));
  }
  return {};
}

Done read_estimate(const TomlValue& value, Template& out) {
  if (auto done = task::expect(value, TomlValue::Kind::table); !done) return done;
  for (const task::TomlEntry& entry : value.entries) {
    auto text = task::read_text(entry.value);
    if (!text) return Unexpected(text.error());
    if (!task::is_identifier(entry.key)) return task::wrong_value(entry.value, "'" + entry.key + "' is no identifier");
    if (auto parsed = task::Expression::parse(*text); !parsed) return task::wrong_value(entry.value, "estimate '" + *text + "': " + parsed.error().message);
    out.estimate.emplace_back(entry.key, std::move(*text));
  }
  return {};
}

Done read_known(const TomlValue& value, Template& out) {
  if (auto done = task::expect(value, TomlValue::Kind::array); !done) return done;
  for (const TomlValue& item : value.items) {
    if (auto done = task::expect(item, TomlValue::Kind::table); !done) return done;
    auto& point = out.known.emplace_back();
    for (const task::TomlEntry& entry : item.entries) {
      if (auto done = task::expect(entry.value, TomlValue::Kind::integer); !done) return done;
      point[entry.key] = entry.value.integer;
    }
  }
  return {};
}

Done check(const Template& made, const TomlValue& root) {
  const auto wrong = [&](std::string message) { return fail(ErrorCode::bad_input, std::move(message), root.where); };
  for (const TemplateParameter& p : made.parameters) {
    if (!task::is_identifier(p.name)) return wrong("parameter '" + p.name + "' is no identifier");
    if (std::find(p.choices.begin(), p.choices.end(), p.standard) == p.choices.end()) return wrong("the default of '" + p.name + "' is none of its choices");
  }
  for (const auto& point : made.known)
    for (const auto& [name, value] : point)
      if (std::none_of(made.parameters.begin(), made.parameters.end(), [&](const TemplateParameter& p) { return p.name == name && std::find(p.choices.begin(), p.choices.end(), value) != p.choices.end(); }))
        return wrong(fmt::format("[[known]] {} = {} is no choice of a parameter", name, value));
  for (const TemplateConstraint& c : made.constraints)
    if (auto parsed = task::Expression::parse_condition(c.holds); !parsed) return wrong("constraint '" + c.holds + "': " + parsed.error().message);
  return {};
}

}  // namespace

Expected<Template> parse_template(std::string_view name, std::string_view toml, std::string_view source) {
  auto root = task::parse_toml(toml, fmt::format("data/kernels/{}/template.toml", name));
  if (!root) return Unexpected(root.error());
  Template out;
  out.name = name;
  out.source = source;
  for (const task::TomlEntry& entry : root->entries) {
    Done done;
    if (entry.key == "template") done = task::read_table<Template>(entry.value, "[template]", kTemplateFields, out, {});
    else if (entry.key == "parameter") done = read_rows<TemplateParameter>(entry.value, "[[parameter]]", kParameterFields, out.parameters);
    else if (entry.key == "constraint") done = read_rows<TemplateConstraint>(entry.value, "[[constraint]]", kConstraintFields, out.constraints);
    else if (entry.key == "known") done = read_known(entry.value, out);
    else if (entry.key == "estimate") done = read_estimate(entry.value, out);
    else done = fail(ErrorCode::bad_input, "unknown section '" + entry.key + "'", entry.where, "template, parameter, known, constraint or estimate");
    if (!done) return Unexpected(done.error());
  }
  if (auto done = check(out, *root); !done) return Unexpected(done.error());
  return out;
}

Expected<std::vector<Template>> templates() {
  std::vector<Template> all;
  const auto files = embedded_kernels();
  for (const EmbeddedText& file : files) {
    if (!file.path.ends_with("/template.toml")) continue;
    const std::string_view name = file.path.substr(0, file.path.find('/'));
    const auto source = std::find_if(files.begin(), files.end(), [&](const EmbeddedText& f) { return f.path == std::string(name) + "/kernel.cu"; });
    if (source == files.end()) return fail(ErrorCode::bad_input, fmt::format("data/kernels/{} has no kernel.cu", name));
    auto made = parse_template(name, file.text, source->text);
    if (!made) return Unexpected(made.error());
    all.push_back(std::move(*made));
  }
  return all;
}

std::string_view template_part(std::string_view name) {
  for (const EmbeddedText& file : embedded_kernels())
    if (file.path == fmt::format("parts/{}.cu", name)) return file.text;
  return {};
}

std::map<std::string, std::int64_t> sheet_numbers(const hardware::DataSheet& s) {
  return {{"sheet_sm", s.sm()},
          {"sheet_multiprocessors", s.multiprocessors},
          {"sheet_max_threads_per_sm", s.max_threads_per_sm},
          {"sheet_max_warps_per_sm", s.max_warps_per_sm},
          {"sheet_max_blocks_per_sm", s.max_blocks_per_sm},
          {"sheet_registers_per_sm", s.registers_per_sm},
          {"sheet_shared_bytes_per_sm", s.shared_bytes_per_sm},
          {"sheet_shared_bytes_per_block", s.shared_bytes_per_block},
          {"sheet_shared_bytes_per_block_optin", s.shared_bytes_per_block_optin},
          {"sheet_max_threads_per_block", s.max_threads_per_block},
          {"sheet_l2_bytes", static_cast<std::int64_t>(s.l2_bytes)}};
}

}  // namespace kforge::propose
