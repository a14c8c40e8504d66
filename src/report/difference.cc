#include "report/difference.h"

#include <algorithm>

#include <dtl/dtl.hpp>

#include "base/text.h"

namespace kforge::report {
namespace {

constexpr std::size_t kMaxLines = 4000;   // the difference costs lines times changes

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) lines.emplace_back(line);
  return lines;
}

std::vector<DiffLine> all_lines(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  dtl::Diff<std::string, std::vector<std::string>> diff(before, after);
  diff.onHuge();
  diff.compose();
  std::vector<DiffLine> out;
  for (const auto& [text, info] : diff.getSes().getSequence()) {
    DiffLine line;
    line.kind = info.type == dtl::SES_ADD ? '+' : info.type == dtl::SES_DELETE ? '-' : ' ';
    line.before = line.kind == '+' ? 0 : static_cast<int>(info.beforeIdx);
    line.after = line.kind == '-' ? 0 : static_cast<int>(info.afterIdx);
    line.text = text;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

Difference difference(std::string_view before, std::string_view after, int context) {
  Difference out;
  const auto a = lines_of(before), b = lines_of(after);
  if (a.size() > kMaxLines || b.size() > kMaxLines) {
    out.too_large = true;
    return out;
  }
  const std::vector<DiffLine> lines = all_lines(a, b);
  const auto size = static_cast<int>(lines.size());
  int shown = 0;                                     // lines before this index are in a hunk or left out
  bool open = false;                                 // the last hunk reaches to `shown`
  for (int i = 0; i < size; ++i) {
    if (lines[static_cast<std::size_t>(i)].kind == ' ') continue;
    (lines[static_cast<std::size_t>(i)].kind == '+' ? out.added : out.removed) += 1;
    const int begin = std::max(0, i - context), end = std::min(size, i + context + 1);
    if (!open || begin > shown) out.hunks.emplace_back();
    for (int j = std::max(begin, open ? shown : 0); j < end; ++j) out.hunks.back().lines.push_back(lines[static_cast<std::size_t>(j)]);
    shown = std::max(shown, end);
    open = true;
  }
  return out;
}

}  // namespace kforge::report
