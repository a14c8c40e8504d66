// Which bytes were ever written: the shadow behind safety.uninitialised.
//
// Three places hold bytes. *Memory* (shared windows, local frames, fresh global allocations) has one bit a byte, set when
// the byte was written. *Registers* have one bit a byte a lane, and only while a warp holds an undefined byte at all: the
// executor runs its plain variant until a load reads an unwritten byte (`all_written` is false), then switches the warp to
// the variant that carries a WarpShadow, and back when `WarpShadow::any()` is false. What is undefined is no fault in
// itself; it becomes one where it *decides*: an address, a branch, or an output (contracts.md). The finding's line is that
// of the load that first read the unwritten bytes: its *origin*, which travels with the bytes through registers and memory.
//
// Storing undefined bytes. Shared, local: the bytes become unwritten again, with their origin (mark_stored). Global:
// the same, and if the host (or the output check) later reads such a byte, that is the use `output`: ask
// `first_undefined_output`. Bytes that nobody ever stored have no origin: for outputs they are launch.coverage's matter.
// Atomics on undefined memory or with undefined operands: the result and the memory become undefined (mark_stored). A copy between device buffers carries bits and origins: copy_shadow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/memory.h"
#include "emulator/request.h"
#include "evidence/source.h"

namespace kforge::emulator {

// ---- origins -------------------------------------------------------------------------------------------------------

// Index into an OriginTable; 0 is "none known".
using OriginId = std::uint32_t;

// register_file: of a register that was never written; `location` is then that of the store. in_flight: shared memory that an asynchronous copy had not reached yet. That is reported where it is read (safety.async),
// and so is accumulator: a register that wgmma may still be writing.
enum class ShadowSpace : std::uint8_t { shared, local, global, parameter, in_flight, register_file, accumulator };
std::string_view name(ShadowSpace space);  // "shared memory", ...


struct Origin {
  std::uint32_t location = 0;   // of the load that first read the unwritten bytes (index into Module::locations)
  ShadowSpace space = ShadowSpace::global;
  std::uint64_t address = 0;    // first unwritten byte: shared, local: offset in the window or frame; global: device address
  std::uint32_t block = 0;      // linear block index
  std::uint32_t thread = 0;     // linear thread index in the block
  evidence::SourcePosition where{};   // of `location`: undefined bytes in global memory outlive launch and module
  std::string kernel{};         // that ran the load
};

// "unwritten byte at offset 12 of shared memory"
std::string describe(const Origin& origin);

// One entry per (launched kernel, location, space): the first occurrence is described, as in evidence::Violation. Ids stay
// valid for good.
class OriginTable {
 public:
  void begin_kernel(const void* kernel);   // locations are of this kernel's module from now on
  OriginId find(std::uint32_t location, ShadowSpace space) const;   // 0: none yet
  OriginId add(const Origin& origin);
  bool empty() const { return origins_.size() == 1; }
  const Origin& operator[](OriginId id) const { return origins_[id]; }

 private:
  const void* kernel_ = nullptr;
  std::vector<Origin> origins_{Origin{}};
  std::unordered_map<std::uint64_t, OriginId> by_site_;
};

// What an undefined value decided.
enum class UndefinedUse : std::uint8_t { address, branch, output, shuffle_lane };
std::string_view name(UndefinedUse use);  // the words of the message: "decides an address", ...

// ---- registers -----------------------------------------------------------------------------------------------------

// The undefined bytes of one register of one warp: lanes[b] has a bit set for each lane whose byte b is undefined.
// Registers narrower than 8 bytes use the low planes only; a predicate uses plane 0; a b128 register is two of these.
struct UndefinedBytes {
  std::array<std::uint32_t, 8> lanes{};
  OriginId origin = 0;          // of the first undefined byte that came here

