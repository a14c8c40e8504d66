#include "emulator/matrix_shape.h"

#include <algorithm>
#include <cctype>

namespace kforge::emulator {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "m16n8k16" somewhere in the text, after a dot or at its start.
MatrixShape find_shape(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != 'm' || !is_digit(text[i + 1]) || (i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])))) continue;
    std::uint32_t numbers[3] = {};
    std::size_t at = i;
    for (std::size_t part = 0; part < 3 && at < text.size() && text[at] == "mnk"[part]; ++part)
      for (++at; at < text.size() && is_digit(text[at]); ++at) numbers[part] = numbers[part] * 10 + static_cast<std::uint32_t>(text[at] - '0');
    if (numbers[2] != 0) return {numbers[0], numbers[1], numbers[2]};
  }
  return {};
}

// Rows of a tile, and how many tiles there are of A's and of B's.
std::uint32_t tile_rows(const MatrixShape& shape) { return std::min(shape.m, 16u); }

}  // namespace

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view head = text.substr(0, text.find('.'));
    if (head == word) return true;
    text.remove_prefix(std::min(head.size() + 1, text.size()));
  }
  return false;
}

MatrixShape matrix_shape(const ptx::Instruction& in) {
  const MatrixShape written = find_shape(in.mods.text);
  return written.k != 0 ? written : find_shape(ptx::instruction_table()[in.form].syntax);
}

std::uint32_t fragment_registers(Fragment which, const MatrixShape& shape, ptx::Type type) {
  const std::uint32_t elements = elements_per_register(type);
  if (which == Fragment::a) return shape.m * shape.k / (32 * elements);
  if (which == Fragment::b) return shape.k * shape.n / (32 * elements);
  return shape.m * shape.n / (32 * elements);
}

FragmentPlace fragment_place(Fragment which, const MatrixShape& shape, ptx::Type type, std::uint32_t reg, std::uint32_t lane) {
  const std::uint32_t g = lane / 4, t = lane % 4, elements = elements_per_register(type);
  const std::uint32_t halves = tile_rows(shape) / 8, chunks = shape.k / (4 * elements);
  if (which == Fragment::a) {
    const std::uint32_t tile = reg / (halves * chunks), j = reg % (halves * chunks);
    return {16 * tile + g + 8 * (j % halves), t * elements + 4 * elements * (j / halves)};
  }
  if (which == Fragment::b) return {t * elements + 4 * elements * (reg % chunks), g + 8 * (reg / chunks)};
  const std::uint32_t per_row = 2 / elements, per_tile = halves * per_row;   // registers
  const std::uint32_t tile = reg / per_tile, j = reg % per_tile, across = shape.n / 8;
  return {16 * (tile / across) + g + 8 * (j / per_row), 8 * (tile % across) + 2 * t + j % per_row};
}

}  // namespace kforge::emulator
