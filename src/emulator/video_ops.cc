#include "emulator/video_ops.h"

#include <algorithm>

#include "emulator/warp.h"

namespace kforge::emulator {
namespace {

__extension__ typedef __int128 Wide;   // products and shifted values of 33-bit operands

Wide low_bits(std::uint32_t value, std::uint32_t bits, bool is_signed) {
  const std::uint32_t shift = 32 - bits;
  return is_signed ? Wide{static_cast<std::int32_t>(value << shift) >> shift} : Wide{(value << shift) >> shift};
}

Wide scalar_part(std::uint32_t value, std::uint32_t part, bool is_signed) {
  if (part == 0) return low_bits(value, 32, is_signed);
  return part <= 4 ? low_bits(value >> 8 * (part - 1), 8, is_signed) : low_bits(value >> 16 * (part - 5), 16, is_signed);
}

std::uint32_t part_bits(std::uint32_t part) { return part == 0 ? 32 : part <= 4 ? 8 : 16; }

Wide clamped(Wide x, std::uint32_t bits, bool is_signed) {
  const Wide one = 1;
  return is_signed ? std::clamp(x, -(one << (bits - 1)), (one << (bits - 1)) - 1) : std::clamp(x, Wide{0}, (one << bits) - 1);
}

bool holds(ptx::Compare compare, Wide a, Wide b) {
  using C = ptx::Compare;
  switch (compare) {
    case C::eq: return a == b;
    case C::ne: return a != b;
    case C::lt: return a < b;
    case C::le: return a <= b;
    case C::gt: return a > b;
    default: return a >= b;
  }
}

Wide computed(const VideoMode& m, Wide a, Wide b) {
  const std::uint32_t amount = m.wraps != 0 ? static_cast<std::uint32_t>(b) & 31 : static_cast<std::uint32_t>(std::min<Wide>(b, 32));
  switch (static_cast<VideoKind>(m.kind)) {
    case VideoKind::add: return a + b;
    case VideoKind::sub: return a - b;
    case VideoKind::absdiff: return a < b ? b - a : a - b;
    case VideoKind::min: return std::min(a, b);
    case VideoKind::max: return std::max(a, b);
    case VideoKind::shl: return a * (Wide{1} << amount);
    case VideoKind::shr: return a >> amount;
    case VideoKind::average: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case VideoKind::set: return holds(static_cast<ptx::Compare>(m.compare), a, b) ? 1 : 0;
    case VideoKind::mad: break;
  }
  return a * b;
}

std::uint32_t mad(const VideoMode& m, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const bool is_signed = m.a_signed != 0 || m.b_signed != 0;
  Wide x = scalar_part(a, m.a_parts, m.a_signed != 0) * scalar_part(b, m.b_parts, m.b_signed != 0) + low_bits(c, 32, is_signed) + m.plus_one;
  x >>= m.shift;
  return static_cast<std::uint32_t>(m.saturates != 0 ? clamped(x, 32, is_signed) : x);
}

Wide with_second(const VideoMode& m, Wide x, Wide c) {
  switch (static_cast<ptx::AtomOp>(m.second)) {
    case ptx::AtomOp::add: return x + c;
    case ptx::AtomOp::min: return std::min(x, c);
    case ptx::AtomOp::max: return std::max(x, c);
    default: return x;
  }
}

std::uint32_t scalar(const VideoMode& m, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (static_cast<VideoKind>(m.kind) == VideoKind::mad) return mad(m, a, b, c);
  Wide x = computed(m, scalar_part(a, m.a_parts, m.a_signed != 0), scalar_part(b, m.b_parts, m.b_signed != 0));
  const std::uint32_t bits = part_bits(m.d_part);
  if (m.saturates != 0) x = clamped(x, bits, m.d_signed != 0);
  if (m.second != 0) return static_cast<std::uint32_t>(with_second(m, x, low_bits(c, 32, m.d_signed != 0)));
  if (m.d_part == 0) return static_cast<std::uint32_t>(x);
  const std::uint32_t at = bits == 8 ? 8 * (m.d_part - 1) : 16 * (m.d_part - 5), mask = ((1u << bits) - 1) << at;
  return ((static_cast<std::uint32_t>(x) << at) & mask) | (c & ~mask);
}

std::uint32_t several(const VideoMode& m, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t lanes = m.lanes, bits = 32 / lanes, width = lanes == 2 ? 2 : 3;
  const std::uint64_t both = a | static_cast<std::uint64_t>(b) << 32;
  const auto source = [&](std::uint32_t parts, std::uint32_t i, bool is_signed) {
    const std::uint32_t which = parts >> width * i & ((1u << width) - 1);
    return low_bits(static_cast<std::uint32_t>(both >> bits * which), bits, is_signed);
  };
  std::uint32_t d = m.second != 0 ? c : 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    Wide x = computed(m, source(m.a_parts, i, m.a_signed != 0), source(m.b_parts, i, m.b_signed != 0));
    if (m.saturates != 0) x = clamped(x, bits, m.d_signed != 0);
    const bool chosen = (m.d_part >> i & 1) != 0;
    const std::uint32_t mask = (1u << bits) - 1, here = static_cast<std::uint32_t>(x) & mask;
    if (m.second != 0) d += chosen ? static_cast<std::uint32_t>(x) : 0;
    else d |= (chosen ? here : c >> bits * i & mask) << bits * i;
  }
  return d;
}

// c + the sum of |a - b| over the four unsigned bytes: what images are compared with.
bool sums_byte_differences(const VideoMode& m) {
  constexpr std::uint32_t kFirstFour = 0 | 1 << 3 | 2 << 6 | 3 << 9, kLastFour = 4 | 5 << 3 | 6 << 6 | 7 << 9;
  return m.lanes == 4 && static_cast<VideoKind>(m.kind) == VideoKind::absdiff && m.saturates == 0 && m.a_signed == 0 && m.b_signed == 0 && m.has_c != 0 &&
         static_cast<ptx::AtomOp>(m.second) == ptx::AtomOp::add && m.d_part == 15 && m.a_parts == kFirstFour && m.b_parts == kLastFour;
}

std::uint32_t byte_differences(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t at = 0; at < 32; at += 8) {
    const std::uint32_t x = a >> at & 0xff, y = b >> at & 0xff;
    sum += x > y ? x - y : y - x;
  }
  return sum;
}

