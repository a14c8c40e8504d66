// Writes the few x86-64 instructions that segment_code.cc needs: VEX-coded operations on 256-bit registers and EVEX-coded ones on
// 512-bit registers with operands in memory, calls and jumps. Encodings: Intel's Software Developer's Manual, volume 2, chapters 2.3
// (VEX) and 2.7 (EVEX) and the operations' pages.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace kforge::emulator {

enum class Gpr : std::uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };
using Ymm = std::uint8_t;   // 0..15
using Zmm = std::uint8_t;   // 0..31
using Mask = std::uint8_t;  // k1..k7

// A place in memory: a base register (not rsp, not r12) and a distance.
struct Place { Gpr base = Gpr::rbx; std::int32_t offset = 0; };

// One VEX operation: prefix (0 none, 1 66, 2 F3, 3 F2), map (1 0F, 2 0F38, 3 0F3A), W, opcode.
struct VexOp {
  std::uint8_t prefix, map, wide, opcode;
  bool operator==(const VexOp&) const = default;
};

namespace vex {
inline constexpr VexOp kLoad{0, 1, 0, 0x10}, kStore{0, 1, 0, 0x11};                       // vmovups
inline constexpr VexOp kAddPs{0, 1, 0, 0x58}, kMulPs{0, 1, 0, 0x59}, kSubPs{0, 1, 0, 0x5c}, kOrPs{0, 1, 0, 0x56}, kCmpPs{0, 1, 0, 0xc2};
inline constexpr VexOp kAddPd{1, 1, 0, 0x58}, kMulPd{1, 1, 0, 0x59}, kSubPd{1, 1, 0, 0x5c}, kCmpPd{1, 1, 0, 0xc2};
inline constexpr VexOp kFma213Ps{1, 2, 0, 0xa8}, kFma213Pd{1, 2, 1, 0xa8};                 // reg = vvvv * reg + rm
inline constexpr VexOp kMaskPs{0, 1, 0, 0x50};                                            // vmovmskps
inline constexpr VexOp kAdd32{1, 1, 0, 0xfe}, kAdd64{1, 1, 0, 0xd4}, kSub32{1, 1, 0, 0xfa}, kSub64{1, 1, 0, 0xfb};
inline constexpr VexOp kMul32{1, 2, 0, 0x40}, kMulWideSigned{1, 2, 0, 0x28}, kMulWideUnsigned{1, 1, 0, 0xf4};
inline constexpr VexOp kAnd{1, 1, 0, 0xdb}, kOr{1, 1, 0, 0xeb}, kXor{1, 1, 0, 0xef}, kEqual32{1, 1, 0, 0x76};
inline constexpr VexOp kMinSigned{1, 2, 0, 0x39}, kMaxSigned{1, 2, 0, 0x3d}, kMinUnsigned{1, 2, 0, 0x3b}, kMaxUnsigned{1, 2, 0, 0x3f};
inline constexpr VexOp kShiftLeft32{1, 2, 0, 0x47}, kShiftRight32{1, 2, 0, 0x45}, kShiftRightSigned32{1, 2, 0, 0x46};
inline constexpr VexOp kShiftLeft64{1, 2, 1, 0x47}, kShiftRight64{1, 2, 1, 0x45};
inline constexpr VexOp kWidenSigned{1, 2, 0, 0x25}, kWidenUnsigned{1, 2, 0, 0x35};        // vpmovsxdq, vpmovzxdq
inline constexpr VexOp kTernary32{1, 3, 0, 0x25};                                         // vpternlogd, EVEX only
}  // namespace vex

class X86Writer {
 public:
  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  // reg = op(vvvv, memory); for loads and stores vvvv is not used.
  void vector(VexOp op, Ymm reg, Ymm vvvv, Place memory) {
    head(op, reg, vvvv, static_cast<std::uint8_t>(memory.base));
    modrm_memory(reg, memory);
  }
  void vector(VexOp op, Ymm reg, Ymm vvvv, Ymm rm) {
    head(op, reg, vvvv, rm);
    byte(0xc0 | (reg & 7) << 3 | (rm & 7));
  }
  void compare_unordered(VexOp op, Ymm reg, Ymm a, Ymm b) {
    vector(op, reg, a, b);
    byte(3);   // UNORD_Q
  }
  void load(Ymm reg, Place from) { vector(vex::kLoad, reg, 0, from); }
  void store(Ymm reg, Place to) { vector(vex::kStore, reg, 0, to); }