  std::uint32_t any() const {   // lanes with at least one undefined byte
    return lanes[0] | lanes[1] | lanes[2] | lanes[3] | lanes[4] | lanes[5] | lanes[6] | lanes[7];
  }
  bool operator==(const UndefinedBytes&) const = default;
};

// One warp's registers. Sized at the switch to the shadowed variant, dropped at the switch back.
class WarpShadow {
 public:
  explicit WarpShadow(std::size_t registers) : registers_(registers) {}
  const UndefinedBytes& operator[](std::size_t index) const { return registers_[index]; }
  // Replaces the planes in the lanes of `mask`; the others keep theirs.
  void assign(std::size_t index, const UndefinedBytes& value, std::uint32_t mask);
  // True while any register holds an undefined byte. O(1).
  bool any() const { return undefined_registers_ != 0; }
  std::size_t size() const { return registers_.size(); }

 private:
  std::vector<UndefinedBytes> registers_;
  std::size_t undefined_registers_ = 0;
};

// A source operand as the rules see it: its undefined bytes, and (for the rules that look at values) its values.
struct ShadowOperand {
  const UndefinedBytes* undefined = nullptr;       // null: immediate, parameter, special register: all defined
  const std::uint64_t* values = nullptr;           // 32 lanes, zero-extended; null: not needed by the rule
};

// The rules. `bytes` is the width of the result; results are meaningful in the executing lanes only, and the executor
// assigns them under its mask. Everything without a rule of its own uses propagate_all.
UndefinedBytes propagate_all(std::span<const ShadowOperand> sources, std::uint32_t bytes);  // any byte makes all undefined
UndefinedBytes propagate_move(const ShadowOperand& source, std::uint32_t source_bytes, std::uint32_t bytes);  // mov, zero-extending cvt, truncation
UndefinedBytes propagate_sign_extend(const ShadowOperand& source, std::uint32_t source_bytes, std::uint32_t bytes);
UndefinedBytes propagate_and(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t bytes);  // a defined 0 byte defines
UndefinedBytes propagate_or(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t bytes);   // a defined 0xff byte defines
UndefinedBytes propagate_bytewise(std::span<const ShadowOperand> sources, std::uint32_t bytes);   // xor, not, lop3: byte by byte
// Shifts by an amount that is equal in all lanes (the caller uses propagate_all otherwise, or when the amount is undefined).
UndefinedBytes propagate_shift_left(const ShadowOperand& a, std::uint32_t amount, std::uint32_t bytes);
UndefinedBytes propagate_shift_right(const ShadowOperand& a, std::uint32_t amount, bool arithmetic, std::uint32_t bytes);
// `chosen`: lanes that take `a`. An undefined predicate makes those lanes undefined as a whole.
UndefinedBytes propagate_select(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t chosen,
                                const UndefinedBytes* predicate, std::uint32_t bytes);
// mov.b64 d, {a, b}: element i is put at byte i * element_bytes. And its inverse: element `index` of `whole`.
UndefinedBytes propagate_pack(std::span<const ShadowOperand> elements, std::uint32_t element_bytes);
UndefinedBytes propagate_unpack(const ShadowOperand& whole, std::uint32_t index, std::uint32_t element_bytes);
// prmt with a selector equal in all lanes: result byte i is byte (selector >> 4 i) & 7 of {a, b}; sign mode smears byte 7 bits.
UndefinedBytes propagate_permute(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t selector);
// shfl: lane i receives the planes of lane source[i].
UndefinedBytes propagate_shuffle(const ShadowOperand& a, const std::array<std::uint8_t, 32>& source, std::uint32_t bytes);

// ---- memory --------------------------------------------------------------------------------------------------------

// The undefined bytes that were *stored*, by 64-byte word: they are unwritten, and have an origin.
struct StoredUndefinedWord {
  std::uint64_t bits = 0;       // one a byte
  OriginId origin = 0;          // of the latest such store to the word
};
using StoredUndefined = std::unordered_map<std::uint64_t, StoredUndefinedWord>;

// One bit a byte over a window of memory (a block's shared window, a thread's or warp's local frames, an allocation), set
// when written. The functions take offsets in the window, aligned to `bytes` (1, 2, 4, 8, 16 or 32) per lane and inside it.
class ByteShadow {
 public:
  ByteShadow() = default;
  explicit ByteShadow(std::uint64_t size_bytes) { reset(size_bytes); }
  void reset(std::uint64_t size_bytes);                 // all unwritten
  std::uint64_t size() const { return size_; }
  bool complete() const { return incomplete_words_ == 0; }   // every byte was written: nothing to look up

