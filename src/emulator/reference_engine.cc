#include "emulator/reference_engine.h"

#include <algorithm>
#include <cstring>

#include "emulator/reference_engine_thread.h"

namespace kforge::emulator {

std::byte* ReferenceEngine::Memory::find(std::uint64_t address, std::uint64_t size) {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin()) return nullptr;
  --it;
  const std::uint64_t offset = address - it->first;
  return offset + size <= it->second.size() ? it->second.data() + offset : nullptr;
}

ReferenceEngine::ReferenceEngine(std::shared_ptr<const ptx::Module> module) : module_(std::move(module)) { create_variables(); }

std::uint64_t ReferenceEngine::allocate(std::uint64_t bytes) {
  const std::uint64_t base = memory_.next;
  memory_.next += (bytes + 511) / 256 * 256;
  memory_.allocations[base].resize(bytes);
  return base;
}

std::span<std::byte> ReferenceEngine::bytes(std::uint64_t address) { return memory_.allocations.at(address); }

void ReferenceEngine::create_variables() {
  for (const ptx::Variable& variable : module_->variables) {
    const bool in_memory = variable.space == ptx::Space::global || variable.space == ptx::Space::constant;
    variables_.push_back(in_memory ? allocate(variable.size_bytes) : 0);
    if (in_memory) std::memcpy(bytes(variables_.back()).data(), variable.initial.data(), std::min<std::size_t>(variable.initial.size(), variable.size_bytes));
  }
  const auto address_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < module_->variables.size(); ++i)
      if (module_->variables[i].name == name) return variables_[i];
    for (std::size_t i = 0; i < module_->functions.size(); ++i)
      if (module_->functions[i].name == name) return reference::kFunctionBase + i;
    return std::uint64_t{0};
  };
  for (std::size_t i = 0; i < variables_.size(); ++i)
    for (const auto& relocation : module_->variables[i].relocations) {
      const std::uint64_t value = address_of(relocation.symbol) + static_cast<std::uint64_t>(relocation.addend);
      std::memcpy(bytes(variables_[i]).data() + relocation.offset, &value, relocation.bytes);
    }
}

ReferenceResult ReferenceEngine::launch(const ReferenceLaunch& launch) { return reference::Run(*module_, memory_, variables_, textures_, launch).run(); }

namespace reference {

using ptx::Exec;
using ptx::Instruction;

Exec exec_of(const Instruction& in) { return ptx::instruction_table()[in.form].exec; }

ReferenceResult Run::run() {
  const ptx::Function* entry = module_.find_function(launch_.kernel);
  if (entry == nullptr) { fail("no kernel of this name"); return result_; }
  const auto index = static_cast<std::uint32_t>(entry - module_.functions.data());
  lay_out(index);
  const evidence::Dim3& c = launch_.cluster;
  for (std::uint32_t z = 0; z < launch_.grid.z; z += c.z)
    for (std::uint32_t y = 0; y < launch_.grid.y; y += c.y)
      for (std::uint32_t x = 0; x < launch_.grid.x && result_.error.empty(); x += c.x) {
        blocks_.clear();
        for (std::uint32_t rank = 0; rank < c.count(); ++rank) blocks_.push_back(make_block(index, {x + rank % c.x, y + rank / c.x % c.y, z + rank / c.x / c.y}));
        meeting_ = {};
        run_cluster();
      }
  return result_;
}

Block Run::make_block(std::uint32_t entry, const evidence::Dim3& index) const {
  Block block;
  block.index = index;
  block.shared.resize(layout_.shared_bytes);
  block.threads.resize(launch_.block.count());
  for (std::uint32_t i = 0; i < block.threads.size(); ++i) {
    block.threads[i].index = i;
    block.threads[i].local.resize(local_bytes(entry));
    block.threads[i].frames.push_back(make_frame(entry));
    block.threads[i].frames.back().stack = local_bytes(entry);
  }
  return block;
}

// All shared variables of the module one after another, dynamic ones at the end.
void Run::lay_out(std::uint32_t entry) {
  const auto aligned = [](std::uint64_t at, std::uint64_t align) { return align < 2 ? at : (at + align - 1) / align * align; };
  std::uint64_t at = 0;
  const auto place = [&](const std::vector<ptx::Variable>& variables, bool dynamic) {
    for (const ptx::Variable& v : variables) {
      if (v.space != ptx::Space::shared || (v.is_extern || v.size_bytes == 0) != dynamic) continue;
      layout_.shared[&v] = dynamic ? at : at = aligned(at, v.align);
      if (!dynamic) at += v.size_bytes;
    }
  };
  for (const bool dynamic : {false, true}) {
    if (dynamic) at = aligned(at, 128);
    place(module_.variables, dynamic);
    for (const ptx::Function& function : module_.functions) place(function.variables, dynamic);
  }
  layout_.shared_bytes = at + launch_.dynamic_shared_bytes;
  std::uint64_t offset = 0;
  const ptx::Function& function = module_.functions[entry];
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    offset = aligned(offset, function.variables[i].align);
    layout_.parameters.push_back(offset);
    offset += function.variables[i].size_bytes;
  }
}

