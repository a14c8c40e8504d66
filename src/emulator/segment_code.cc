#include "emulator/segment_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "emulator/alu.h"
#include "emulator/handlers.h"
#include "emulator/launch.h"
#include "emulator/matrix_wide.h"
#include "emulator/mbarrier_ops.h"
#include "emulator/registers.h"
#include "emulator/x86_writer.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Type;

constexpr std::uint32_t kShortest = 2;   // ops; shorter stretches are left to the interpreter
// The block's special registers have no register of their own: ops that read them call their handler.
constexpr std::array<Gpr, kBanks> kBankRegister = {Gpr::rbx, Gpr::rbp, Gpr::r13, Gpr::rsp, Gpr::r15};
constexpr Gpr kWarp = Gpr::r12, kCode = Gpr::r14;   // r14: the kernel's first op
constexpr Gpr kResult = Gpr::rdi, kOperands[] = {Gpr::rsi, Gpr::rdx, Gpr::rcx};   // of routines

// Ops after which another one than the next may follow in ordinary code, or that look at all of the warp's groups.
bool ends_segment(const Op& op) {
  if (op.watch != kNoSlot || op.source->form >= ptx::instruction_table().size()) return true;
  switch (family(*op.source)) {
    case Exec::bra: case Exec::brx: case Exec::call: case Exec::ret: case Exec::exit: case Exec::trap: case Exec::brkpt:
    case Exec::bar_sync: case Exec::bar_arrive: case Exec::bar_red: case Exec::bar_warp_sync: case Exec::barrier_cluster: case Exec::nanosleep:
      return true;
    case Exec::wgmma_wait: return true;
    case Exec::mbarrier: return static_cast<MbarrierKind>(op.target) == MbarrierKind::wait;
    default: return false;
  }
}

// pcs where control may come in from elsewhere than the op before.
std::vector<bool> find_entries(const Kernel& kernel) {
  std::vector<bool> entry(kernel.code.size() + 1, false);
  for (const FunctionCode& function : kernel.functions) {
    entry[function.entry] = true;
    for (std::uint32_t pc = function.entry; pc < function.end; ++pc) {
      const Op& op = kernel.code[pc];
      if (!ends_segment(op)) continue;
      entry[pc + 1] = true;
      if (op.source->form >= ptx::instruction_table().size()) continue;
      const Exec exec = family(*op.source);
      if (exec == Exec::bra) entry[op.target] = true;
      if (exec == Exec::brx)
        for (const std::uint32_t target : op.source->targets) entry[std::min<std::size_t>(op.target + target, kernel.code.size())] = true;
    }
  }
  return entry;
}

// ---- arithmetic in place -------------------------------------------------------------------------------------------

// How an op is done on registers: d = op(a, b) or op(a, b, c), 8 lanes of 32 bits or 4 of 64 at a time.
struct Recipe {
  enum class Kind : std::uint8_t { move, binary, fused, multiply_add, complement, wide_multiply } kind = Kind::move;
  VexOp op{};
  VexOp check{0, 0, 0, 0};   // compare that finds NaN; opcode 0: the result needs no check
  bool wide = false;         // 64-bit lanes
  bool wide_count = false;   // the second operand is 32 bits beside 64 (shift counts)

  bool operator==(const Recipe&) const = default;
  std::size_t operands() const {
    if (kind == Kind::move || kind == Kind::complement) return 1;
    return kind == Kind::fused || kind == Kind::multiply_add ? 3 : 2;
  }
};