Flow run_video(Warp& w, const Op& op, std::uint32_t mask) {
  const auto m = std::bit_cast<VideoMode>(op.immediate);
  if (sums_byte_differences(m)) {
    for_lanes(mask, [&](std::uint32_t i) {
      put<std::uint32_t>(w.at(op.r[0]), i, get<std::uint32_t>(w.at(op.r[3]), i) + byte_differences(get<std::uint32_t>(w.at(op.r[1]), i), get<std::uint32_t>(w.at(op.r[2]), i)));
    });
    return Flow::next;
  }
  for_lanes(mask, [&](std::uint32_t i) {
    const auto a = get<std::uint32_t>(w.at(op.r[1]), i), b = get<std::uint32_t>(w.at(op.r[2]), i);
    const std::uint32_t c = m.has_c != 0 ? get<std::uint32_t>(w.at(op.r[3]), i) : 0;
    put<std::uint32_t>(w.at(op.r[0]), i, m.lanes == 1 ? scalar(m, a, b, c) : several(m, a, b, c));
  });
  return Flow::next;
}

// "b0" to "b3": 1 to 4, "h0", "h1": 5, 6; empty: 0.
std::uint32_t scalar_selector(std::string_view text) {
  if (text.size() != 2) return 0;
  return static_cast<std::uint32_t>(text[1] - '0') + (text[0] == 'b' ? 1 : 5);
}

// "h32", "b7654": sources of the parts, the last digit that of the lowest.
std::uint32_t several_selector(std::string_view text, std::uint32_t lanes, std::uint32_t first) {
  std::uint32_t parts = 0;
  const std::uint32_t width = lanes == 2 ? 2 : 3;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const std::uint32_t which = text.size() == lanes + 1 ? static_cast<std::uint32_t>(text[lanes - i] - '0') : first + i;
    parts |= (which & ((1u << width) - 1)) << width * i;
  }
  return parts;
}

std::uint32_t written_parts(std::string_view text, std::uint32_t lanes) {
  if (text.empty()) return (1u << lanes) - 1;
  std::uint32_t mask = 0;
  for (const char c : text.substr(1)) mask |= 1u << ((c - '0') & 3);
  return mask;
}

constexpr std::string_view kNames[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset", "vavrg"};

}  // namespace

VideoMode video_mode(const ptx::Instruction& in) {
  VideoMode m;
  std::string_view opcode = ptx::instruction_table()[in.form].opcode;
  if (opcode.ends_with('2') || opcode.ends_with('4')) {
    m.lanes = static_cast<std::uint64_t>(opcode.back() - '0') & 7;
    opcode.remove_suffix(1);
  }
  m.kind = static_cast<std::uint64_t>(std::find(std::begin(kNames), std::end(kNames), opcode) - std::begin(kNames)) & 15;
  const bool is_set = static_cast<VideoKind>(m.kind) == VideoKind::set;
  m.saturates = in.mods.sat ? 1 : 0;
  m.d_signed = !is_set && ptx::is_signed(in.type) ? 1 : 0;
  m.a_signed = ptx::is_signed(is_set ? in.type : in.type2) ? 1 : 0;
  m.b_signed = ptx::is_signed(is_set ? in.type2 : in.type3) ? 1 : 0;
  m.wraps = in.mods.overflow == ptx::Overflow::wrap ? 1 : 0;
  m.plus_one = in.mods.text.find("po") != std::string::npos ? 1 : 0;
  m.shift = in.mods.text.find("shr7") != std::string::npos ? 7 : in.mods.text.find("shr15") != std::string::npos ? 15 : 0;
  m.second = static_cast<std::uint64_t>(in.mods.atom_op) & 15;
  m.compare = static_cast<std::uint64_t>(in.mods.compare) & 31;
  m.has_c = in.operands.size() > 3 ? 1 : 0;
  const auto text = [&](std::size_t k) { return std::string_view(in.operands[k].text); };
  if (m.lanes == 1) {
    m.d_part = scalar_selector(text(0)) & 15;
    m.a_parts = scalar_selector(text(1)) & 15;
    m.b_parts = scalar_selector(text(2)) & 15;
  } else {
    m.d_part = written_parts(text(0), m.lanes) & 15;
    m.a_parts = several_selector(text(1), m.lanes, 0) & 0xfff;
    m.b_parts = several_selector(text(2), m.lanes, m.lanes) & 0xfff;
  }
  return m;
}

Handler video_handler() { return &run_video; }

}  // namespace kforge::emulator