// Of its .local variables, each aligned; a multiple of 16.
std::uint64_t Run::local_bytes(std::uint32_t function) const {
  std::uint64_t at = 0;
  for (const ptx::Variable& v : module_.functions[function].variables)
    if (v.space == ptx::Space::local) at = (at + v.align - 1) / v.align * v.align + v.size_bytes;
  return (at + 15) / 16 * 16;
}

Frame Run::make_frame(std::uint32_t function) const {
  const ptx::Function& f = module_.functions[function];
  Frame frame;
  frame.function = function;
  frame.registers.resize(f.registers.size());
  frame.variables.resize(f.variables.size());
  for (std::size_t i = 0; i < f.variables.size(); ++i)
    if (f.variables[i].space == ptx::Space::param) frame.variables[i].resize(f.variables[i].size_bytes);
  return frame;
}

void Run::run_cluster() {
  while (result_.error.empty()) {
    bool moved = false;
    for (rank_ = 0; rank_ < blocks_.size() && result_.error.empty(); ++rank_) moved |= run_turn();
    if (!result_.error.empty() || release_cluster() || moved) continue;
    for (const Block& block : blocks_)
      for (const Thread& thread : block.threads)
        if (thread.state != State::exited) return fail("threads wait for one another and none can go on");
    return;
  }
}

// Threads take turns, so that one that spins on another's store gets on. False: none of the block can.
bool Run::run_turn() {
  constexpr int kTurn = 1000;
  bool moved = false;
  for (Thread& thread : block().threads)
    for (int i = 0; i < kTurn && thread.state == State::running && result_.error.empty(); ++i) {
      step(thread);
      moved = true;
    }
  if (!result_.error.empty()) return false;
  const bool warps = release_warps(), barriers = release_barriers();
  return moved || warps || barriers;
}

const Instruction& Run::at(const Thread& thread) const {
  const Frame& frame = thread.frames.back();
  return module_.functions[frame.function].instructions[frame.pc];
}

void Run::step(Thread& thread) {
  Frame& frame = thread.frames.back();
  const ptx::Function& function = module_.functions[frame.function];
  if (frame.pc >= function.instructions.size()) return leave(thread);
  if (++result_.thread_instructions > launch_.instruction_limit) return fail("the instruction limit is exceeded");
  const Instruction& in = function.instructions[frame.pc];
  if (in.guard && (frame.registers[in.guard->reg] != 0) == in.guard->negated) { ++frame.pc; return; }
  execute(thread, in, exec_of(in));
  if (!result_.error.empty() && result_.error.find("line ") == std::string::npos)
    result_.error += " (PTX line " + std::to_string(in.line) + ", " + std::string(ptx::instruction_table()[in.form].id) + ")";
}

bool Run::control(Thread& thread, const Instruction& in, Exec exec) {
  Frame& frame = thread.frames.back();
  switch (exec) {
    case Exec::bra: frame.pc = in.operands[0].target; return true;
    case Exec::brx: {
      const auto index = static_cast<std::uint64_t>(value(thread, in.operands[0], ptx::Type::u32));
      if (index >= in.targets.size()) fail("brx.idx beyond its targets");
      else frame.pc = in.targets[index];
      return true;
    }
    case Exec::call: call(thread, in); return true;
    case Exec::ret: leave(thread); return true;
    case Exec::exit: thread.state = State::exited; return true;
    case Exec::trap: case Exec::brkpt: fail("trap"); return true;
    case Exec::shfl: case Exec::vote: case Exec::match: case Exec::redux: case Exec::elect: case Exec::activemask: case Exec::bar_warp_sync: case Exec::ldmatrix:
    case Exec::stmatrix: case Exec::movmatrix: case Exec::mma: case Exec::wgmma: case Exec::wmma_load: case Exec::wmma_store: case Exec::wmma_mma:
      thread.state = State::at_warp;
      return true;
    case Exec::bar_sync: case Exec::bar_arrive: case Exec::bar_red: arrive(thread, in, exec); return true;
    case Exec::barrier_cluster: meet_cluster(thread, in); return true;
    default: return false;
  }
}