std::optional<Recipe> float_recipe(const ptx::Instruction& in, Exec exec) {
  const auto& m = in.mods;
  const bool wide = in.type == Type::f64;
  const bool nearest = m.rounding == ptx::Rounding::none || m.rounding == ptx::Rounding::rn;
  if (in.type2 == Type::f16 || in.type2 == Type::bf16) return std::nullopt;   // mixed precision
  if ((in.type != Type::f32 && !wide) || m.ftz || m.sat || !nearest) return std::nullopt;
  const VexOp check = wide ? vex::kCmpPd : vex::kCmpPs;
  switch (exec) {
    case Exec::fma: return Recipe{Recipe::Kind::fused, wide ? vex::kFma213Pd : vex::kFma213Ps, check, wide};
    case Exec::add: return Recipe{Recipe::Kind::binary, wide ? vex::kAddPd : vex::kAddPs, check, wide};
    case Exec::sub: return Recipe{Recipe::Kind::binary, wide ? vex::kSubPd : vex::kSubPs, check, wide};
    case Exec::mul: return Recipe{Recipe::Kind::binary, wide ? vex::kMulPd : vex::kMulPs, check, wide};
    default: return std::nullopt;
  }
}

std::optional<Recipe> integer_recipe(const ptx::Instruction& in, Exec exec) {
  const auto& m = in.mods;
  const std::uint32_t bits = ptx::size_bits(in.type);
  if ((bits != 32 && bits != 64) || in.type == Type::pred || in.type == Type::f16x2 || in.type == Type::bf16x2) return std::nullopt;
  const bool whole = in.type == Type::u32 || in.type == Type::s32 || in.type == Type::u64 || in.type == Type::s64;
  const bool wide = bits == 64, is_signed = ptx::is_signed(in.type);
  const auto binary = [&](VexOp op) { return Recipe{Recipe::Kind::binary, op, {0, 0, 0, 0}, wide}; };
  const auto shift = [&](VexOp op) { return Recipe{Recipe::Kind::binary, op, {0, 0, 0, 0}, wide, wide}; };
  switch (exec) {
    case Exec::add: if (!whole || m.sat || m.carry_out) return std::nullopt; return binary(wide ? vex::kAdd64 : vex::kAdd32);
    case Exec::sub: if (!whole || m.sat || m.carry_out) return std::nullopt; return binary(wide ? vex::kSub64 : vex::kSub32);
    case Exec::mul:
      if (!whole || wide) return std::nullopt;
      if (m.half == ptx::Half::lo) return binary(vex::kMul32);
      if (m.half == ptx::Half::wide) return Recipe{Recipe::Kind::wide_multiply, is_signed ? vex::kMulWideSigned : vex::kMulWideUnsigned, {0, 0, 0, 0}, true};
      return std::nullopt;
    case Exec::mad:
      if (!whole || wide || m.half != ptx::Half::lo || m.sat || m.carry_out) return std::nullopt;
      return Recipe{Recipe::Kind::multiply_add, vex::kMul32};
    case Exec::min: if (!whole || wide || m.relu) return std::nullopt; return binary(is_signed ? vex::kMinSigned : vex::kMinUnsigned);
    case Exec::max: if (!whole || wide || m.relu) return std::nullopt; return binary(is_signed ? vex::kMaxSigned : vex::kMaxUnsigned);
    case Exec::and_: return binary(vex::kAnd);
    case Exec::or_: return binary(vex::kOr);
    case Exec::xor_: return binary(vex::kXor);
    case Exec::not_: return Recipe{Recipe::Kind::complement, vex::kXor, {0, 0, 0, 0}, wide};
    case Exec::shl: return shift(wide ? vex::kShiftLeft64 : vex::kShiftLeft32);
    case Exec::shr:
      if (is_signed && wide) return std::nullopt;
      return is_signed ? shift(vex::kShiftRightSigned32) : shift(wide ? vex::kShiftRight64 : vex::kShiftRight32);
    default: return std::nullopt;
  }
}

// Only where the op runs the ordinary arithmetic handler: decoding gives some spellings handlers of their own.
std::optional<Recipe> recipe_of(const Op& op) {
  const ptx::Instruction& in = *op.source;
  const Exec exec = family(in);
  if (op.slow[0] != nullptr || op.list != nullptr || op.call != nullptr || op.run[0] != op.run[1]) return std::nullopt;
  for (std::size_t k = 0; k < 4; ++k)
    if (op.r[k].bank == Bank::block) return std::nullopt;
  if (exec == Exec::mov || exec == Exec::cvta) {
    const std::uint32_t bits = ptx::size_bits(in.type);
    if (in.type == Type::pred || (bits != 32 && bits != 64) || op.run[0] != select_alu(in, Exec::mov)) return std::nullopt;
    return Recipe{Recipe::Kind::move, {}, {0, 0, 0, 0}, bits == 64};
  }
  if (op.run[0] != select_alu(in, exec)) return std::nullopt;
  if (ptx::is_float(in.type)) return float_recipe(in, exec);
  return integer_recipe(in, exec);
}

