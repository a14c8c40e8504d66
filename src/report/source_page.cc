// The annotated source of a page: findings below their lines, figures beside them.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "report/page_parts.h"

namespace kforge::report {
namespace {

constexpr std::size_t kMaxSourceLines = 1200;
constexpr std::size_t kNear = 12;             // lines shown around what a longer source is shown for
constexpr std::size_t kMaxLineBytes = 400;

Html note_of(const Finding& f) {
  const Html mark = f.severity == Severity::error ? Html::element("span", "badge bad", Html::text(f.contract)) : Html::element("span", "badge warn", Html::text(f.contract));
  return Html::element("div", "note-line", mark + Html::raw(" ") + (f.measured.empty() ? Html() : Html::element("strong", Html::text(f.measured)) + Html::raw(" ")) + Html::text(f.message));
}

// 0-based indices of the lines to show.
std::vector<std::size_t> shown_lines(std::size_t count, const std::set<std::uint32_t>& worth_showing) {
  std::set<std::size_t> shown;
  if (count <= kMaxSourceLines)
    for (std::size_t i = 0; i < count; ++i) shown.insert(i);
  else
    for (const std::size_t line : worth_showing)
      for (std::size_t i = line > kNear ? line - 1 - kNear : 0; i < std::min(count, line + kNear); ++i)
        if (shown.size() < kMaxSourceLines) shown.insert(i);
  return {shown.begin(), shown.end()};
}

// Behind the code in the text: a wide screen has them before it, a narrow one below it (page_style.cc), each with its name.
Html figure_cells(const std::vector<std::size_t>& columns, const SourceFigures& figures, std::uint32_t number) {
  if (columns.empty()) return {};
  const auto found = figures.lines.find(number);
  const bool counted = found != figures.lines.end();
  Html out;
  for (const std::size_t i : columns) {
    const LineColumn& column = line_columns()[i];
    out += counted && column.worth_a_look(found->second, figures.all) ? Html::figures("<span class=\"f f{} much\">", i) : Html::figures("<span class=\"f f{}\">", i);
    out += (counted ? Html::text(column.text(found->second, figures.all)) : Html()) + Html::raw("</span>");
  }
  return counted ? Html::element("span", "fs", out) : Html::element("span", "fs none", out);
}

Html heads(const std::vector<std::size_t>& columns) {
  Html cells;
  for (const std::size_t i : columns) cells += Html::element("span", "f", Html::text(line_columns()[i].head));
  return columns.empty() ? Html() : Html::element("div", "l heads", Html::element("span", "n", Html::raw("line")) + Html::element("span", "fs", cells));
}

Html legend(const std::vector<std::size_t>& columns, bool sampled) {
  if (columns.empty()) return {};
  std::string text;
  for (const std::size_t i : columns) text += std::string(text.empty() ? "" : "; ") + line_columns()[i].head + ": " + line_columns()[i].meaning;
  return Html::element("p", "sub", Html::text("Counted at the largest measure size" + std::string(sampled ? ", on sampled blocks" : "") + ", all kernels together. " + text + ". What a contract would ask about is marked."));
}

}  // namespace

Html annotated_source(std::string_view source, const std::vector<Finding>& findings, const SourceFigures& figures) {
  std::multimap<std::uint32_t, const Finding*> by_line;
  std::set<std::uint32_t> worth_showing;
  for (const Finding& f : findings)
    if (f.line > 0) by_line.emplace(f.line, &f), worth_showing.insert(f.line);
  for (const auto& [line, metrics] : figures.lines) worth_showing.insert(line);
  const auto lines = split_lines(source);
  const auto columns = telling_columns(figures);
  Html out = heads(columns);
  std::size_t expected = 0;
  for (const std::size_t i : shown_lines(lines.size(), worth_showing)) {
    if (i != expected) out += Html::element("div", "gap", Html::raw("..."));
    expected = i + 1;
    const auto number = static_cast<std::uint32_t>(i + 1);
    const auto [first, last] = by_line.equal_range(number);
    const Html content = Html::figures("<span class=\"n\">{}</span>", number) + Html::element("span", "c", Html::text(lines[i].substr(0, kMaxLineBytes))) + figure_cells(columns, figures, number);
    out += first == last ? Html::element("div", "l", content) : Html::element("div", "l hit", content);
    for (auto note = first; note != last; ++note) out += note_of(*note->second);
  }
  return out.empty() ? out : legend(columns, figures.sampled) + Html::element("div", "code", out);
}

}  // namespace kforge::report
