#include "report/excerpt.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace kforge::report {
namespace {

constexpr std::uint32_t kContextLines = 2;
constexpr std::size_t kMaxLines = 200'000;      // a longer file shows no excerpt beyond this line
constexpr std::size_t kMaxWidth = 160;

// Columns count characters of the file; what is printed has tabs widened.
std::size_t printed_column(const std::string& line, std::uint32_t column) {
  std::size_t end = column == 0 ? line.find_first_not_of(" \t") : column - 1;
  if (end == std::string::npos || end > line.size()) end = 0;
  return printable(std::string_view(line).substr(0, end)).size();
}

}  // namespace

const std::vector<std::string>& SourceFiles::lines(const std::string& file) {
  const auto [entry, fresh] = files_.try_emplace(file);
  if (!fresh) return entry->second;
  std::ifstream in(file);
  for (std::string line; entry->second.size() < kMaxLines && std::getline(in, line);) entry->second.push_back(std::move(line));
  return entry->second;
}

std::string SourceFiles::excerpt(const std::string& file, std::uint32_t line, std::uint32_t column, const Painter& paint) {
  const std::vector<std::string>& text = lines(file);
  if (line == 0 || line > text.size()) return {};
  std::string out;
  for (std::uint32_t i = line > kContextLines ? line - kContextLines : 1; i <= line; ++i) {
    const std::string shown = printable(text[i - 1]).substr(0, kMaxWidth);
    out += fmt::format("{} {}\n", paint(Colour::dim, fmt::format("{:>6} |", i)), i == line ? paint(Colour::bold, shown) : shown);
  }
  const std::size_t caret = printed_column(text[line - 1], column);
  if (caret < kMaxWidth) out += fmt::format("{} {}{}\n", paint(Colour::dim, "       |"), std::string(caret, ' '), paint(Colour::red, "^"));
  return out;
}

}  // namespace kforge::report