  void mark_written(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes) {
    if (!complete()) mark_written_slow(offsets, mask, bytes);
  }
  // True when all bytes of all lanes in `mask` were written: the load needs no register shadow.
  bool all_written(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes) const {
    return complete() || all_written_slow(offsets, mask, bytes);
  }
  // The planes of the element of up to 8 bytes that lies at offset + element_offset of each lane (vector loads: one call an
  // element). `origin` of the result is that of stored undefined bytes when known, else 0: then the load at hand is the
  // origin, and the caller adds it to the table.
  UndefinedBytes unwritten(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t element_offset,
                           std::uint32_t element_bytes) const;
  // Offset of the first unwritten byte among the lanes (lowest lane first); nullopt when all are written.
  struct Unwritten { std::uint32_t lane; std::uint64_t offset; };
  std::optional<Unwritten> first_unwritten(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes) const;
  // A store of `value` (partly undefined): defined bytes become written, undefined ones unwritten with their origin.
  void mark_stored(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t element_offset, std::uint32_t element_bytes,
                   const UndefinedBytes& value);
  void mark_range(std::uint64_t offset, std::uint64_t bytes, bool written);
  bool range_written(std::uint64_t offset, std::uint64_t bytes) const;
  // Takes over what is written in [from_offset, from_offset + bytes) of another window, with the origins of what is not.
  void copy_range(std::uint64_t offset, const ByteShadow& from, std::uint64_t from_offset, std::uint64_t bytes);

 private:
  void mark_written_slow(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes);
  bool all_written_slow(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes) const;
  void set_bits(std::uint64_t word, std::uint64_t bits);

  std::vector<std::uint64_t> words_;
  std::uint64_t size_ = 0;
  std::uint64_t incomplete_words_ = 0;
  StoredUndefined stored_;
};

// Global allocations keep their bits in Allocation::initialised (empty and !all_initialised: nothing written yet); these
// functions take device addresses that lie in `allocation`. Stored undefined bytes keep their origin here.
class GlobalShadow {
 public:
  static bool all_written(const Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
    return allocation.all_initialised || all_written_slow(allocation, addresses, mask, bytes);
  }
  void mark_written(Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
    if (!allocation.all_initialised) mark_written_slow(allocation, addresses, mask, bytes);
  }
  UndefinedBytes unwritten(const Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask,
                           std::uint32_t element_offset, std::uint32_t element_bytes) const;
  std::optional<ByteShadow::Unwritten> first_unwritten(const Allocation& allocation, const LaneAddresses& addresses,
                                                       std::uint32_t mask, std::uint32_t bytes) const;
  void mark_stored(Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t element_offset,
                   std::uint32_t element_bytes, const UndefinedBytes& value);
  // Host copies, memset and poison: [offset, offset + bytes) of the allocation.
  void mark_range(Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool written);
  // Device-to-device copies.
  void copy_shadow(Allocation& to, std::uint64_t to_offset, const Allocation& from, std::uint64_t from_offset, std::uint64_t bytes);

  struct Output { std::uint64_t offset; OriginId origin; };
  // The first byte of [offset, offset + bytes) that holds an undefined value that some kernel *stored*: the host is about to
  // read it, or the output check to compare it. nullopt: none (bytes never stored at all do not count here).
  std::optional<Output> first_undefined_output(const Allocation& allocation, std::uint64_t offset, std::uint64_t bytes) const;
  // The first such byte of each origin.
  std::vector<Output> undefined_outputs(const Allocation& allocation, std::uint64_t offset, std::uint64_t bytes) const;
  // Only the origins of copy_shadow, for a caller that copies the bits itself.
  void copy_origins(const Allocation& to, std::uint64_t to_offset, const Allocation& from, std::uint64_t from_offset, std::uint64_t bytes);
  void forget(const Allocation& allocation);   // freed

 private:
  static bool all_written_slow(const Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);
  void mark_written_slow(Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes);

  StoredUndefined stored_;   // by address / 64
};

}  // namespace kforge::emulator
