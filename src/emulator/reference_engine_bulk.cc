// Bulk copies of the reference engine, done at once, element by element: the destination, the mbarrier and the order of dimensions as the manual's
// sections 9.7.9.25.4 and 9.7.9.25.5 have them.
#include <cstring>

#include "emulator/reference_engine_thread.h"
#include "emulator/tensor_map.h"

namespace kforge::emulator::reference {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

void reduce(Instruction in, Type type, std::byte* to, const std::byte* from, std::uint64_t bytes) {
  in.type = type;
  const std::uint64_t width = ptx::size_bytes(type);
  for (std::uint64_t at = 0; at + width <= bytes; at += width) {
    std::uint64_t old = 0, other = 0;
    std::memcpy(&old, to + at, width);
    std::memcpy(&other, from + at, width);
    const std::uint64_t result = atomic_result(in, old, other, 0, true);
    std::memcpy(to + at, &result, width);
  }
}

Type element_type(std::uint8_t number) {
  switch (number) {
    case 3: return Type::s32;
    case 4: return Type::u64;
    case 5: return Type::s64;
    case 6: return Type::f16;
    case 8: return Type::f64;
    case 9: return Type::bf16;
    case 0: case 1: case 2: return Type::u32;
    default: return Type::f32;
  }
}

}  // namespace

// The first of `bytes` bytes, a multiple of 16, that begin at a multiple of 16.
std::byte* Run::locate_stretch(Thread& thread, const Instruction& in, const Operand& operand, std::uint64_t bytes) {
  std::byte* const first = locate(thread, in, operand, 16);
  Operand end = operand;
  end.offset += static_cast<std::int64_t>(bytes) - 16;
  std::byte* const last = locate(thread, in, end, 16);
  return first != nullptr && last == first + (bytes - 16) ? first : nullptr;
}

void Run::copy_bulk(Thread& thread, const Instruction& in) {
  const std::string_view id = ptx::instruction_table()[in.form].id;
  if (id.find("prefetch") != std::string_view::npos) return;
  if (id.find("multicast") != std::string_view::npos) return copy_to_many(thread, in);
  if (id.find("tensor") != std::string_view::npos) return copy_box(thread, in);
  if (id.starts_with("st_async") || id.starts_with("red_async")) return store_async(thread, in);
  const bool remote = id.find("remote") != std::string_view::npos, loads = remote || id.find("load") != std::string_view::npos;
  const auto bytes = static_cast<std::uint64_t>(value(thread, in.operands[2], Type::u32));
  Instruction as_global = in, as_shared = in;
  as_global.mods.space = Space::global;
  as_shared.mods.space = Space::shared;
  if (bytes % 16 != 0) return fail("a bulk copy of bytes that are no multiple of 16");
  std::byte* to = locate_stretch(thread, loads ? as_shared : as_global, in.operands[0], bytes);
  std::byte* from = locate_stretch(thread, loads && !remote ? as_global : as_shared, in.operands[1], bytes);
  if (to == nullptr || from == nullptr) return fail("a bulk copy outside memory");
  if (in.mods.atom_op != ptx::AtomOp::none) return reduce(in, in.type, to, from, bytes);
  std::memcpy(to, from, bytes);
  if (loads) count_bytes(thread, in, in.operands[3], bytes);
}

// st.async and red.async, done at once.
void Run::store_async(Thread& thread, const Instruction& in) {
  Instruction as_shared = in;
  as_shared.mods.space = Space::shared;
  const std::size_t width = ptx::size_bytes(in.type);
  const Operand& data = in.operands[1];
  const bool vector = data.kind == Operand::Kind::vector;
  const std::size_t count = vector ? data.elements.size() : 1;
  std::byte* const at = locate(thread, as_shared, in.operands[0], width * count);
  if (at == nullptr) return fail("an asynchronous store outside memory");
  for (std::size_t k = 0; k < count; ++k) {
    auto bits = static_cast<std::uint64_t>(value(thread, vector ? data.elements[k] : data, in.type));
    if (in.mods.atom_op != ptx::AtomOp::none) {
      std::uint64_t old = 0;
      std::memcpy(&old, at, width);
      bits = atomic_result(in, old, bits, 0, false);
    }
    std::memcpy(at + k * width, &bits, width);
  }
  count_bytes(thread, in, in.operands[2], width * count);
}