// ---- one segment ---------------------------------------------------------------------------------------------------

// Distances inside Warp and OpProfile, from an example of each.
struct Distances {
  std::int32_t pc = 0, active = 0, bases = 0, tainted = 0, lanes = 0;
};
Distances find_distances() {
  const Warp warp;
  const OpProfile profile;
  const auto distance = [](const void* from, const void* to) { return static_cast<std::int32_t>(static_cast<const char*>(to) - static_cast<const char*>(from)); };
  return {distance(&warp, &warp.pc), distance(&warp, &warp.active), distance(&warp, &warp.bases), distance(&warp, &warp.tainted), distance(&profile, &profile.lanes)};
}

// Segments run when all lanes are active that have not exited: results of the others, which arithmetic computes too, are never looked at.
// Handlers get the mask of the active lanes.
//
// A loop of a kernel is often a few hundred ops, and must stay in the first-level instruction cache: an op is a call with the
// addresses of its operands, of a routine that all ops of its kind share, or of its handler.
class Compiler {
 public:
  Compiler(const Kernel& kernel, Variant variant, bool has_avx512) : kernel_(kernel), index_(static_cast<std::size_t>(variant)), has_avx512_(has_avx512) {
    safety_ = variant == Variant::safety || variant == Variant::all;
    profile_ = variant == Variant::profile || variant == Variant::all;
  }

  void compile(const Segment& segment) {
    exits_.clear();
    late_.clear();
    prologue();
    for (std::uint32_t pc = segment.first; pc < segment.end; ++pc) compile_op(pc);
    x_.store_constant32(kWarp, at_.pc, segment.end - 1);
    x_.set32(Gpr::rax, (segment.end - segment.first) << 8);
    const std::size_t leave = x_.size();
    epilogue();
    for (const Late& late : late_) compile_late(late);
    // al: the flow of the op that ends here. rax = flow | count << 8.
    for (const Exit& exit : exits_) {
      x_.bind(exit.jump);
      if (exit.sets_pc) x_.store_constant32(kWarp, at_.pc, exit.pc);
      x_.raw({0x0f, 0xb6, 0xc0});   // movzx eax, al
      x_.raw({0x0d}), x_.raw32((exit.pc + 1 - segment.first) << 8);   // or eax, count
      x_.bind(x_.jump(), leave);
    }
  }
  // After all segments.
  void finish() {
    for (const Routine& routine : routines_) {
      const std::size_t start = x_.size();
      compile_routine(routine.recipe);
      for (const std::size_t call : routine.calls) x_.bind(call, start);
    }
  }
  X86Writer& code() { return x_; }

 private:
  struct Exit { std::size_t jump; std::uint32_t pc; bool sets_pc; };
  struct Late { std::size_t jump; std::uint32_t pc; std::size_t back; };
  struct Routine { Recipe recipe; std::vector<std::size_t> calls; };

  void prologue() {
    for (const Gpr r : {Gpr::rbx, Gpr::rbp, Gpr::r12, Gpr::r13, Gpr::r14, Gpr::r15}) x_.push(r);
    x_.reserve_stack(8);
    x_.move(kWarp, Gpr::rdi);
    x_.store64(Gpr::rsp, 0, Gpr::rsi);
    x_.set(kCode, reinterpret_cast<std::uint64_t>(kernel_.code.data()));
    for (std::size_t bank = 0; bank < kBanks; ++bank)
      if (static_cast<Bank>(bank) != Bank::block) x_.load64(kBankRegister[bank], kWarp, at_.bases + static_cast<std::int32_t>(8 * bank));
  }
  void epilogue() {
    x_.free_stack(8);
    for (const Gpr r : {Gpr::r15, Gpr::r14, Gpr::r13, Gpr::r12, Gpr::rbp, Gpr::rbx}) x_.pop(r);
    x_.ret();
  }

