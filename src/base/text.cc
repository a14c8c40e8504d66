#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace kforge {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

template <class... Args>
std::string print(const char* format, Args... args) {
  std::array<char, 64> buffer;
  const int n = std::snprintf(buffer.data(), buffer.size(), format, args...);
  return {buffer.data(), static_cast<std::size_t>(n)};
}

// A unit is chosen so that the rounded number stays below the next one: 1023.99 KiB is 1.0 MiB.
std::string scaled(double value, double step, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= step - 0.05 * (unit > 0)) {
    value /= step;
    ++unit;
  }
  if (unit == 0) return print("%.0f%s", value, units[0]);
  return print("%.1f%s", value, units[unit]);
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || text.empty()) return std::nullopt;
  return value;
}

template <class Word>
std::optional<std::string> nearest_of(std::string_view word, std::span<const Word> known) {
  const std::string wanted = to_lower(word);
  const int allowed = std::clamp(static_cast<int>(word.size()) / 3, 1, 3);
  int best = allowed + 1;
  std::optional<std::string> found;
  for (const Word& candidate : known) {
    const int distance = edit_distance(wanted, to_lower(candidate));
    if (distance >= best) continue;
    best = distance;
    found = std::string(candidate);
  }
  return found;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kWhiteSpace); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kWhiteSpace, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kWhiteSpace, end);
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t at = text.find('\n');
    std::string_view line = text.substr(0, at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return lines;
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += separator;
    text += pieces[i];
  }
  return text;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  for (std::size_t at; (at = text.find(from)) != std::string_view::npos; text.remove_prefix(at + from.size())) {
    result += text.substr(0, at);
    result += to;
  }
  return result += text;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return parse_number<std::uint64_t>(text);
  const char* end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data() + 2, end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto magnitude = parse_unsigned(text.substr(negative ? 1 : 0));
  const std::uint64_t limit = (1ull << 63) - (negative ? 0 : 1);
  if (!magnitude || *magnitude > limit) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::optional<double> parse_double(std::string_view text) { return parse_number<double>(text); }

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the Damerau-Levenshtein table (optimal string alignment).
  std::vector<int> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  return nearest_of(word, known);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known) {
  return nearest_of(word, known);
}

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  return scaled(bytes, 1024, kUnits);
}

std::string human_count(double count) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  return scaled(count, 1000, kUnits);
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-6) return print("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return print("%.1f us", seconds * 1e6);
  if (seconds < 1) return print("%.1f ms", seconds * 1e3);
  if (seconds < 60) return print("%.2f s", seconds);
  const double whole = std::round(seconds);
  return print("%.0f min %.0f s", std::floor(whole / 60), std::fmod(whole, 60));
}

}  // namespace kforge
