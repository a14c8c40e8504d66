#include "propose/template_render.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include "base/text.h"

namespace kforge::propose {
namespace {

namespace mustache = kainjow::mustache;

mustache::data data_of(const Binding& binding);

void fill(mustache::data& out, const Binding& binding) {
  for (const auto& [name, text] : binding.texts) out.set(name, text);
  for (const auto& [name, flag] : binding.flags) out.set(name, flag);
  for (const auto& [name, rows] : binding.lists) {
    mustache::data list(mustache::data::type::list);
    for (const Binding& row : rows) list.push_back(data_of(row));
    out.set(name, list);
  }
}
mustache::data data_of(const Binding& binding) {
  mustache::data out(mustache::data::type::object);
  fill(out, binding);
  return out;
}

void collect_names(const Binding& binding, std::set<std::string>& out) {
  for (const auto& [name, text] : binding.texts) out.insert(name);
  for (const auto& [name, flag] : binding.flags) out.insert(name);
  for (const auto& [name, rows] : binding.lists) {
    out.insert(name);
    for (const Binding& row : rows) collect_names(row, out);
  }
}

// The source with its parts put in place of their tags; parts hold no parts.
std::string with_parts(const std::string& source) {
  std::string out = source;
  for (std::size_t at = out.find("{{>"); at != std::string::npos; at = out.find("{{>", at)) {
    const std::size_t end = out.find("}}", at);
    if (end == std::string::npos) return out;
    const std::string name(trim(std::string_view(out).substr(at + 3, end - at - 3)));
    std::string_view part = template_part(name);
    while (part.ends_with('\n')) part.remove_suffix(1);
    out.replace(at, end + 2 - at, part);
  }
  return out;
}

// Tags that no data fills would vanish silently. Sections of a list that is empty hold tags of its rows: those are skipped with it.
std::string unknown_tag(const std::string& source, const std::set<std::string>& known, const std::set<std::string>& empty) {
  std::string skipping;
  for (std::size_t at = source.find("{{"); at != std::string::npos; at = source.find("{{", at + 2)) {
    std::size_t start = at + 2;
    while (start < source.size() && std::string_view("{#^/& ").find(source[start]) != std::string_view::npos) ++start;
    std::size_t end = start;
    while (end < source.size() && (std::isalnum(static_cast<unsigned char>(source[end])) || source[end] == '_')) ++end;
    const std::string name = source.substr(start, end - start);
    const char kind = source[at + 2];
    if (kind == '#' && skipping.empty() && empty.contains(name)) skipping = name;
    if (kind == '/' && name == skipping) skipping.clear();
    if (skipping.empty() && !known.contains(name)) return name;
  }
  return {};
}

void collect_empty(const Binding& binding, std::set<std::string>& out) {
  for (const auto& [name, rows] : binding.lists) {
    if (rows.empty()) out.insert(name);
    for (const Binding& row : rows) collect_empty(row, out);
  }
  for (const auto& [name, flag] : binding.flags)
    if (!flag) out.insert(name);
}

Binding with_values(const Template& made, const Binding& binding, const ParameterValues& values) {
  Binding out = binding;
  for (const TemplateParameter& p : made.parameters) {
    const auto given = values.find(p.name);
    const std::int64_t value = given == values.end() ? p.standard : given->second;
    out.texts[p.name] = std::to_string(value);
    for (const std::int64_t choice : p.choices) out.flags[fmt::format("{}_is_{}", p.name, choice)] = choice == value;
  }
  return out;
}

// Runs of empty lines become one, and none stands at the end.
std::string tidy(const std::string& text) {
  std::string out;
  int empty = 0;
  for (const std::string_view line : split_lines(text)) {
    std::string_view kept = line;
    while (!kept.empty() && (kept.back() == ' ' || kept.back() == '\t')) kept.remove_suffix(1);
    empty = kept.empty() ? empty + 1 : 0;
    if (empty < 2) out.append(kept).push_back('\n');
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace

struct TemplateText::Parts {
  Template made;
  std::string source;
  mustache::mustache text;
};

TemplateText::TemplateText(const Template& made) {
  std::string source = with_parts(made.source);
  mustache::mustache text(source);
  text.set_custom_escape([](const std::string& s) { return s; });
  parts_ = std::make_unique<Parts>(Parts{made, std::move(source), std::move(text)});
}

TemplateText::~TemplateText() = default;

Expected<std::string> TemplateText::render(const Binding& binding, const ParameterValues& values) {
  const Binding filled = with_values(parts_->made, binding, values);
  std::set<std::string> known, empty;
  collect_names(filled, known);
  collect_empty(filled, empty);
  if (const std::string tag = unknown_tag(parts_->source, known, empty); !tag.empty())
    return fail(ErrorCode::bad_input, fmt::format("template {}: nothing fills the tag '{}'", parts_->made.name, tag));
  if (!parts_->text.is_valid()) return fail(ErrorCode::bad_input, fmt::format("template {}: {}", parts_->made.name, parts_->text.error_message()));
  return tidy(parts_->text.render(data_of(filled)));
}

Expected<std::string> render(const Template& made, const Binding& binding, const ParameterValues& values) { return TemplateText(made).render(binding, values); }

std::vector<std::string> identifiers_of(const Template& made) {
  const std::string source = with_parts(made.source);
  std::set<std::string> found;
  for (std::size_t at = 0; at < source.size();) {
    if (source.compare(at, 2, "{{") == 0) {
      const std::size_t end = source.find("}}", at);
      at = end == std::string::npos ? source.size() : end + 2;
      continue;
    }
    if (source.compare(at, 2, "//") == 0) {
      at = std::min(source.find('\n', at), source.size());
      continue;
    }
    std::size_t end = at;
    while (end < source.size() && (std::isalnum(static_cast<unsigned char>(source[end])) || source[end] == '_')) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    found.insert(source.substr(at, end - at));
    at = end;
  }
  return {found.begin(), found.end()};
}

}  // namespace kforge::propose
