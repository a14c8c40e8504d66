// Warp and block operations of the reference engine: threads wait at the instruction; when all have come, it is done for all.
#include <algorithm>

#include "emulator/matrix_ops.h"
#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Exec;
using ptx::Instruction;
using ptx::Type;

// A group is what waits at one instruction with one member mask. activemask has none: whoever is there when no one else of the
// warp can move.
bool Run::release_warps() {
  bool released = false;
  for (std::size_t first = 0; first < block().threads.size(); first += 32) {
    const std::size_t end = std::min(first + 32, block().threads.size());
    std::uint64_t alive = 0, running = 0;
    for (std::size_t i = first; i < end; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << (i - first);
      if (block().threads[i].state != State::exited) alive |= bit;
      if (block().threads[i].state == State::running) running |= bit;
    }
    for (std::size_t i = first; i < end; ++i) {
      if (block().threads[i].state != State::at_warp) continue;
      const Instruction& in = at(block().threads[i]);
      const Exec exec = exec_of(in);
      const auto mask_of = [&](Thread& thread) {
        return exec == Exec::activemask ? 0 : is_matrix(exec) || exec == Exec::wgmma ? 0xffffffffu : static_cast<std::uint64_t>(value(thread, in.operands.back(), Type::b32));
      };
      const std::uint64_t wanted = mask_of(block().threads[i]);
      std::vector<Thread*> lanes;
      std::uint64_t here = 0;
      for (std::size_t k = first; k < end; ++k)
        if (block().threads[k].state == State::at_warp && &at(block().threads[k]) == &in && mask_of(block().threads[k]) == wanted) {
          lanes.push_back(&block().threads[k]);
          here |= std::uint64_t{1} << (k - first);
        }
      const bool complete = exec == Exec::activemask ? running == 0 : (wanted & alive & ~here) == 0;
      if (!complete) continue;
      collective(lanes, in, exec);
      for (Thread* thread : lanes) {
        thread->state = State::running;
        ++thread->frames.back().pc;
      }
      released = true;
    }
  }
  return released;
}

void Run::shuffle(std::vector<Thread*>& lanes, const Instruction& in) {
  std::uint64_t source[32] = {};
  for (Thread* thread : lanes) source[thread->lane()] = static_cast<std::uint64_t>(value(*thread, in.operands[1], Type::b32));
  for (Thread* thread : lanes) {
    const auto lane = static_cast<std::int64_t>(thread->lane());
    const auto b = static_cast<std::int64_t>(value(*thread, in.operands[2], Type::b32)) & 31;
    const auto c = static_cast<std::int64_t>(value(*thread, in.operands[3], Type::b32));
    const std::int64_t clamp = c & 31, segment = c >> 8 & 31;
    const std::int64_t max_lane = (lane & segment) | (clamp & ~segment), min_lane = lane & segment;
    std::int64_t j = 0;
    bool in_range = false;
    switch (in.mods.shuffle) {
      case ptx::ShuffleMode::up: j = lane - b; in_range = j >= max_lane; break;
      case ptx::ShuffleMode::down: j = lane + b; in_range = j <= max_lane; break;
      case ptx::ShuffleMode::bfly: j = lane ^ b; in_range = j <= max_lane; break;
      default: j = min_lane | (b & ~segment); in_range = j <= max_lane; break;
    }
    if (!in_range) j = lane;
    write(*thread, in.operands[0], Type::b32, source[j]);
    write_predicate(*thread, in.operands[0].pair, in_range);
  }
}

namespace {

std::uint64_t reduced(const Instruction& in, const std::vector<std::uint64_t>& values) {
  std::uint64_t result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) result = cut(atomic_result(in, result, values[i], 0, false), 32);
  return result;
}

}  // namespace

