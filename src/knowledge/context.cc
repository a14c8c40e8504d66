// The public functions on context folders.
#include "kforge/context.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "knowledge/context_index.h"

namespace kforge {
namespace {

// Files come from strangers: control characters do not reach a terminal.
std::string without_controls(std::string text) {
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  return text;
}

}  // namespace

Expected<ContextAnswer> search_context(const std::vector<std::string>& folders, std::string_view query, std::size_t count) {
  auto index = knowledge::ContextIndex::open(folders);
  if (!index) return Unexpected(index.error());
  auto passages = index->search(query, count);
  if (!passages) return Unexpected(passages.error());
  return ContextAnswer{std::move(*passages), index->notes()};
}

std::string to_text(const ContextAnswer& answer) {
  std::string out;
  for (const ContextPassage& p : answer.passages) out += fmt::format("{}:{}-{}\n{}\n", p.file, p.first_line, p.last_line, p.text);
  for (const std::string& note : answer.notes) out += fmt::format("not searched: {}\n", note);
  return without_controls(std::move(out));
}

std::string to_json(const ContextAnswer& answer) {
  auto passages = nlohmann::ordered_json::array();
  for (const ContextPassage& p : answer.passages) passages.push_back({{"file", p.file}, {"first_line", p.first_line}, {"last_line", p.last_line}, {"text", p.text}});
  const nlohmann::ordered_json json{{"schema", "kforge.context/1"}, {"passages", passages}, {"notes", answer.notes}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kforge
