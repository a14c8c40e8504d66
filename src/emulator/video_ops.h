// Video instructions: arithmetic on parts of registers (PTX manual, 9.7.18). decode.cc fills in r[0..3] as d, a, b, c and
// VideoMode as the immediate.
#pragma once

#include <bit>

#include "emulator/code.h"

namespace kforge::emulator {

enum class VideoKind : std::uint8_t { add, sub, absdiff, min, max, shl, shr, mad, set, average };

struct VideoMode {
  std::uint64_t kind : 4 = 0;
  std::uint64_t lanes : 3 = 1;      // parts that are computed: 1, 2 (half-words) or 4 (bytes)
  std::uint64_t saturates : 1 = 0;
  std::uint64_t d_signed : 1 = 0, a_signed : 1 = 0, b_signed : 1 = 0;
  std::uint64_t wraps : 1 = 0;      // vshl, vshr
  std::uint64_t plus_one : 1 = 0;   // vmad.po
  std::uint64_t shift : 4 = 0;      // vmad.shr7, .shr15
  std::uint64_t second : 4 = 0;     // AtomOp: add, min, max; 0: none
  std::uint64_t compare : 5 = 0;    // Compare of vset
  std::uint64_t has_c : 1 = 0;
  // One lane: 0 the whole register, 1 to 4 a byte, 5 and 6 a half-word. Else d_part is the mask of the parts that are written, and
  // a_parts, b_parts hold for each part, low ones first, its source (2 or 3 bits: parts of a, then parts of b).
  std::uint64_t d_part : 4 = 0, a_parts : 12 = 0, b_parts : 12 = 0;
  std::uint64_t unused : 9 = 0;
};
static_assert(sizeof(VideoMode) == sizeof(std::int64_t));
VideoMode video_mode(const ptx::Instruction& instruction);
Handler video_handler();

}  // namespace kforge::emulator
