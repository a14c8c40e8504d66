#include "knowledge/messages.h"

#include <algorithm>
#include <array>
#include <regex>

#include "knowledge/embedded.h"
#include "task/section.h"

namespace kforge::knowledge {
namespace {

using task::Done;
using task::Field;
using task::Reading;
using task::TomlValue;

constexpr std::string_view kTable = "data/knowledge/compiler-messages.toml";
constexpr std::size_t kMaxMessageBytes = 2000;   // of a message that is searched: std::regex recurses with the length

Done assign(const TomlValue& value, std::string& out) {
  auto text = task::read_text(value);
  if (!text) return Unexpected(text.error());
  out = std::move(*text);
  return {};
}

Done read_tool(const TomlValue& value, MessageRow& row, const Reading&) {
  static constexpr std::array<std::string_view, 5> kTools = {"nvcc", "ptxas", "nvrtc", "ld", "c++"};
  const auto index = task::read_choice(value, "tool", kTools);
  if (!index) return Unexpected(index.error());
  row.message.tool = kTools[*index];
  return {};
}

Done read_pattern(const TomlValue& value, MessageRow& row, const Reading&) {
  if (auto done = assign(value, row.message.pattern); !done) return done;
  try {
    const std::regex compiled(row.message.pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return task::wrong_value(value, std::string("malformed regular expression: ") + error.what());
  }
  return {};
}

Done read_with(const TomlValue& value, MessageRow& row, const Reading&) {
  static constexpr std::array<std::string_view, 6> kWays = {"nvrtc", "nvcc", "ptx", "cubin", "ptxas", "link"};
  const auto index = task::read_choice(value, "way to provoke a message", kWays);
  if (!index) return Unexpected(index.error());
  row.provoke.with = kWays[*index];
  return {};
}

Done read_flags(const TomlValue& value, MessageRow& row, const Reading&) {
  auto texts = task::read_texts(value);
  if (!texts) return Unexpected(texts.error());
  row.provoke.flags = std::move(*texts);
  return {};
}

constexpr std::array<Field<MessageRow>, 8> kFields = {{
    {"id", true, [](const TomlValue& v, MessageRow& r, const Reading&) { return assign(v, r.message.id); }},
    {"tool", true, read_tool},
    {"pattern", true, read_pattern},
    {"cause", true, [](const TomlValue& v, MessageRow& r, const Reading&) { return assign(v, r.message.cause); }},
    {"fix", true, [](const TomlValue& v, MessageRow& r, const Reading&) { return assign(v, r.message.fix); }},
    {"with", true, read_with},
    {"flags", false, read_flags},
    {"source", true, [](const TomlValue& v, MessageRow& r, const Reading&) { return assign(v, r.provoke.source); }},
}};

Done read_rows(const TomlValue& value, std::vector<MessageRow>& rows, const Reading& reading) {
  if (auto kind = task::expect(value, TomlValue::Kind::array); !kind) return kind;
  for (const TomlValue& item : value.items) {
    MessageRow row;
    if (auto done = task::read_table<MessageRow>(item, "[[message]]", kFields, row, reading); !done) return done;
    for (const MessageRow& other : rows)
      if (other.message.id == row.message.id) return task::wrong_value(item, "a second message with the id '" + row.message.id + "'");
    rows.push_back(std::move(row));
  }
  return {};
}

constexpr std::array<Field<std::vector<MessageRow>>, 1> kRootFields = {{{"message", true, read_rows}}};

}  // namespace

Expected<std::vector<MessageRow>> parse_messages(std::string_view text, const std::string& file) {
  const auto root = task::parse_toml(text, file);
  if (!root) return Unexpected(root.error());
  std::vector<MessageRow> rows;
  if (auto done = task::read_table<std::vector<MessageRow>>(*root, "the table of messages", kRootFields, rows, {}); !done) return Unexpected(done.error());
  return rows;
}

const std::vector<MessageRow>& message_rows() {
  static const std::vector<MessageRow> rows = [] {
    auto parsed = parse_messages(embedded_text(kTable), std::string(kTable));
    return parsed ? std::move(*parsed) : std::vector<MessageRow>{};   // messages_test reads the same text and shows its error
  }();
  return rows;
}

}  // namespace kforge::knowledge

namespace kforge {

const std::vector<CompilerMessage>& compiler_messages() {
  static const std::vector<CompilerMessage> messages = [] {
    std::vector<CompilerMessage> out;
    for (const knowledge::MessageRow& row : knowledge::message_rows()) out.push_back(row.message);
    return out;
  }();
  return messages;
}

const CompilerMessage* explain_message(std::string_view message) {
  static const std::vector<std::regex> patterns = [] {
    std::vector<std::regex> out;
    for (const CompilerMessage& row : compiler_messages()) out.emplace_back(row.pattern, std::regex::ECMAScript | std::regex::optimize);
    return out;
  }();
  const std::string_view text = message.substr(0, knowledge::kMaxMessageBytes);
  const auto found = std::find_if(patterns.begin(), patterns.end(), [&](const std::regex& pattern) { return std::regex_search(text.begin(), text.end(), pattern); });
  return found == patterns.end() ? nullptr : &compiler_messages()[static_cast<std::size_t>(found - patterns.begin())];
}

}  // namespace kforge