// The same copy as each block of the mask would make it for itself.
void Run::copy_to_many(Thread& thread, const Instruction& in) {
  Instruction single = in;
  const std::string single_id = [&] {
    std::string id(ptx::instruction_table()[in.form].id);
    return id.erase(id.find("_multicast"));
  }();
  const auto table = ptx::instruction_table();
  for (std::uint16_t form = 0; form < table.size(); ++form)
    if (table[form].id == single_id) single.form = form;
  const std::size_t mask_at = single_id.find("tensor") != std::string::npos ? 3 : 4;
  const auto mask = static_cast<std::uint32_t>(value(thread, in.operands[mask_at], Type::b16));
  const std::size_t own = rank_;
  for (rank_ = 0; rank_ < blocks_.size(); ++rank_)
    if ((mask >> rank_ & 1) != 0) copy_bulk(thread, single);
  rank_ = own;
}

void Run::count_bytes(Thread& thread, const Instruction& in, const Operand& barrier, std::uint64_t bytes) {
  Instruction as_shared = in;
  as_shared.mods.space = Space::shared;
  const std::byte* at = locate(thread, as_shared, barrier, 8);
  if (at == nullptr) return fail("an mbarrier object outside memory");
  Block& owner = owner_of(at);
  Mbarrier& object = owner.mbarriers[static_cast<std::uint64_t>(at - owner.shared.data())];
  object.bytes -= static_cast<std::int64_t>(bytes);
  if (object.awaited > 0 || object.bytes != 0) return;
  ++object.phase;
  object.awaited = object.expected;
}

void Run::copy_box(Thread& thread, const Instruction& in) {
  const bool loads = in.operands[0].kind == Operand::Kind::address;
  const Operand& tensor = in.operands[loads ? 1 : 0];
  TensorMap map;
  const std::byte* bits = memory_.find(static_cast<std::uint64_t>(thread.frames.back().registers[tensor.elements[0].reg]), 128);
  if (bits == nullptr) return fail("a tensor map outside memory");
  std::memcpy(&map, bits, sizeof map);
  std::int64_t corner[5] = {}, count[5] = {1, 1, 1, 1, 1};
  const std::vector<Operand>& coordinates = tensor.elements[1].elements;
  for (std::size_t i = 0; i < map.rank; ++i) {
    const Operand& c = tensor.elements[1].kind == Operand::Kind::vector ? coordinates[i] : tensor.elements[1];
    corner[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(value(thread, c, Type::b32)));
    const std::int64_t step = i == 0 ? 1 : map.element_strides[i];
    count[i] = (map.box[i] + step - 1) / step;
  }
  Instruction as_shared = in;
  as_shared.mods.space = Space::shared;
  const std::uint64_t width = tensor_element_bytes(map.type), all = static_cast<std::uint64_t>(count[0] * count[1] * count[2] * count[3] * count[4]);
  std::byte* const base = locate_stretch(thread, as_shared, in.operands[loads ? 0 : 1], width * all);
  if (base == nullptr) return fail("a box outside shared memory");
  Block& owner = owner_of(base);
  const auto first = static_cast<std::uint64_t>(base - owner.shared.data());
  for (std::uint64_t n = 0; n < all; ++n) {
    std::uint64_t rest = n, global = map.address;
    bool inside = true;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::int64_t index = static_cast<std::int64_t>(rest % static_cast<std::uint64_t>(count[i]));
      rest /= static_cast<std::uint64_t>(count[i]);
      if (i >= map.rank) continue;
      const std::int64_t place = corner[i] + index * (i == 0 ? 1 : map.element_strides[i]);
      inside = inside && place >= 0 && place < static_cast<std::int64_t>(map.dims[i]);
      global += static_cast<std::uint64_t>(place) * (i == 0 ? width : map.strides[i - 1]);
    }
    // A swizzle of 32, 64 or 128 bytes exchanges 2, 4 or 8 pieces of 16 bytes by the number of the 128-byte line.
    std::uint64_t at = first + n * width;
    const std::uint64_t pieces = std::uint64_t{1} << map.swizzle, piece = at / 16 % pieces;
    at = at - piece * 16 + (piece ^ (at / 128 % pieces)) * 16;
    std::byte* const own = owner.shared.data() + at;
    std::byte* const other = inside ? memory_.find(global, width) : nullptr;
    if (inside && other == nullptr) return fail("a tensor outside memory");
    if (loads && inside) std::memcpy(own, other, width);
    if (loads && !inside) {
      const bool is_float = map.type >= 6 && map.type <= 12;
      const std::uint64_t nan = ~(std::uint64_t{1} << (8 * width - 1)), outside = map.fill == 1 && is_float ? nan : 0;
      std::memcpy(own, &outside, width);
    }
    if (!loads && inside && in.mods.atom_op == ptx::AtomOp::none) std::memcpy(other, own, width);
    if (!loads && inside && in.mods.atom_op != ptx::AtomOp::none) reduce(in, element_type(map.type), other, own, width);
  }
  if (loads) count_bytes(thread, in, in.operands[2], width * all);
}

}  // namespace kforge::emulator::reference
