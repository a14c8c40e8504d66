#include "judge/host_lines.h"

#include <algorithm>
#include <cctype>

namespace kforge::judge {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i)
    if (text[i] != '\n') text[i] = ' ';
}

// Behind the literal that opens at `open`; at the line's end where it is not closed (an apostrophe in a number).
std::size_t end_of_literal(const std::string& text, std::size_t open) {
  std::size_t i = open + 1;
  while (i < text.size() && text[i] != text[open] && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return i < text.size() && text[i] == text[open] ? i + 1 : i;
}

std::string without_comments_and_literals(std::string_view source) {
  std::string text(source);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const bool digit_separator = text[i] == '\'' && i > 0 && in_name(text[i - 1]);
    if (text.compare(i, 2, "//") == 0) end = std::min(text.find('\n', i), text.size()), blank(text, i, end);
    else if (text.compare(i, 2, "/*") == 0) end = std::min(text.find("*/", i + 2), text.size() - 2) + 2, blank(text, i, end);
    else if (text[i] == '"' || (text[i] == '\'' && !digit_separator)) end = end_of_literal(text, i), blank(text, i, end);
    i = end;
  }
  return text;
}

// The next place from `from` on at which `name` stands as a word, or begins one.
std::size_t find_word(const std::string& text, std::string_view name, std::size_t from, bool begins) {
  for (std::size_t at = text.find(name, from); at != kNone; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !in_name(text[at - 1])) && (begins || end == text.size() || !in_name(text[end]))) return at;
  }
  return kNone;
}

std::size_t skip_blanks(const std::string& text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// Behind template arguments at `at`, if there are any.
std::size_t skip_arguments(const std::string& text, std::size_t at) {
  if (at >= text.size() || text[at] != '<' || text.compare(at, 3, "<<<") == 0) return at;
  int depth = 0;
  for (; at < text.size() && text[at] != ';' && text[at] != '{'; ++at) {
    depth += text[at] == '<' ? 1 : text[at] == '>' ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return at;
}

// Arguments between <<< at `open` and >>>.
int launch_arguments(const std::string& text, std::size_t open) {
  int depth = 0, count = 1;
  for (std::size_t i = open + 3; i < text.size() && text[i] != ';'; ++i) {
    if (depth == 0 && text.compare(i, 3, ">>>") == 0) break;
    depth += text[i] == '(' || text[i] == '{' ? 1 : text[i] == ')' || text[i] == '}' ? -1 : 0;
    count += depth == 0 && text[i] == ',' ? 1 : 0;
  }
  return count;
}

// "ns::name<float, 4>" to "name".
std::string_view base_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<', 1));
  const std::size_t scope = kernel.rfind("::");
  return scope == kNone ? kernel : kernel.substr(scope + 2);
}

// cudaLaunchKernel(kernel, ...) and its kin: the name is an argument of a call that begins on its line or shortly before.
bool in_launch_call(const std::string& text, std::size_t name) {
  const std::size_t statement = text.find_last_of(";{}", name);
  const std::size_t from = statement == kNone ? 0 : statement;
  return text.substr(from, name - from).find("cudaLaunch") != kNone;
}

}  // namespace

HostLines::HostLines(std::string_view source) : text_(without_comments_and_literals(source)) {}

int HostLines::line_at(std::size_t offset) const {
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

int HostLines::launch_of(std::string_view kernel, bool without_stream) const {
  const std::string_view name = base_name(kernel);
  if (name.empty()) return 0;
  std::size_t first = kNone;
  for (std::size_t at = find_word(text_, name, 0, false); at != kNone; at = find_word(text_, name, at + 1, false)) {
    std::size_t behind = skip_blanks(text_, skip_arguments(text_, skip_blanks(text_, at + name.size())));
    if (behind < text_.size() && text_[behind] == ')') behind = skip_blanks(text_, behind + 1);   // (name<4>)<<<...>>>
    const bool launched = text_.compare(behind, 3, "<<<") == 0;
    if (!launched && !in_launch_call(text_, at)) continue;
    if (!without_stream || (launched && launch_arguments(text_, behind) < 4)) return line_at(at);
    if (first == kNone) first = at;
  }
  return first == kNone ? 0 : line_at(first);
}

int HostLines::call_of(std::string_view prefix) const {
  for (std::size_t at = prefix.empty() ? kNone : find_word(text_, prefix, 0, true); at != kNone; at = find_word(text_, prefix, at + 1, true)) {
    std::size_t end = at;
    while (end < text_.size() && in_name(text_[end])) ++end;
    end = skip_blanks(text_, skip_arguments(text_, skip_blanks(text_, end)));
    if (end < text_.size() && text_[end] == '(') return line_at(at);
  }
  return 0;
}

}  // namespace kforge::judge