  // ---- 512-bit registers: `wide_lanes` of 64 bits, where there is an operation for each width --------------------------
  void vector512(VexOp op, bool wide_lanes, Zmm reg, Zmm vvvv, Place memory) {
    head512(op, wide_lanes, reg, vvvv, static_cast<std::uint8_t>(memory.base));
    modrm_memory(reg, memory);
  }
  void vector512(VexOp op, bool wide_lanes, Zmm reg, Zmm vvvv, Zmm rm) {
    head512(op, wide_lanes, reg, vvvv, rm);
    byte(0xc0 | (reg & 7) << 3 | (rm & 7));
  }
  void load512(Zmm reg, Place from) { vector512(vex::kLoad, false, reg, 0, from); }
  void store512(Zmm reg, Place to) { vector512(vex::kStore, false, reg, 0, to); }
  void complement512(Zmm reg, Place from) { vector512(vex::kTernary32, false, reg, reg, from), byte(0x55); }   // of the third operand
  void compare_unordered512(VexOp op, bool wide_lanes, Mask to, Zmm a, Zmm b) {
    vector512(op, wide_lanes, to, a, b);
    byte(3);   // UNORD_Q
  }
  void test_masks(Mask a, Mask b) { put({0xc5, 0xf8, 0x98, static_cast<std::uint8_t>(0xc0 | a << 3 | b)}); }   // kortestw: zero flag set when both are 0

  void raw(std::initializer_list<std::uint8_t> values) { put(values); }
  void raw32(std::uint32_t value) { number(value); }
  void clear_upper_halves() { put({0xc5, 0xf8, 0x77}); }   // vzeroupper

  // ---- general registers -------------------------------------------------------------------------------------------
  void push(Gpr r) {
    if (r >= Gpr::r8) byte(0x41);
    byte(0x50 | low(r));
  }
  void pop(Gpr r) {
    if (r >= Gpr::r8) byte(0x41);
    byte(0x58 | low(r));
  }
  void move(Gpr to, Gpr from) { rex(from, to), byte(0x89), byte(0xc0 | low(from) << 3 | low(to)); }
  void set(Gpr to, std::uint64_t value) {
    byte(to >= Gpr::r8 ? 0x49 : 0x48), byte(0xb8 | low(to));
    number(value);
  }
  void address(Gpr to, Place place) { memory64(0x8d, to, place.base, place.offset); }               // lea
  void set32(Gpr to, std::uint32_t value) { byte(0xb8 | low(to)), number(value); }                  // below r8
  void load64(Gpr to, Gpr base, std::int32_t offset) { memory64(0x8b, to, base, offset); }
  void store64(Gpr base, std::int32_t offset, Gpr from) { memory64(0x89, from, base, offset); }
  void add64(Gpr base, std::int32_t offset, Gpr from) { memory64(0x01, from, base, offset); }
  void and32(Gpr to, Gpr base, std::int32_t offset) { byte_rex32(to, base), byte(0x23), memory(to, base, offset); }
  void load32(Gpr to, Gpr base, std::int32_t offset) { byte_rex32(to, base), byte(0x8b), memory(to, base, offset); }
  void store_constant32(Gpr base, std::int32_t offset, std::uint32_t value) {
    byte_rex32(Gpr::rax, base), byte(0xc7), memory(Gpr::rax, base, offset), number(value);
  }
  void compare_byte_with_zero(Gpr base, std::int32_t offset) { byte_rex32(Gpr::rdi, base), byte(0x80), memory(Gpr::rdi, base, offset), byte(0); }
  void invert_eax() { put({0xf7, 0xd0}); }
  void test_eax() { put({0x85, 0xc0}); }
  void test_al() { put({0x84, 0xc0}); }
  void count_bits_of_eax(Gpr to) { byte(0xf3), byte(to >= Gpr::r8 ? 0x44 : 0x40), byte(0x0f), byte(0xb8), byte(0xc0 | low(to) << 3); }
  void reserve_stack(std::uint8_t bytes) { put({0x48, 0x83, 0xec, bytes}); }
  void free_stack(std::uint8_t bytes) { put({0x48, 0x83, 0xc4, bytes}); }
  std::size_t call() { return byte(0xe8), number(std::uint32_t{0}), size() - 4; }   // bound like a jump
  void call_at(Gpr base, std::int8_t offset) { put({0xff, static_cast<std::uint8_t>(0x50 | low(base)), static_cast<std::uint8_t>(offset)}); }   // below r8, not rsp
  void ret() { byte(0xc3); }

