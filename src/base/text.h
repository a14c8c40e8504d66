// Small text tools: splitting, strict numbers, the nearest known word, units for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kforge {

// Pieces between separators; empty pieces are kept: "a,,b" has three, "" has one (empty).
std::vector<std::string_view> split(std::string_view text, char separator);
// Pieces between runs of white space; no empty pieces.
std::vector<std::string_view> split_words(std::string_view text);
// Lines without their "\n" or "\r\n"; a final newline does not begin another line.
std::vector<std::string_view> split_lines(std::string_view text);
std::string join(std::span<const std::string> pieces, std::string_view separator);

// Without white space (blank, tab, CR, LF, VT, FF) at both ends.
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);  // ASCII only
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// The whole text must be one number: no white space, no rest, no overflow, no leading '+'.
// Integers are decimal; parse_integer and parse_unsigned take "0x" as well. Doubles take everything
// that std::from_chars takes, "inf" and "nan" included.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);
// The word of `known` that was most likely meant, for "did you mean"; nothing when none is near
// (more than a third of the word's length, at least 1, at most 3 edits; letter case does not count).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);
std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known);

std::string human_bytes(double bytes);      // "512 B", "1.5 KiB", "80.0 GiB"
std::string human_count(double count);      // "999", "1.2 k", "3.0 M", "2.1 G", "4.0 T"
std::string human_seconds(double seconds);  // "850 ns", "12.3 us", "4.0 ms", "1.25 s", "3 min 20 s"

}  // namespace kforge
