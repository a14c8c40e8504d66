// A thread, a block and what they share while the reference engine runs: see reference_engine.h.
#pragma once

#include <bit>
#include <optional>
#include <unordered_map>

#include "emulator/reference_engine.h"
#include "emulator/reference_engine_ops.h"
#include "ptx/form.h"

namespace kforge::emulator::reference {

inline constexpr std::uint64_t kSharedBase = 0x7000'0000'0000, kLocalBase = 0x7800'0000'0000, kParamBase = 0x7c00'0000'0000,
                               kWindow = 0x100'0000'0000, kFunctionBase = 0x7f00'0000'0000;
inline constexpr std::uint32_t kRankShift = 24;

// The types of an instruction's operands as its row gives them (Type::none: an address, a label, ...).
std::vector<ptx::Type> operand_types(const ptx::Instruction& instruction);

struct Frame {
  std::uint32_t function = 0;
  std::uint32_t pc = 0;
  std::vector<Wide> registers;                        // 128 bits for .b128
  std::vector<std::vector<std::byte>> variables;      // param-space variables of a device function, by index
  std::uint64_t local_base = 0;                       // of its .local variables in the thread's local memory
  std::uint64_t stack = 0;                            // where they and what alloca gave out end
  const ptx::Instruction* call = nullptr;             // that made this frame
};

enum class State : std::uint8_t { running, at_warp, at_barrier, at_cluster, exited };

struct Thread {
  std::uint32_t index = 0;                            // in the block
  std::uint32_t lane() const { return index % 32; }
  State state = State::running;
  bool carry = false;
  std::uint64_t met = 0;                              // the phase of the cluster's barrier in which it arrived last
  std::vector<Frame> frames;
  std::vector<std::byte> local;
};

struct Barrier {
  std::uint64_t arrived = 0;                          // bar.arrive: threads that do not wait
  bool all = true, any = false;
  std::uint64_t count = 0;                            // predicates that held
};

struct Meeting {                                      // barrier.cluster
  std::uint64_t arrived = 0, phase = 1;
};

struct Mbarrier {
  std::int64_t expected = 0, awaited = 0, bytes = 0;
  std::uint64_t phase = 0;
};

struct Layout {                                       // of one entry
  std::map<const ptx::Variable*, std::uint64_t> shared;
  std::uint64_t shared_bytes = 0;
  std::vector<std::uint64_t> parameters;              // offsets of the entry's parameters
};

struct Block {
  evidence::Dim3 index;
  std::vector<std::byte> shared;
  std::vector<Thread> threads;
  std::map<std::uint64_t, Barrier> barriers;
  std::map<std::uint64_t, Mbarrier> mbarriers;        // by offset in shared memory
};

class Run {
 public:
  Run(const ptx::Module& module, ReferenceEngine::Memory& memory, const std::vector<std::uint64_t>& variables, const TextureTable& textures, const ReferenceLaunch& launch)
      : module_(module), memory_(memory), variables_(variables), textures_(textures), launch_(launch) {}
  ReferenceResult run();

 private:
  // reference_engine.cc
  void lay_out(std::uint32_t entry);
  Block make_block(std::uint32_t entry, const evidence::Dim3& index) const;
  void run_cluster();
  bool run_turn();
  Block& block() { return blocks_[rank_]; }
  void step(Thread& thread);
  void execute(Thread& thread, const ptx::Instruction& in, ptx::Exec exec);
  bool control(Thread& thread, const ptx::Instruction& in, ptx::Exec exec);
  void call(Thread& thread, const ptx::Instruction& in);
  void stack(Thread& thread, const ptx::Instruction& in, ptx::Exec exec);
  void leave(Thread& thread);
  void fail(std::string message) { if (result_.error.empty()) result_.error = std::move(message); }
  Frame make_frame(std::uint32_t function) const;
  std::uint64_t local_bytes(std::uint32_t function) const;

  // reference_engine_values.cc
  std::uint64_t special(const Thread& thread, ptx::SpecialRegister special);
  Wide value(Thread& thread, const ptx::Operand& operand, ptx::Type type);
  std::uint64_t variable_address(const Thread& thread, const ptx::Operand& operand);
  const ptx::Variable& variable(const Thread& thread, ptx::VariableId id) const;
  void write(Thread& thread, const ptx::Operand& operand, ptx::Type type, Wide bits);
  void write_predicate(Thread& thread, ptx::RegisterId reg, bool value) { if (reg != ptx::kNoRegister) thread.frames.back().registers[reg] = value ? 1 : 0; }
  void pure(Thread& thread, const ptx::Instruction& in, ptx::Exec exec);
  void pack(Thread& thread, const ptx::Instruction& in);
  const std::vector<ptx::Type>& types(const ptx::Instruction& in);

