// Differences as a terminal shows them.
#include <algorithm>

#include <fmt/format.h>

#include "kforge/report.h"
#include "report/difference.h"
#include "report/style.h"

namespace kforge {

std::string difference_text(std::string_view before, std::string_view after, bool colour) {
  const report::Painter paint(colour);
  const report::Difference found = report::difference(before, after);
  if (found.too_large) return "too long to be compared\n";
  std::string out;
  for (const report::Hunk& hunk : found.hunks) {
    if (hunk.lines.empty()) continue;
    out += paint(report::Colour::dim, fmt::format("@@ line {}", std::max(hunk.lines.front().before, hunk.lines.front().after))) + "\n";
    for (const report::DiffLine& line : hunk.lines) {
      const std::string text = fmt::format("{} {}", line.kind, report::printable(line.text));
      out += (line.kind == '+' ? paint(report::Colour::green, text) : line.kind == '-' ? paint(report::Colour::red, text) : text) + "\n";
    }
  }
  return out;
}

}  // namespace kforge
