// Pre-decoded code: what the fast executor runs. One Kernel is an entry function with every device function that it may
// call, decoded together: one dense array of Ops, so that a program counter is an index and "lowest first" a comparison.
//
// A register is a slot of the running frame: 32 lanes of 32 or 64 bits (narrower types use the low bits of a 32-bit
// lane, upper bits zero), or one 32-bit mask for a predicate. Immediates, addresses of variables and special registers
// are slots too, in banks of their own, so that one handler serves every kind of operand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "emulator/device.h"
#include "emulator/slot_bytes.h"
#include "ptx/module.h"
#include "ptx/table.h"

namespace kforge::emulator {

struct Warp;
struct Op;

// What a handler tells the loop: go on with the next instruction; the handler set the pc; look at the warp's groups.
enum class Flow : std::uint8_t { next, jump, regroup };
// `mask`: the active lanes whose guard holds; never 0.
using Handler = Flow (*)(Warp& warp, const Op& op, std::uint32_t mask);

// The compiled variants of the executor: which observers run. An Op holds one handler for each.
enum class Variant : std::uint8_t { plain, safety, profile, all, count_ };
inline constexpr std::size_t kVariants = static_cast<std::size_t>(Variant::count_);
using Handlers = std::array<Handler, kVariants>;

// Where a slot lies. frame: the running frame. constants: the kernel's. launch, block, warp: special registers.
enum class Bank : std::uint32_t { frame, constants, launch, block, warp, count_ };
inline constexpr std::size_t kBanks = static_cast<std::size_t>(Bank::count_);

struct Ref {
  std::uint32_t offset = 0;   // bytes in the bank
  Bank bank = Bank::frame;
};

inline constexpr std::uint32_t kNarrowSlot = 32 * 4, kWideSlot = 32 * 8;   // bytes
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;
inline constexpr std::uint32_t kCarrySlot = 0;      // every frame starts with its carry flags ...
inline constexpr std::uint32_t kSinkSlot = 256;     // ... and a slot for results that nobody wants
inline constexpr std::uint32_t kLocalBaseSlot = 512; // ... and where its .local variables start, 64 bits a lane
inline constexpr std::uint32_t kFirstSlot = 768;

struct CallSite;
struct BarrierMap;
class SegmentCode;

struct Op {
  Handlers run{};
  std::uint32_t guard = kNoSlot;      // frame offset of the guard's mask
  std::uint32_t guard_flip = 0;       // ~0 for `@!p`
  std::array<Ref, 6> r{};             // operands as written; [5]: q of `p|q`
  std::int64_t immediate = 0;         // address offset; family's own use
  const Ref* list = nullptr;          // vector elements, fragments
  std::uint8_t list_count = 0;
  std::uint8_t bytes = 0;             // memory: bytes per element
  std::uint8_t wide = 0;              // memory: bit i set when list[i] is a 64-bit slot; others: family's own use
  std::uint8_t flags = 0;             // family's own use
  std::uint32_t target = 0;           // branch target
  std::uint32_t location = 0;         // Module::locations
  std::uint32_t watch = kNoSlot;      // BarrierMap::points: its handler is called even when no lane's guard holds
  std::uint32_t index = 0;            // pc
  Handlers slow{};                    // memory: the handlers that know every case, behind `run`'s that know the frequent ones
  const ptx::Instruction* source = nullptr;
  const CallSite* call = nullptr;
};

// One parameter or result that travels between param-space areas of two frames.
struct ParamCopy { std::uint32_t from = 0, to = 0, bytes = 0; };

struct CallSite {
  std::vector<ParamCopy> arguments;   // offsets in the caller's area; `to` filled for direct calls
  std::vector<ParamCopy> returns;     // from the callee's area into the caller's
  std::uint32_t function = kNoSlot;   // index into Kernel::functions
  std::uint32_t intrinsic = 0;        // 0: none; else index of intrinsics.cc's table + 1
  Ref pointer;                        // indirect: 64-bit slot
  bool indirect = false;
  std::vector<std::uint32_t> argument_bytes;
};

struct FunctionCode {
  const ptx::Function* source = nullptr;
  std::uint32_t index = 0;            // in the module
  std::uint32_t entry = 0;            // pc
  std::uint32_t end = 0;
  std::uint32_t frame_bytes = 0;      // registers
  std::uint32_t local_bytes = 0;      // .local variables, per lane
  std::uint32_t param_bytes = 0;      // param-space variables, per lane (not an entry's own parameters)
  std::vector<std::uint32_t> parameter_offsets, return_offsets;   // in its param area
  std::vector<std::uint32_t> parameter_sizes, return_sizes;
  std::vector<std::uint32_t> slot_of_register;   // frame offset
  std::vector<std::uint32_t> shadow_of_register;  // dense number of its slot
  std::uint32_t shadow_count = 0;
  std::vector<std::uint32_t> undefined_at_entry;  // registers that may be read before they are written
};

struct Kernel {
  KernelInfo info;
  const ptx::Module* module = nullptr;
  LoadedModule* owner = nullptr;
  const ptx::Function* function = nullptr;
  std::vector<Op> code;
  std::vector<FunctionCode> functions;           // [0] is the entry
  std::vector<std::uint32_t> function_of_module; // module function index -> index here, kNoSlot: not reachable
  std::deque<std::vector<Ref>> lists;
  std::deque<CallSite> calls;
  SlotBytes constants;
  std::uint32_t extern_shared_offset = 0;        // where dynamic shared memory starts
  bool uses_grid_sync = false;
  bool meets_cluster = false;                    // has barrier.cluster or mapa
  bool launches_dependents = false, waits_for_primary = false;   // griddepcontrol (note_dependence in footprint.h)
  std::vector<bool> before_wait;                 // by location of the module, where it waits for the primary; else empty
  std::shared_ptr<const BarrierMap> barriers;    // null: none is in a loop or behind a condition
  mutable std::array<std::shared_ptr<const SegmentCode>, kVariants> segments;   // compiled at the first launch
};

// Function addresses are values of no mapped range: tag + index in the module.
inline constexpr std::uint64_t kFunctionTag = 0x00f0'0000'0000'0000ull;
// Generic windows: an address of shared or local memory as a generic pointer is window + offset.
inline constexpr Address kSharedWindow = Address{1} << 52;
inline constexpr Address kLocalWindow = Address{1} << 53;
inline constexpr Address kWindowBytes = Address{1} << 32;

struct LoadedModule {
  std::shared_ptr<const ptx::Module> module;
  std::vector<Allocation*> variables;            // by index of Module::variables; null: shared
  std::vector<std::unique_ptr<Kernel>> kernels;
  bool shortcuts = true;                         // decode with the quick handlers: tests compare with and without
};

// Special registers live in banks as 32 equal or lane-wise values.
struct SpecialPlace { Bank bank; std::uint32_t offset; bool wide; };
SpecialPlace place_of(ptx::SpecialRegister special);
std::uint32_t bank_bytes(Bank bank);

// Decodes `function` and all that it may call. Errors: unsupported (a construct that cannot be laid out), bad_input.
// Instructions that are not executed become ops that end the launch with illegal_instruction.
Expected<std::unique_ptr<Kernel>> decode(LoadedModule& module, const ptx::Function& function);

}  // namespace kforge::emulator