void Run::execute(Thread& thread, const Instruction& in, Exec exec) {
  if (control(thread, in, exec)) return;
  switch (exec) {
    case Exec::ld: case Exec::ldu: load(thread, in); break;
    case Exec::st: store(thread, in); break;
    case Exec::atom: atomic(thread, in, true); break;
    case Exec::red: atomic(thread, in, false); break;
    case Exec::cvta: convert_address(thread, in); break;
    case Exec::isspacep: is_space(thread, in); break;
    case Exec::createpolicy: 
      write(thread, in.operands[0], ptx::Type::b64, in.operands.size() == 2 && types(in)[1] == ptx::Type::b64 ? value(thread, in.operands[1], ptx::Type::b64) : 1ull << 60);
      break;
    case Exec::mapa: map_address(thread, in); break;
    case Exec::mov_pack: pack(thread, in); break;
    case Exec::alloca_: case Exec::stacksave: case Exec::stackrestore: stack(thread, in, exec); break;
    case Exec::tex: texture(thread, in); break;
    case Exec::tex_query: query(thread, in); break;
    case Exec::suld: case Exec::sust: case Exec::sured: surface(thread, in, exec); break;
    case Exec::cp_async: copy_async(thread, in); break;
    case Exec::mbarrier: case Exec::mbarrier_update: mbarrier(thread, in); break;
    case Exec::cp_async_bulk: copy_bulk(thread, in); break;
    case Exec::cp_async_bulk_commit: case Exec::cp_async_bulk_wait: case Exec::wgmma_fence: case Exec::wgmma_commit: case Exec::wgmma_wait: case Exec::setmaxnreg:
    case Exec::cp_async_commit: case Exec::cp_async_wait: case Exec::membar: case Exec::fence: case Exec::fence_proxy: case Exec::nanosleep:
    case Exec::pmevent: case Exec::prefetch: case Exec::discard: case Exec::griddepcontrol: case Exec::nop: break;
    default: pure(thread, in, exec);
  }
  if (result_.error.empty()) ++thread.frames.back().pc;
}

void Run::call(Thread& thread, const Instruction& in) {
  const Instruction::Call& call = *in.call;
  Frame& caller = thread.frames.back();
  std::uint64_t target = 0;
  if (call.function) target = *call.function;
  else target = static_cast<std::uint64_t>(caller.registers[call.pointer]) - kFunctionBase;
  if (target >= module_.functions.size() || module_.functions[target].instructions.empty()) return fail("a call of a function without a body");
  const ptx::Function& f = module_.functions[target];
  Frame callee = make_frame(static_cast<std::uint32_t>(target));
  callee.call = &in;
  callee.local_base = (caller.stack + 15) / 16 * 16;
  callee.stack = callee.local_base + local_bytes(callee.function);
  if (thread.frames.size() >= 1000) return fail("the call stack overflows");
  thread.local.resize(callee.stack);
  for (std::size_t i = 0; i < call.arguments.size() && i < f.parameter_count; ++i) {
    const ptx::Operand& argument = call.arguments[i];
    std::vector<std::byte>& to = callee.variables[i];
    if (argument.kind == ptx::Operand::Kind::symbol) {
      const std::vector<std::byte>& from = caller.variables[argument.variable->index];
      std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
    } else {
      const Wide bits = value(thread, argument, ptx::Type::b64);
      std::memcpy(to.data(), &bits, std::min(to.size(), sizeof bits));
    }
  }
  thread.frames.push_back(std::move(callee));
}

void Run::stack(Thread& thread, const Instruction& in, Exec exec) {
  Frame& frame = thread.frames.back();
  if (exec == Exec::stackrestore) { frame.stack = static_cast<std::uint64_t>(value(thread, in.operands[0], in.type)); return; }
  if (exec == Exec::alloca_) {
    const std::uint64_t align = in.operands.size() > 2 ? in.operands[2].bits : 8, first = (frame.stack + align - 1) / align * align;
    frame.stack = first + static_cast<std::uint64_t>(value(thread, in.operands[1], in.type));
    thread.local.resize(frame.stack);
    return write(thread, in.operands[0], in.type, first);
  }
  write(thread, in.operands[0], in.type, frame.stack);
}

void Run::leave(Thread& thread) {
  if (thread.frames.size() == 1) { thread.state = State::exited; return; }
  const Frame callee = std::move(thread.frames.back());
  thread.frames.pop_back();
  Frame& caller = thread.frames.back();
  const ptx::Function& f = module_.functions[callee.function];
  for (std::size_t i = 0; i < callee.call->call->returns.size() && i < f.return_count; ++i) {
    const ptx::Operand& result = callee.call->call->returns[i];
    const std::vector<std::byte>& from = callee.variables[f.parameter_count + i];
    if (result.kind == ptx::Operand::Kind::symbol) {
      std::vector<std::byte>& to = caller.variables[result.variable->index];
      std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
    } else if (result.kind == ptx::Operand::Kind::reg) {
      Wide bits = 0;
      std::memcpy(&bits, from.data(), std::min(from.size(), sizeof bits));
      caller.registers[result.reg] = bits;
    }
  }
  ++caller.pc;
}

}  // namespace reference
}  // namespace kforge::emulator