  void compile_op(std::uint32_t pc) {
    const Op& op = kernel_.code[pc];
    if (op.guard != kNoSlot) return compile_guarded(op, pc);
    if (const auto recipe = recipe_of(op)) return compile_recipe(op, pc, *recipe);
    x_.load32(Gpr::rdx, kWarp, at_.active);
    compile_call(op, pc);
  }

  // The mask is in edx. Loads and stores do not look at the pc, so that theirs is set only when they end the segment.
  void compile_call(const Op& op, std::uint32_t pc) {
    const bool needs_pc = op.slow[0] == nullptr;
    if (needs_pc) x_.store_constant32(kWarp, at_.pc, pc);
    x_.move(Gpr::rdi, kWarp);
    x_.address(Gpr::rsi, {kCode, static_cast<std::int32_t>(pc * sizeof(Op))});
    x_.call_at(Gpr::rsi, static_cast<std::int8_t>(8 * index_));
    x_.test_al();
    exits_.push_back({x_.jump_if_not_zero(), pc, !needs_pc});
    if (!safety_) return;
    x_.compare_byte_with_zero(kWarp, at_.tainted);   // al is 0 still: Flow::next
    exits_.push_back({x_.jump_if_not_zero(), pc, !needs_pc});
  }

  void compile_guarded(const Op& op, std::uint32_t pc) {
    x_.load32(Gpr::rax, Gpr::rbx, static_cast<std::int32_t>(op.guard));
    if (op.guard_flip != 0) x_.invert_eax();
    x_.and32(Gpr::rax, kWarp, at_.active);
    const std::size_t skip = x_.jump_if_zero();
    x_.move(Gpr::rdx, Gpr::rax);
    x_.count_bits_of_eax(Gpr::r8);
    x_.load64(Gpr::rcx, Gpr::rsp, 0);
    x_.add64(Gpr::rcx, offsetof(SegmentRun, guarded_lanes), Gpr::r8);
    if (profile_) {
      x_.load64(Gpr::rcx, Gpr::rcx, offsetof(SegmentRun, ops));
      x_.add64(Gpr::rcx, static_cast<std::int32_t>(pc * sizeof(OpProfile)) + at_.lanes, Gpr::r8);
    }
    compile_call(op, pc);
    x_.bind(skip);
  }

  static Place place(Ref ref) { return {kBankRegister[static_cast<std::size_t>(ref.bank)], static_cast<std::int32_t>(ref.offset)}; }

  void compile_recipe(const Op& op, std::uint32_t pc, const Recipe& recipe) {
    x_.address(kResult, place(op.r[0]));
    for (std::size_t k = 0; k < recipe.operands(); ++k) x_.address(kOperands[k], place(op.r[k + 1]));
    routine(recipe).calls.push_back(x_.call());
    if (recipe.check.opcode == 0) return;
    const std::size_t jump = x_.jump_if_not_zero();
    late_.push_back({jump, pc, x_.size()});
  }

  Routine& routine(const Recipe& recipe) {
    for (Routine& known : routines_)
      if (known.recipe == recipe) return known;
    return routines_.emplace_back(Routine{recipe, {}});
  }

