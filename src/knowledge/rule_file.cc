#include "knowledge/rule_file.h"

#include <array>

#include "base/text.h"
#include "task/contract_ids.h"
#include "knowledge/condition.h"
#include "task/section.h"

namespace kforge::knowledge {
namespace {

using task::Done;
using task::Field;
using task::Reading;
using task::TomlValue;

constexpr std::size_t kMaxRuleBytes = 64 * 1024;

// Words of kforge/plan.h, "PatternGuess".
constexpr std::array<std::string_view, 16> kPatterns = {"elementwise", "reduction", "arg_reduction", "softmax", "layer_norm", "rms_norm", "transpose", "scan",
    "stencil", "histogram", "gemm", "convolution", "attention", "sort", "gather", "scatter"};

Done read_id(const TomlValue& value, KnowledgeRule& rule, const Reading&) {
  const auto text = task::read_text(value);
  if (!text) return Unexpected(text.error());
  for (const char c : *text)
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-')
      return task::wrong_value(value, "an id has lower-case letters, digits and '-' only", "it names the file: \"pad-shared-rows\"");
  if (text->size() > 64) return task::wrong_value(value, "an id has at most 64 characters");
  rule.id = *text;
  return {};
}

Done assign(const TomlValue& value, std::string& out) {
  auto text = task::read_text(value);
  if (!text) return Unexpected(text.error());
  out = std::move(*text);
  return {};
}

Done assign(const TomlValue& value, std::vector<std::string>& out) {
  auto texts = task::read_texts(value);
  if (!texts) return Unexpected(texts.error());
  out = std::move(*texts);
  return {};
}

Done known_contracts(const TomlValue& value, std::vector<std::string>& out) {
  std::vector<std::string_view> known;
  for (const task::ContractId& row : task::kContractIds) known.push_back(row.id);
  if (auto kind = task::expect(value, TomlValue::Kind::array); !kind) return kind;
  for (const TomlValue& item : value.items) {
    const auto index = task::read_choice(item, "contract", known);
    if (!index) return Unexpected(index.error());
    out.emplace_back(known[*index]);
  }
  return {};
}

Done read_patterns(const TomlValue& value, KnowledgeRule& rule, const Reading&) {
  if (auto kind = task::expect(value, TomlValue::Kind::array); !kind) return kind;
  for (const TomlValue& item : value.items) {
    const auto index = task::read_choice(item, "pattern", kPatterns);
    if (!index) return Unexpected(index.error());
    rule.patterns.emplace_back(kPatterns[*index]);
  }
  return {};
}

Done read_conditions(const TomlValue& value, KnowledgeRule& rule, const Reading&) {
  if (auto done = assign(value, rule.applies_when); !done) return done;
  for (std::size_t i = 0; i < rule.applies_when.size(); ++i) {
    const TomlValue& item = value.items[i];
    const auto condition = Condition::parse(rule.applies_when[i]);
    if (!condition) return task::relocate(condition.error(), item);
    for (const std::string& name : condition->names()) {
      if (is_known_quantity(name)) continue;
      const auto known = known_quantities();
      const auto near = nearest(name, std::span<const std::string>(known));
      return task::wrong_value(item, "unknown quantity '" + name + "' in applies_when",
                               near ? "did you mean '" + *near + "'?" : "docs/knowledge.md lists the quantities");
    }
  }
  return {};
}

Done read_gain(const TomlValue& value, KnowledgeRule& rule, const Reading&) {
  if (auto kind = task::expect(value, TomlValue::Kind::array); !kind) return kind;
  if (value.items.size() != 2) return task::wrong_value(value, "gain has two numbers: [lowest, highest]");
  const auto low = task::read_number(value.items[0]), high = task::read_number(value.items[1]);
  if (!low) return Unexpected(low.error());
  if (!high) return Unexpected(high.error());
  if (!(*low >= 1 && *low <= *high && *high <= 1000))
    return task::wrong_value(value, "gain is time before over time after: 1 <= lowest <= highest <= 1000");
  rule.gain_low = *low;
  rule.gain_high = *high;
  return {};
}

Done read_sm(const TomlValue& value, int& out) {
  if (auto kind = task::expect(value, TomlValue::Kind::integer); !kind) return kind;
  if (value.integer < 10 || value.integer > 999) return task::wrong_value(value, "an architecture is a number such as 80 or 90");
  out = static_cast<int>(value.integer);
  return {};
}

Done read_shows(const TomlValue& value, KnowledgeExample& example, const Reading&) {
  std::vector<std::string> one;
  TomlValue list;
  list.kind = TomlValue::Kind::array;
  list.where = value.where;
  list.items = {value};
  if (auto done = known_contracts(list, one); !done) return done;
  example.shows = one.front();
  return {};
}

constexpr std::array<Field<KnowledgeExample>, 4> kExampleFields = {{
    {"task", true, [](const TomlValue& v, KnowledgeExample& e, const Reading&) { return assign(v, e.task); }},
    {"before", true, [](const TomlValue& v, KnowledgeExample& e, const Reading&) { return assign(v, e.before); }},
    {"after", true, [](const TomlValue& v, KnowledgeExample& e, const Reading&) { return assign(v, e.after); }},
    {"shows", false, read_shows},
}};

Done read_example(const TomlValue& value, KnowledgeRule& rule, const Reading& reading) {
  rule.example.emplace();
  return task::read_table<KnowledgeExample>(value, "[example]", kExampleFields, *rule.example, reading);
}

constexpr std::array<Field<KnowledgeRule>, 12> kFields = {{
    {"id", true, read_id},
    {"title", true, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return assign(v, r.title); }},
    {"contracts", true, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return known_contracts(v, r.contracts); }},
    {"default_for", false, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return known_contracts(v, r.default_for); }},
    {"causes", false, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return assign(v, r.causes); }},
    {"patterns", false, read_patterns},
    {"applies_when", false, read_conditions},
    {"gain", true, read_gain},
    {"min_sm", false, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return read_sm(v, r.min_sm); }},
    {"max_sm", false, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return read_sm(v, r.max_sm); }},
    {"sources", true, [](const TomlValue& v, KnowledgeRule& r, const Reading&) { return assign(v, r.sources); }},
    {"example", false, read_example},
}};

