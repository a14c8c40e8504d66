// A PTX module as typed values: what the parser makes of the text, and all that the emulator reads.
//
// Names are resolved here, once: registers are dense numbers per function (nested `{ }` scopes and the
// `%r<51>` ranges are gone), labels are instruction indices, variables are entries of a table. Every
// instruction points at its row of the instruction table (table.h) and at a source location.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/source.h"

namespace kforge::ptx {

enum class Type : std::uint8_t {
  none, pred,
  b8, b16, b32, b64, b128,
  u8, u16, u32, u64,
  s8, s16, s32, s64,
  f16, f16x2, bf16, bf16x2, tf32, f32, f32x2, f64,
  u16x2, s16x2,
  e4m3, e5m2, e4m3x2, e5m2x2,
  s4, u4, b1,
};
std::uint32_t size_bits(Type type);    // pred: 1
inline std::uint32_t size_bytes(Type type) { return (size_bits(type) + 7) / 8; }
std::string_view name(Type type);      // "f32"
bool is_signed(Type type);
bool is_float(Type type);              // any floating format, packed ones included

enum class Space : std::uint8_t { generic, global, shared, local, constant, param, reg };

// Modifiers, one field a kind; the first value of each means "not written".
enum class Rounding : std::uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };
enum class Compare : std::uint8_t { none, eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class BoolOp : std::uint8_t { none, and_, or_, xor_ };
enum class Half : std::uint8_t { none, lo, hi, wide };           // mul/mad result
enum class AtomOp : std::uint8_t { none, add, inc, dec, min, max, and_, or_, xor_, exch, cas };
enum class ShuffleMode : std::uint8_t { none, up, down, bfly, idx };
enum class VoteMode : std::uint8_t { none, all, any, uni, ballot };
enum class Order : std::uint8_t { none, weak, relaxed, acquire, release, acq_rel, sc, volatile_, mmio };
enum class Scope : std::uint8_t { none, cta, cluster, gpu, sys };
enum class Cache : std::uint8_t { none, ca, cg, cs, lu, cv, wb, wt, nc };
enum class Overflow : std::uint8_t { none, clamp, wrap };        // shf, bmsk, szext, bfind handled apart

struct Modifiers {
  Rounding rounding = Rounding::none;
  Compare compare = Compare::none;
  BoolOp bool_op = BoolOp::none;
  Half half = Half::none;
  AtomOp atom_op = AtomOp::none;
  ShuffleMode shuffle = ShuffleMode::none;
  VoteMode vote = VoteMode::none;        // match.any/.all use it too; redux uses atom_op
  Order order = Order::none;
  Scope scope = Scope::none;
  Cache cache = Cache::none;
  Overflow overflow = Overflow::none;
  Space space = Space::generic;          // of ld/st/atom/red/cvta/isspacep/mov-address
  std::uint8_t vector = 1;               // 1, 2, 4, 8
  bool ftz = false, sat = false, satfinite = false, relu = false, noftz = false;
  bool approx = false, full = false, abs = false, nan = false, xorsign = false;
  bool carry_out = false;                // .cc
  bool to = false;                       // cvta.to
  bool uniform = false;                  // .uni
  bool aligned = false, sync = false, warp = false;
  bool left = false, right = false;      // shf.l / shf.r
  bool shift_amount = false;             // bfind.shiftamt
  std::string text;                      // modifiers that have no field (prmt mode, testp test, proxies, ...), dot-joined
};

using RegisterId = std::uint32_t;
inline constexpr RegisterId kNoRegister = std::numeric_limits<RegisterId>::max();

enum class SpecialRegister : std::uint8_t {
  tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
  laneid, warpid, nwarpid, smid, nsmid, gridid,
  lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt,
  clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi,
  dynamic_smem_size, total_smem_size, aggr_smem_size, reserved_smem_offset_begin,
  is_explicit_cluster, clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
  cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z,
  cluster_ctarank, cluster_nctarank, current_graph_exec,
  envreg0, envreg1, envreg2, envreg3,   // others are an error
};

struct VariableId {                     // a module variable, or one of the function (shared, local, param)
  std::uint32_t index = 0;
  bool of_function = false;
  bool operator==(const VariableId&) const = default;
};

struct Operand {
  enum class Kind : std::uint8_t {
    reg,        // reg
    sink,       // `_`
    immediate,  // bits (sign-extended integer, or the bits of the float in the instruction's type)
    special,    // special
    symbol,     // address of variable + offset (mov); variable
    address,    // [reg + offset] or [variable + offset]: reg == kNoRegister means variable; both absent: [immediate]
    vector,     // elements (registers, sinks, immediates)
    label,      // target: instruction index
    function,   // function: index into Module::functions (call, mov of a function's address)
    text,       // anything else that the row allows, kept as text
  };
  Kind kind = Kind::sink;
  RegisterId reg = kNoRegister;
  bool negated = false;                 // `!p` in predicate operands
  bool is_float_immediate = false;
  std::uint64_t bits = 0;
  SpecialRegister special{};
  std::optional<VariableId> variable;
  std::int64_t offset = 0;
  std::uint32_t target = 0;
  std::vector<Operand> elements;
  RegisterId pair = kNoRegister;        // q of `p|q`; kNoRegister when absent or `_`
  std::string text;
};

struct Guard { RegisterId reg = kNoRegister; bool negated = false; };

struct Instruction {
  std::uint16_t form = 0;               // row of instruction_table()
  Type type = Type::none;               // first written type
  Type type2 = Type::none;              // second written type (cvt's source, set/slct's source, atom/mma further types)
  Type type3 = Type::none, type4 = Type::none;
  Modifiers mods;
  std::optional<Guard> guard;
  std::vector<Operand> operands;        // in written order, destinations first. call: see `call`
  struct Call {                         // call (ret), f, (args), prototype
    std::vector<Operand> returns, arguments;
    std::optional<std::uint32_t> function;  // absent: indirect, through `pointer`
    RegisterId pointer = kNoRegister;
  };
  std::shared_ptr<const Call> call;
  std::vector<std::uint32_t> targets;   // brx.idx: instruction indices
  std::uint32_t location = 0;           // index into Module::locations; 0 is "unknown"
  std::uint32_t line = 0;               // of the PTX text, from 1
};

struct Register { std::string name; Type type = Type::none; };

struct Variable {
  std::string name;
  Space space = Space::global;
  Type type = Type::none;
  std::uint64_t size_bytes = 0;         // 0 with is_extern: size given at launch (extern shared)
  std::uint32_t align = 1;
  bool is_extern = false, is_visible = false, is_weak = false, is_const = false;
  std::vector<std::byte> initial;       // empty: zeros
  struct Relocation { std::uint64_t offset = 0; std::string symbol; std::int64_t addend = 0; bool generic = false;
                      std::uint8_t bytes = 8; };
  std::vector<Relocation> relocations;  // initial values that are addresses
};

struct Function {
  std::string name;
  bool is_entry = false, is_extern = false, is_visible = false;
  std::vector<Register> registers;
  std::vector<Variable> variables;      // shared, local and param-space variables of the body, and parameters first
  std::uint32_t parameter_count = 0;    // variables[0 .. parameter_count) are the inputs, in order
  std::uint32_t return_count = 0;       // the next return_count variables are the outputs
  std::vector<Instruction> instructions;
  evidence::SourcePosition position;    // of its first .loc
  std::uint32_t max_threads[3] = {0, 0, 0};       // .maxntid; 0 is "not given"
  std::uint32_t required_threads[3] = {0, 0, 0};  // .reqntid
  std::uint32_t min_blocks = 0;                   // .minnctapersm
  std::uint32_t max_registers = 0;                // .maxnreg
  std::uint32_t cluster[3] = {0, 0, 0};           // .reqnctapercluster
  bool explicit_cluster = false;
};

struct Module {
  std::uint32_t version = 0;            // 90 for ".version 9.0"
  std::uint32_t target = 0;             // 90 for sm_90
  char target_suffix = 0;               // 'a' or 'f' of sm_90a; 0
  std::vector<Variable> variables;      // global, constant, and module-level shared
  std::vector<Function> functions;
  std::vector<evidence::SourcePosition> locations;  // [0] is empty
  const Function* find_function(std::string_view name) const;
};

}  // namespace kforge::ptx