  // reference_engine_memory.cc
  // Null: outside memory, or not aligned to `bytes`.
  std::byte* locate(Thread& thread, const ptx::Instruction& in, const ptx::Operand& operand, std::uint64_t bytes, bool* in_global = nullptr);
  std::byte* generic(Thread& thread, std::uint64_t address, std::uint64_t bytes, bool* in_global);
  void load(Thread& thread, const ptx::Instruction& in);
  void store(Thread& thread, const ptx::Instruction& in);
  void atomic(Thread& thread, const ptx::Instruction& in, bool returns);
  void convert_address(Thread& thread, const ptx::Instruction& in);
  void map_address(Thread& thread, const ptx::Instruction& in);
  // Of the cluster's shared memory. An address is the offset and, from kRankShift on, the rank and one; zero there: the block's own.
  std::byte* in_cluster(std::uint64_t address, std::uint64_t bytes);
  Block& owner_of(const std::byte* at);   // whose shared memory that is
  void is_space(Thread& thread, const ptx::Instruction& in);
  void copy_async(Thread& thread, const ptx::Instruction& in);

  // reference_engine_bulk.cc
  void copy_bulk(Thread& thread, const ptx::Instruction& in);
  std::byte* locate_stretch(Thread& thread, const ptx::Instruction& in, const ptx::Operand& operand, std::uint64_t bytes);
  void copy_to_many(Thread& thread, const ptx::Instruction& in);
  void store_async(Thread& thread, const ptx::Instruction& in);
  void copy_box(Thread& thread, const ptx::Instruction& in);
  void count_bytes(Thread& thread, const ptx::Instruction& in, const ptx::Operand& barrier, std::uint64_t bytes);

  // reference_engine_texture.cc
  void texture(Thread& thread, const ptx::Instruction& in);
  void query(Thread& thread, const ptx::Instruction& in);
  void surface(Thread& thread, const ptx::Instruction& in, ptx::Exec exec);

  // reference_engine_sync.cc
  bool release_warps();
  bool release_barriers();
  void meet_cluster(Thread& thread, const ptx::Instruction& in);
  bool release_cluster();
  void collective(std::vector<Thread*>& lanes, const ptx::Instruction& in, ptx::Exec exec);
  void shuffle(std::vector<Thread*>& lanes, const ptx::Instruction& in);
  void arrive(Thread& thread, const ptx::Instruction& in, ptx::Exec exec);
  const ptx::Instruction& at(const Thread& thread) const;

  // reference_engine_mbarrier.cc
  bool mbarrier(Thread& thread, const ptx::Instruction& in);

  // reference_engine_matrix.cc
  void matrix(std::vector<Thread*>& lanes, const ptx::Instruction& in, ptx::Exec exec);
  void multiply(std::vector<Thread*>& lanes, const ptx::Instruction& in, bool is_wmma);
  void move_matrices(std::vector<Thread*>& lanes, const ptx::Instruction& in, bool load);
  void move_tile(std::vector<Thread*>& lanes, const ptx::Instruction& in, bool load);
  void warpgroup_product(std::vector<Thread*>& lanes, const ptx::Instruction& in);   // reference_engine_wgmma.cc
  std::uint64_t fragment(Thread& thread, const ptx::Operand& operand, ptx::Type type, std::size_t i);

  const ptx::Module& module_;
  ReferenceEngine::Memory& memory_;
  const std::vector<std::uint64_t>& variables_;
  const TextureTable& textures_;
  const ReferenceLaunch& launch_;
  ReferenceResult result_;
  Layout layout_;
  std::vector<Block> blocks_;                          // of the cluster that runs
  std::size_t rank_ = 0;                               // of the block whose turn it is
  Meeting meeting_;
  std::unordered_map<const ptx::Instruction*, std::vector<ptx::Type>> types_;
  std::uint64_t clock_ = 0;
};

ptx::Exec exec_of(const ptx::Instruction& in);

}  // namespace kforge::emulator::reference