  // ---- jumps: return the place of the distance, which bind() fills in -----------------------------------------------
  std::size_t jump_if_not_zero() { return put({0x0f, 0x85}), number(std::uint32_t{0}), size() - 4; }
  std::size_t jump_if_zero() { return put({0x0f, 0x84}), number(std::uint32_t{0}), size() - 4; }
  std::size_t jump() { return byte(0xe9), number(std::uint32_t{0}), size() - 4; }
  void bind(std::size_t jump) { bind(jump, size()); }
  void bind(std::size_t jump, std::size_t target) {
    const auto distance = static_cast<std::int32_t>(target) - static_cast<std::int32_t>(jump) - 4;
    std::memcpy(&bytes_[jump], &distance, 4);
  }

 private:
  static std::uint8_t low(Gpr r) { return static_cast<std::uint8_t>(r) & 7; }
  void byte(std::uint32_t value) { bytes_.push_back(static_cast<std::uint8_t>(value)); }
  void put(std::initializer_list<std::uint8_t> values) { bytes_.insert(bytes_.end(), values); }
  template <class T>
  void number(T value) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  void rex(Gpr reg, Gpr rm) { byte(0x48 | (reg >= Gpr::r8 ? 4 : 0) | (rm >= Gpr::r8 ? 1 : 0)); }
  void byte_rex32(Gpr reg, Gpr rm) { byte(0x40 | (reg >= Gpr::r8 ? 4 : 0) | (rm >= Gpr::r8 ? 1 : 0)); }
  void memory64(std::uint8_t opcode, Gpr reg, Gpr base, std::int32_t offset) { rex(reg, base), byte(opcode), memory(reg, base, offset); }
  void memory(Gpr reg, Gpr base, std::int32_t offset) {
    byte(0x80 | low(reg) << 3 | low(base));
    if (low(base) == 4) byte(0x24);   // rsp, r12
    number(offset);
  }
  void head(VexOp op, Ymm reg, Ymm vvvv, std::uint8_t rm) {
    byte(0xc4);
    byte((reg < 8 ? 0x80u : 0u) | 0x40u | (rm < 8 ? 0x20u : 0u) | op.map);
    byte(std::uint32_t{op.wide} << 7 | (~std::uint32_t{vvvv} & 15) << 3 | 4u | op.prefix);
    byte(op.opcode);
  }
  // `rm`: a vector register, or a base register below r8.
  void head512(VexOp op, bool wide_lanes, Zmm reg, Zmm vvvv, std::uint8_t rm) {
    byte(0x62);
    byte(((reg & 8) == 0 ? 0x80u : 0u) | ((rm & 16) == 0 ? 0x40u : 0u) | ((rm & 8) == 0 ? 0x20u : 0u) | ((reg & 16) == 0 ? 0x10u : 0u) | op.map);
    byte((wide_lanes ? 0x80u : 0u) | (~std::uint32_t{vvvv} & 15) << 3 | 4u | op.prefix);
    byte(0x40u | ((vvvv & 16) == 0 ? 0x08u : 0u));
    byte(op.opcode);
  }
  void modrm_memory(Ymm reg, Place memory) {
    byte(0x80 | (reg & 7) << 3 | low(memory.base));
    number(memory.offset);
  }

  std::vector<std::uint8_t> bytes_;
};

}  // namespace kforge::emulator