  // d, a, b, c in rdi, rsi, rdx, rcx. All of the result is computed before any of it is stored: on a NaN nothing is, the zero flag is
  // clear, and the handler does the op from the start.
  void compile_routine(const Recipe& recipe) {
    if (has_avx512_) return compile_routine512(recipe);
    const Ymm chunks = recipe.wide ? 8 : 4;
    for (Ymm k = 0; k < chunks; ++k) compile_chunk(recipe, k);
    std::size_t nan = 0;
    if (recipe.check.opcode != 0) {
      for (Ymm k = 0; k < chunks; k = static_cast<Ymm>(k + 2)) x_.compare_unordered(recipe.check, static_cast<Ymm>(8 + k / 2), k, static_cast<Ymm>(k + 1));
      for (Ymm k = 1; k < chunks / 2; ++k) x_.vector(vex::kOrPs, 8, 8, static_cast<Ymm>(8 + k));
      x_.vector(vex::kMaskPs, 0, 0, Ymm{8});
      x_.test_eax();
      nan = x_.jump_if_not_zero();
    }
    for (Ymm k = 0; k < chunks; ++k) x_.store(k, {kResult, 32 * k});
    x_.clear_upper_halves();   // handlers are compiled with and without AVX; flags stay
    x_.ret();
    if (nan == 0) return;
    x_.bind(nan);
    x_.clear_upper_halves();
    x_.ret();
  }

  void compile_chunk(const Recipe& recipe, Ymm k) {
    constexpr Ymm kTemporary = 12, kOther = 13;
    const Place a{kOperands[0], 32 * k}, b{kOperands[1], 32 * k}, c{kOperands[2], 32 * k}, half_a{kOperands[0], 16 * k}, half_b{kOperands[1], 16 * k};
    switch (recipe.kind) {
      case Recipe::Kind::move: return x_.load(k, a);
      case Recipe::Kind::binary:
        x_.load(k, a);
        if (!recipe.wide_count) return x_.vector(recipe.op, k, k, b);
        x_.vector(vex::kWidenUnsigned, kTemporary, 0, half_b);
        return x_.vector(recipe.op, k, k, kTemporary);
      case Recipe::Kind::fused:
        x_.load(k, a);
        x_.load(kTemporary, b);
        return x_.vector(recipe.op, k, kTemporary, c);
      case Recipe::Kind::multiply_add:
        x_.load(k, a);
        x_.vector(recipe.op, k, k, b);
        return x_.vector(vex::kAdd32, k, k, c);
      case Recipe::Kind::complement:
        x_.vector(vex::kEqual32, kTemporary, kTemporary, kTemporary);
        return x_.vector(recipe.op, k, kTemporary, a);
      case Recipe::Kind::wide_multiply: {
        const VexOp widen = recipe.op == vex::kMulWideSigned ? vex::kWidenSigned : vex::kWidenUnsigned;
        x_.vector(widen, kTemporary, 0, half_a);
        x_.vector(widen, kOther, 0, half_b);
        return x_.vector(recipe.op, k, kTemporary, kOther);
      }
    }
  }

  // The same with 512-bit registers. The upper 16, of which nothing has to be cleared: other code sees no trace of them.
  void compile_routine512(const Recipe& recipe) {
    constexpr Zmm kFirst = 16;
    const Zmm chunks = recipe.wide ? 4 : 2;
    for (Zmm k = 0; k < chunks; ++k) compile_chunk512(recipe, static_cast<Zmm>(kFirst + k), k);
    std::size_t nan = 0;
    if (recipe.check.opcode != 0) {
      for (Zmm k = 0; k < chunks; k = static_cast<Zmm>(k + 2))
        x_.compare_unordered512(recipe.check, recipe.wide, static_cast<Mask>(1 + k / 2), static_cast<Zmm>(kFirst + k), static_cast<Zmm>(kFirst + k + 1));
      x_.test_masks(1, chunks / 2);
      nan = x_.jump_if_not_zero();
    }
    for (Zmm k = 0; k < chunks; ++k) x_.store512(static_cast<Zmm>(kFirst + k), {kResult, 64 * k});
    if (nan != 0) x_.ret(), x_.bind(nan);
    x_.ret();
  }