void Run::collective(std::vector<Thread*>& lanes, const Instruction& in, Exec exec) {
  std::uint64_t here = 0;
  for (const Thread* thread : lanes) here |= std::uint64_t{1} << thread->lane();
  if (is_matrix(exec) || exec == Exec::wgmma) return matrix(lanes, in, exec);
  if (exec == Exec::shfl) return shuffle(lanes, in);
  if (exec == Exec::bar_warp_sync) return;
  std::vector<std::uint64_t> values;
  const Type type = exec == Exec::vote ? Type::pred : in.type;
  if (exec != Exec::elect && exec != Exec::activemask)
    for (Thread* thread : lanes) values.push_back(static_cast<std::uint64_t>(value(*thread, in.operands[1], type)));
  std::uint64_t ballot = 0;
  for (std::size_t i = 0; i < values.size(); ++i) ballot |= std::uint64_t{values[i] != 0} << lanes[i]->lane();
  const bool same = std::all_of(values.begin(), values.end(), [&](std::uint64_t v) { return v == values[0]; });
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Thread& thread = *lanes[i];
    const ptx::Operand& d = in.operands[0];
    switch (exec) {
      case Exec::activemask: write(thread, d, Type::b32, here); break;
      case Exec::elect:
        write(thread, d, Type::b32, lanes[0]->lane());
        write_predicate(thread, d.pair, &thread == lanes[0]);
        break;
      case Exec::redux: write(thread, d, in.type, reduced(in, values)); break;
      case Exec::vote:
        if (in.mods.vote == ptx::VoteMode::ballot) write(thread, d, Type::b32, ballot);
        else write(thread, d, Type::pred, in.mods.vote == ptx::VoteMode::all ? ballot == here : in.mods.vote == ptx::VoteMode::any ? ballot != 0 : same);
        break;
      case Exec::match: {
        std::uint64_t equal = 0;
        for (std::size_t k = 0; k < lanes.size(); ++k) equal |= std::uint64_t{values[k] == values[i]} << lanes[k]->lane();
        if (in.mods.vote == ptx::VoteMode::all) { equal = same ? here : 0; write_predicate(thread, d.pair, same); }
        write(thread, d, Type::b32, equal);
        break;
      }
      default: break;
    }
  }
}

namespace {
struct BarrierOperands { std::size_t id = 0; std::optional<std::size_t> count, predicate; };
BarrierOperands operands_of(const Instruction& in, Exec exec) {
  BarrierOperands out;
  if (exec == Exec::bar_red) {
    out.id = 1;
    out.predicate = in.operands.size() - 1;
    if (in.operands.size() > 3) out.count = 2;
  } else if (in.operands.size() > 1) {
    out.count = 1;
  }
  return out;
}
}  // namespace

void Run::arrive(Thread& thread, const Instruction& in, Exec exec) {
  const BarrierOperands operands = operands_of(in, exec);
  Barrier& barrier = block().barriers[static_cast<std::uint64_t>(value(thread, in.operands[operands.id], Type::u32))];
  if (operands.predicate) {
    const bool holds = value(thread, in.operands[*operands.predicate], Type::pred) != 0;
    barrier.all &= holds;
    barrier.any |= holds;
    barrier.count += holds ? 1 : 0;
  }
  if (exec == Exec::bar_arrive) {
    ++barrier.arrived;
    ++thread.frames.back().pc;
  } else {
    thread.state = State::at_barrier;
  }
}

void Run::meet_cluster(Thread& thread, const Instruction& in) {
  if (ptx::instruction_table()[in.form].id == "barrier_cluster_wait") {
    thread.state = State::at_cluster;
    return;
  }
  thread.met = meeting_.phase;
  ++meeting_.arrived;
  ++thread.frames.back().pc;
}

// Who has arrived may go on when all that live have.
bool Run::release_cluster() {
  std::uint64_t alive = 0;
  for (const Block& block : blocks_)
    for (const Thread& thread : block.threads) alive += thread.state != State::exited ? 1 : 0;
  if (meeting_.arrived != 0 && meeting_.arrived >= alive) meeting_ = {0, meeting_.phase + 1};
  bool released = false;
  for (Block& block : blocks_)
    for (Thread& thread : block.threads) {
      if (thread.state != State::at_cluster || thread.met == meeting_.phase) continue;
      thread.state = State::running;
      ++thread.frames.back().pc;
      released = true;
    }
  return released;
}

bool Run::release_barriers() {
  bool released = false;
  for (auto& [id, barrier] : block().barriers) {
    std::vector<Thread*> waiting;
    std::uint64_t alive = 0, expected = 0;
    for (Thread& thread : block().threads) {
      if (thread.state == State::exited) continue;
      ++alive;
      if (thread.state != State::at_barrier) continue;
      const Instruction& in = at(thread);
      const BarrierOperands operands = operands_of(in, exec_of(in));
      if (static_cast<std::uint64_t>(value(thread, in.operands[operands.id], Type::u32)) != id) continue;
      waiting.push_back(&thread);
      if (operands.count) expected = static_cast<std::uint64_t>(value(thread, in.operands[*operands.count], Type::u32));
    }
    if (waiting.empty() || waiting.size() + barrier.arrived < (expected != 0 ? expected : alive)) continue;
    for (Thread* thread : waiting) {
      const Instruction& in = at(*thread);
      if (exec_of(in) == Exec::bar_red) {
        const bool popc = in.type == Type::u32;
        write(*thread, in.operands[0], popc ? Type::u32 : Type::pred,
              popc ? barrier.count : (in.mods.bool_op == ptx::BoolOp::and_ ? barrier.all : barrier.any) ? 1u : 0u);
      }
      thread->state = State::running;
      ++thread->frames.back().pc;
    }
    barrier = Barrier{};
    released = true;
  }
  return released;
}

}  // namespace kforge::emulator::reference
