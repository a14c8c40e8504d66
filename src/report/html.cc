#include "report/html.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";   // U+FFFD

// Bytes of the well-formed UTF-8 sequence at the start of `text`; 0: none (RFC 3629, table 3-7 of Unicode).
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF ? 2 : (first & 0xF0) == 0xE0 ? 3 : first >= 0xF0 && first <= 0xF4 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool outside = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
  return overlong || outside ? 0 : length;
}

// Text that overrides the direction of what follows can make source code read as what it is not (CVE-2021-42574).
bool is_direction_control(std::string_view sequence) {
  return sequence.size() == 3 && sequence.substr(0, 2) == "\xE2\x80" && static_cast<unsigned char>(sequence[2]) >= 0xAA && static_cast<unsigned char>(sequence[2]) <= 0xAE
         ? true
         : sequence.size() == 3 && sequence.substr(0, 2) == "\xE2\x81" && static_cast<unsigned char>(sequence[2]) >= 0xA6 && static_cast<unsigned char>(sequence[2]) <= 0xA9;
}

std::string_view entity(char c) {
  switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

template <class Append>
void for_each_sequence(std::string_view any, Append append) {
  while (!any.empty()) {
    const std::size_t length = sequence_length(any);
    const bool bad = length == 0 || is_direction_control(any.substr(0, length));
    append(bad ? kReplacement : any.substr(0, length));
    any.remove_prefix(length == 0 ? 1 : length);
  }
}

std::string escaped(std::string_view any, std::string_view for_control) {
  std::string out;
  out.reserve(any.size() + any.size() / 8);
  for_each_sequence(any, [&](std::string_view sequence) {
    const char c = sequence[0];
    const auto byte = static_cast<unsigned char>(c);
    if (const std::string_view known = entity(c); sequence.size() == 1 && !known.empty()) out += known;
    else if (sequence.size() == 1 && ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)) out += for_control;
    else out += sequence;
  });
  return out;
}

// `code` and **bold** of one line.
Html inline_markdown(std::string_view line) {
  Html out;
  while (!line.empty()) {
    const bool code = line.starts_with('`'), bold = line.starts_with("**");
    const std::string_view mark = code ? "`" : "**";
    const std::size_t end = code || bold ? line.find(mark, mark.size()) : std::string_view::npos;
    if ((code || bold) && end != std::string_view::npos) {
      const std::string_view inner = line.substr(mark.size(), end - mark.size());
      out += code ? Html::element("code", Html::text(inner)) : Html::element("strong", inline_markdown(inner));
      line.remove_prefix(end + mark.size());
      continue;
    }
    const std::size_t next = line.find_first_of("`*", 1);
    out += Html::text(line.substr(0, next));
    line.remove_prefix(next == std::string_view::npos ? line.size() : next);
  }
  return out;
}

Html table_row(std::string_view line, bool head) {
  Html cells;
  auto pieces = split(trim(line), '|');
  if (!pieces.empty()) pieces.erase(pieces.begin());
  if (!pieces.empty()) pieces.pop_back();
  for (const std::string_view piece : pieces) cells += head ? Html::element("th", inline_markdown(trim(piece))) : Html::element("td", inline_markdown(trim(piece)));
  return Html::element("tr", cells);
}

enum class Block { none, paragraph, list, numbered, table };

Block block_of(std::string_view line) {
  if (trim(line).empty()) return Block::none;
  if (line.starts_with("- ")) return Block::list;
  if (line.size() > 2 && line[0] >= '1' && line[0] <= '9' && line[1] == '.') return Block::numbered;
  return line.starts_with("|") ? Block::table : Block::paragraph;
}

Html closed(Block block, const std::vector<std::string>& items) {
  Html content;
  const bool list = block == Block::list || block == Block::numbered;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (list) content += Html::element("li", inline_markdown(items[i]));
    else if (block == Block::table && i != 1) content += table_row(items[i], i == 0);
    else if (block == Block::paragraph) content += inline_markdown(items[i]);
  }
  if (block == Block::list) return Html::element("ul", content);
  if (block == Block::numbered) return Html::element("ol", content);
  if (block == Block::table) return Html::element("div", "scroll", Html::element("table", content));
  return block == Block::paragraph ? Html::element("p", content) : Html();
}

}  // namespace

Html Html::text(std::string_view any) { return Html(escaped(any, kReplacement)); }

Html Html::wrapped(std::string_view tag, std::string_view classes, const Html& content) {
  std::string out = fmt::format("<{}", tag);
  if (!classes.empty()) out += fmt::format(" class=\"{}\"", classes);
  return Html(out + ">" + content.html_ + fmt::format("</{}>\n", tag));
}

Html markdown_to_html(std::string_view markdown) {
  Html out;
  Block open = Block::none;
  std::vector<std::string> items;
  const auto close = [&] {
    out += closed(open, items);
    items.clear();
    open = Block::none;
  };
  for (const std::string_view line : split_lines(markdown)) {
    const Block block = block_of(line);
    const bool continues = open != Block::none && block == Block::paragraph && open != Block::table;   // a wrapped line of the item above
    if (continues && !items.empty()) {
      items.back() += " " + std::string(trim(line));
      continue;
    }
    if (block != open) close();
    open = block;
    if (block == Block::list) items.emplace_back(line.substr(2));
    else if (block == Block::numbered) items.emplace_back(trim(line.substr(2)));
    else if (block != Block::none) items.emplace_back(line);
  }
  close();
  return out;
}

std::string xml_escape(std::string_view any) { return escaped(any, ""); }

std::string markdown_escape(std::string_view any) {
  std::string out;
  for_each_sequence(any, [&](std::string_view sequence) {
    const char c = sequence[0];
    if (sequence.size() > 1) out += sequence;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) out += ' ';
    else if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\`*_[]|#>").find(c) != std::string_view::npos) (out += '\\') += c;
    else out += c;
  });
  return out;
}

}  // namespace kforge::report