  void compile_chunk512(const Recipe& recipe, Zmm to, std::int32_t k) {
    const Zmm temporary = static_cast<Zmm>(to + 4), other = static_cast<Zmm>(to + 8);
    const Place a{kOperands[0], 64 * k}, b{kOperands[1], 64 * k}, c{kOperands[2], 64 * k}, half_a{kOperands[0], 32 * k}, half_b{kOperands[1], 32 * k};
    switch (recipe.kind) {
      case Recipe::Kind::move: return x_.load512(to, a);
      case Recipe::Kind::binary:
        x_.load512(to, a);
        if (!recipe.wide_count) return x_.vector512(recipe.op, recipe.wide, to, to, b);
        x_.vector512(vex::kWidenUnsigned, false, temporary, 0, half_b);
        return x_.vector512(recipe.op, recipe.wide, to, to, temporary);
      case Recipe::Kind::fused:
        x_.load512(to, a);
        x_.load512(temporary, b);
        return x_.vector512(recipe.op, recipe.wide, to, temporary, c);
      case Recipe::Kind::multiply_add:
        x_.load512(to, a);
        x_.vector512(recipe.op, false, to, to, b);
        return x_.vector512(vex::kAdd32, false, to, to, c);
      case Recipe::Kind::complement: return x_.complement512(to, a);
      case Recipe::Kind::wide_multiply: {
        const VexOp widen = recipe.op == vex::kMulWideSigned ? vex::kWidenSigned : vex::kWidenUnsigned;
        x_.vector512(widen, false, temporary, 0, half_a);
        x_.vector512(widen, false, other, 0, half_b);
        return x_.vector512(recipe.op, true, to, temporary, other);
      }
    }
  }

  void compile_late(const Late& late) {
    x_.bind(late.jump);
    x_.load32(Gpr::rdx, kWarp, at_.active);
    compile_call(kernel_.code[late.pc], late.pc);
    x_.bind(x_.jump(), late.back);
  }

  const Kernel& kernel_;
  std::size_t index_;
  bool has_avx512_;
  bool safety_ = false, profile_ = false;
  Distances at_ = find_distances();
  X86Writer x_;
  std::vector<Exit> exits_;
  std::vector<Late> late_;
  std::vector<Routine> routines_;
};

}  // namespace

SegmentCode::~SegmentCode() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

std::unique_ptr<SegmentCode> compile_segments(const Kernel& kernel, Variant variant, bool wide) {
  auto result = std::make_unique<SegmentCode>();
  if (!has_avx2()) return result;
  const std::vector<bool> entries = find_entries(kernel);
  for (std::uint32_t pc = 0; pc < kernel.code.size();) {
    std::uint32_t end = pc;
    while (end < kernel.code.size() && !ends_segment(kernel.code[end]) && (end == pc || !entries[end])) ++end;
    if (end - pc >= kShortest) {
      Segment segment;
      segment.first = pc;
      segment.end = end;
      segment.index = static_cast<std::uint32_t>(result->segments_.size());
      for (std::uint32_t k = pc; k < end; ++k) segment.unguarded += kernel.code[k].guard == kNoSlot;
      result->segments_.push_back(segment);
    }
    pc = std::max(end, pc + 1);
  }
  Compiler compiler(kernel, variant, wide && has_avx512());
  std::vector<std::size_t> starts;
  for (const Segment& segment : result->segments_) {
    starts.push_back(compiler.code().size());
    compiler.compile(segment);
  }
  compiler.finish();
  const std::vector<std::uint8_t>& bytes = compiler.code().bytes();
  if (bytes.empty()) return result;
  result->bytes_ = bytes.size();
  void* memory = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::make_unique<SegmentCode>();
  result->memory_ = memory;
  std::memcpy(memory, bytes.data(), bytes.size());
  if (mprotect(memory, bytes.size(), PROT_READ | PROT_EXEC) != 0) return std::make_unique<SegmentCode>();
  result->by_pc_.assign(kernel.code.size(), nullptr);
  for (std::size_t k = 0; k < starts.size(); ++k) {
    Segment& segment = result->segments_[k];
    segment.run = reinterpret_cast<SegmentFunction>(static_cast<std::uint8_t*>(memory) + starts[k]);
    result->by_pc_[segment.first] = &segment;
  }
  return result;
}

}  // namespace kforge::emulator
