// mbarrier objects of the reference engine: an object is a struct beside memory, found by its address; its 8 bytes hold nothing.
#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

// The state that an arrival returns: the phase in which it arrived, above what it then awaited.
bool Run::mbarrier(Thread& thread, const Instruction& in) {
  const std::string_view id = ptx::instruction_table()[in.form].id;
  const std::vector<Type>& types = this->types(in);
  if (id == "mbarrier_pending_count") {
    write(thread, in.operands[0], Type::u32, value(thread, in.operands[1], Type::b64) & 0xffffffff);
    return true;
  }
  std::size_t address = 0;
  while (in.operands[address].kind != Operand::Kind::address) ++address;
  std::byte* at = locate(thread, in, in.operands[address], 8);
  if (at == nullptr) { fail("an mbarrier object outside memory"); return false; }
  Block& owner = owner_of(at);
  const auto place = static_cast<std::uint64_t>(at - owner.shared.data());
  const auto number = [&]() -> std::uint64_t { return in.operands.size() > address + 1 ? static_cast<std::uint64_t>(value(thread, in.operands[address + 1], types[address + 1])) : 1; };
  Mbarrier& object = owner.mbarriers[place];
  const auto end_phase = [&] {
    if (object.awaited > 0 || object.bytes != 0) return;
    ++object.phase;
    object.awaited = object.expected;
  };
  const std::uint64_t state = object.phase << 32 | static_cast<std::uint64_t>(object.awaited);
  if (id.starts_with("mbarrier_init")) {
    object = {};
    object.expected = object.awaited = static_cast<std::int64_t>(number());
  } else if (id.starts_with("mbarrier_inval")) {
    owner.mbarriers.erase(place);
  } else if (id.starts_with("mbarrier_expect_tx")) {
    object.bytes += static_cast<std::int64_t>(number());
  } else if (id.starts_with("mbarrier_complete_tx")) {
    object.bytes -= static_cast<std::int64_t>(number());
    end_phase();
  } else if (id.starts_with("mbarrier_arrive") || id.starts_with("cp_async")) {
    const bool transaction = id.starts_with("mbarrier_arrive_expect_tx"), copies = id.starts_with("cp_async");
    const auto count = static_cast<std::int64_t>(transaction || copies ? 1 : number());
    if (transaction) object.bytes += static_cast<std::int64_t>(number());
    if (id.starts_with("mbarrier_arrive_drop")) object.expected -= count;
    if (!copies || in.mods.text.find("noinc") != std::string::npos) object.awaited -= count;
    end_phase();
    if (!copies) write(thread, in.operands[0], Type::b64, state);
  } else {   // waits
    const bool by_parity = id.find("parity") != std::string_view::npos;
    write(thread, in.operands[0], Type::pred, by_parity ? object.phase % 2 != (number() & 1) : object.phase != number() >> 32);
  }
  return true;
}

}  // namespace kforge::emulator::reference