struct Parts {
  std::string head;          // with an empty first line for the "+++", so that lines count as in the file
  std::string_view body;
  int body_line = 1;
};

Expected<Parts> take_apart(std::string_view text, const std::string& file) {
  const auto malformed = [&](std::string message, int line) {
    return fail(ErrorCode::bad_input, std::move(message), {file, line, 0}, "docs/knowledge.md shows a rule");
  };
  if (text.size() > kMaxRuleBytes) return malformed("a rule has at most 64 KiB", 0);
  if (!text.starts_with("+++\n") && !text.starts_with("+++\r\n")) return malformed("a rule begins with a line \"+++\"", 1);
  const std::size_t end = text.find("\n+++", 3);
  if (end == std::string_view::npos) return malformed("the head of the rule is not closed by a line \"+++\"", 1);
  Parts parts;
  parts.head = "\n" + std::string(text.substr(text.find('\n') + 1, end - text.find('\n')));
  const std::size_t body = text.find('\n', end + 1);
  parts.body = body == std::string_view::npos ? std::string_view{} : text.substr(body + 1);
  for (const char c : text.substr(0, end)) parts.body_line += c == '\n';
  ++parts.body_line;
  return parts;
}

// The text of "## HEADING" up to the next heading of that depth.
std::string section(std::string_view body, std::string_view heading) {
  std::string out;
  bool inside = false;
  for (const std::string_view line : split_lines(body)) {
    if (line.starts_with("## ")) {
      inside = trim(line.substr(3)) == heading;
      continue;
    }
    if (inside) (out += line) += '\n';
  }
  return std::string(trim(out));
}

}  // namespace

Expected<KnowledgeRule> parse_rule(std::string_view text, const std::string& file) {
  const auto parts = take_apart(text, file);
  if (!parts) return Unexpected(parts.error());
  const auto head = task::parse_toml(parts->head, file);
  if (!head) return Unexpected(head.error());
  KnowledgeRule rule;
  rule.file = file;
  if (auto done = task::read_table<KnowledgeRule>(*head, "the rule's head", kFields, rule, {}); !done) {
    Error error = done.error();
    if (error.message.starts_with("missing key")) error.hint = "docs/knowledge.md lists the keys";
    return Unexpected(std::move(error));
  }
  rule.why = section(parts->body, "Why");
  rule.what_to_do = section(parts->body, "What to do");
  for (const auto& [heading, content] : {std::pair("Why", &rule.why), std::pair("What to do", &rule.what_to_do)})
    if (content->empty())
      return fail(ErrorCode::bad_input, std::string("the section \"## ") + heading + "\" is missing or empty", {file, parts->body_line, 0},
                  "a rule says why and what to do");
  for (const std::string& contract : rule.default_for)
    if (std::find(rule.contracts.begin(), rule.contracts.end(), contract) == rule.contracts.end())
      return fail(ErrorCode::bad_input, "default_for names " + contract + ", which contracts does not", {file, 1, 0}, "add it to contracts");
  return rule;
}

}  // namespace kforge::knowledge
