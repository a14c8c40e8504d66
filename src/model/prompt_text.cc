#include "model/prompt_text.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include "base/text.h"
#include "base/tomlplusplus.h"
#include "llm/chat.h"

namespace kforge::model {
namespace {

namespace mustache = kainjow::mustache;

constexpr int kLastPriority = 9;   // of a part that the table does not name

mustache::data data_of(const Fields& fields) {
  mustache::data out(mustache::data::type::object);
  for (const auto& [name, flag] : fields.flags) out.set(name, flag);
  for (const auto& [name, text] : fields.texts) {
    if (text.empty()) out.set(name, false);   // an empty text counts as true in Mustache
    else out.set(name, text);
  }
  for (const auto& [name, rows] : fields.lists) {
    mustache::data list(mustache::data::type::list);
    for (const Fields& row : rows) list.push_back(data_of(row));
    out.set(name, list);
  }
  return out;
}

void collect(const Fields& fields, std::set<std::string>& names, std::set<std::string>& empty_lists) {
  for (const auto& [name, text] : fields.texts) names.insert(name);
  for (const auto& [name, flag] : fields.flags) names.insert(name);
  for (const auto& [name, rows] : fields.lists) {
    names.insert(name);
    if (rows.empty()) empty_lists.insert(name);
    for (const Fields& row : rows) collect(row, names, empty_lists);
  }
}

// Tags that nothing fills would vanish silently. Those of an empty list's rows are skipped with it.
std::string unknown_tag(std::string_view text, const Fields& fields) {
  std::set<std::string> names, empty;
  collect(fields, names, empty);
  std::string skipping;
  for (std::size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
    std::size_t start = at + 2;
    const char kind = start < text.size() ? text[start] : ' ';
    if (std::string_view("#^/").find(kind) != std::string_view::npos) ++start;
    std::size_t end = start;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    const std::string name(text.substr(start, end - start));
    if (kind == '#' && skipping.empty() && empty.count(name) > 0) skipping = name;
    if (kind == '/' && name == skipping) skipping.clear();
    if (skipping.empty() && names.count(name) == 0) return name;
  }
  return {};
}

const EmbeddedText* find_text(const std::string& path) {
  const auto texts = embedded_prompts();
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const EmbeddedText& t) { return t.path == path; });
  return found == texts.end() ? nullptr : &*found;
}

struct Table { int version = 0; std::map<std::string, int> priorities; };

const Table& table() {
  static const Table read = [] {
    Table out;
    const EmbeddedText* text = find_text("prompts.toml");
    const auto parsed = text ? toml::parse(text->text) : toml::parse(std::string_view());
    if (!parsed) return out;
    out.version = static_cast<int>(parsed.table()["version"].value_or(std::int64_t{0}));
    if (const auto* rows = parsed.table()["priority"].as_table())
      for (const auto& [name, value] : *rows) out.priorities[std::string(name.str())] = static_cast<int>(value.value_or(std::int64_t{kLastPriority}));
    return out;
  }();
  return read;
}

int priority_of(const std::string& name) {
  const auto found = table().priorities.find(name);
  return found == table().priorities.end() ? kLastPriority : found->second;
}

}  // namespace

Expected<std::string> fill(std::string_view name, const Fields& fields) {
  const EmbeddedText* found = find_text(std::string(name) + ".md");
  if (!found) return fail(ErrorCode::bad_input, fmt::format("there is no prompt text '{}'", name));
  if (const std::string tag = unknown_tag(found->text, fields); !tag.empty()) return fail(ErrorCode::bad_input, fmt::format("data/prompts/{}: nothing fills the tag '{}'", found->path, tag));
  mustache::mustache text{std::string(found->text)};
  if (!text.is_valid()) return fail(ErrorCode::bad_input, fmt::format("data/prompts/{}: {}", found->path, text.error_message()));
  text.set_custom_escape([](const std::string& s) { return s; });
  std::string out = text.render(data_of(fields));
  while (out.ends_with('\n')) out.pop_back();
  return out + "\n";
}

int prompt_version() { return table().version; }

std::string put_together(const std::vector<Part>& parts, std::uint64_t tokens, std::vector<std::string>* left_out) {
  std::vector<std::string> texts;
  std::uint64_t total = 0;
  for (const Part& part : parts) {
    texts.push_back(part.text);
    total += llm::estimated_tokens(part.text);
  }
  for (int priority = kLastPriority; priority > 0; --priority)
    for (std::size_t i = parts.size(); i-- > 0 && total > tokens;) {
      if (priority_of(parts[i].name) != priority || texts[i].empty()) continue;
      if (left_out) left_out->push_back(parts[i].name);
      const std::uint64_t before = llm::estimated_tokens(texts[i]);
      const bool fits = !parts[i].shorter.empty() && total - before + llm::estimated_tokens(parts[i].shorter) <= tokens;
      texts[i] = fits ? parts[i].shorter : "";
      total = total - before + llm::estimated_tokens(texts[i]);
    }
  std::string out;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    if (!out.empty()) out += "\n";
    out += text;
  }
  return out;
}

}  // namespace kforge::model
