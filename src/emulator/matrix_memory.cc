// Each 8 x 8 matrix of ldmatrix and stmatrix is one request of 32 lanes, in which lane 4r + c has the c-th 4 bytes of row r: the words
// that it gets itself when nothing is transposed. So sectors, banks, races and unwritten bytes are those of such a load.
#include "emulator/matrix_memory.h"

#include "emulator/alu.h"
#include "emulator/fragment_wide.h"
#include "emulator/lane_access.h"
#include "emulator/matrix_shape.h"
#include "emulator/matrix_wide.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Type;

const ptx::Operand& data_element(const Op& op, std::size_t operand, std::size_t k) {
  const ptx::Operand& whole = op.source->operands[operand];
  return whole.kind == ptx::Operand::Kind::vector ? whole.elements[k] : whole;
}

Request row_request(const Warp& w, const Op& op, const LaneAddresses& rows, std::uint32_t matrix, Direction direction) {
  Request request;
  request.mask = kFullMask;
  request.bytes = 4;
  request.space = op.source->mods.space;
  request.direction = direction;
  for (std::uint32_t lane = 0; lane < 32; ++lane) request.addresses[lane] = rows[8 * matrix + lane / 4] + 4 * (lane % 4);
  (void)w;
  return request;
}

// The lane whose word holds element (row, column), and which half of it.
std::uint32_t holder(std::uint32_t row, std::uint32_t column) { return 4 * row + column / 2; }

// Lane 4r + c gets elements (2c, r) and (2c + 1, r) in place of (r, 2c) and (r, 2c + 1); its own inverse.
void transpose(LaneElements& x) {
  const LaneElements from = x;
  x.undefined.lanes = {};
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    x.value[lane] = 0;
    for (std::uint32_t e = 0; e < 2; ++e) {
      const std::uint32_t row = 2 * (lane % 4) + e, column = lane / 4, other = holder(row, column), part = column % 2;
      x.value[lane] |= (from.value[other] >> 16 * part & 0xffff) << 16 * e;
      for (std::uint32_t b = 0; b < 2; ++b) x.undefined.lanes[2 * e + b] |= (from.undefined.lanes[2 * part + b] >> other & 1) << lane;
    }
  }
}

template <Variant kVariant>
Flow run_ldmatrix(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  if constexpr (Observes<kVariant>::safety) check_address(w, op, 0, mask);
  LaneAddresses rows;
  lane_addresses(w, op, 0, kFullMask, rows);
  const bool transposed = has_word(op.source->mods.text, "trans");
  LaneElements elements[4];
  for (std::uint32_t j = 0; j < op.list_count; ++j)
    if (const Flow flow = load_elements<kVariant>(w, op, row_request(w, op, rows, j, Direction::load), elements[j]); flow != Flow::next) return flow;
  for (std::uint32_t j = 0; j < op.list_count; ++j) {
    if (transposed) transpose(elements[j]);
    for_lanes(mask, [&](std::uint32_t i) { put<std::uint32_t>(w.at(op.list[j]), i, static_cast<std::uint32_t>(elements[j].value[i])); });
    if constexpr (Observes<kVariant>::safety) assign_undefined(w, data_element(op, 0, j), elements[j].undefined, mask);
  }
  return Flow::next;
}

template <Variant kVariant>
Flow run_stmatrix(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  if constexpr (Observes<kVariant>::safety) check_address(w, op, 0, mask);
  LaneAddresses rows;
  lane_addresses(w, op, 0, kFullMask, rows);
  for (std::uint32_t j = 0; j < op.list_count; ++j) {
    LaneElements elements;
    for (std::uint32_t i = 0; i < 32; ++i) elements.value[i] = get<std::uint32_t>(w.at(op.list[j]), i);
    if constexpr (Observes<kVariant>::safety)
      if (const UndefinedBytes* undefined = undefined_operand(w, data_element(op, 1, j)); undefined != nullptr) elements.undefined = *undefined;
    if (has_word(op.source->mods.text, "trans")) transpose(elements);
    if (const Flow flow = store_elements<kVariant>(w, op, row_request(w, op, rows, j, Direction::store), elements); flow != Flow::next) return flow;
  }
  return Flow::next;
}

template <Variant kVariant>
Flow run_movmatrix(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  LaneElements elements;
  for (std::uint32_t i = 0; i < 32; ++i) elements.value[i] = get<std::uint32_t>(w.at(op.list[1]), i);
  if constexpr (Observes<kVariant>::safety)
    if (const UndefinedBytes* undefined = undefined_operand(w, op.source->operands[1]); undefined != nullptr) elements.undefined = *undefined;
  transpose(elements);
  for_lanes(mask, [&](std::uint32_t i) { put<std::uint32_t>(w.at(op.list[0]), i, static_cast<std::uint32_t>(elements.value[i])); });
  if constexpr (Observes<kVariant>::safety) assign_undefined(w, op.source->operands[0], elements.undefined, mask);
  return Flow::next;
}

// ---- wmma ----------------------------------------------------------------------------------------------------------

// How a fragment lies in memory.
struct Tiling {
  Fragment which = Fragment::c;
  MatrixShape shape;
  Type type = Type::none;
  bool by_rows = true;
  std::uint32_t registers = 0;
  std::uint32_t elements = 1;          // of a register
  bool together = true;                // a register's elements are neighbours: one access
  std::uint32_t element_bits = 32;
  bool paired = false;                 // registers 2h and 2h + 1 are neighbours: one access of the machine, STG.64 of f32
  std::uint32_t register_bytes() const { return type == Type::f64 ? 8 : 4; }
};

[[gnu::always_inline]] inline Tiling tiling_of(const Op& op, Exec exec) {
  const ptx::Instruction& in = *op.source;
  Tiling t;
  if (exec == Exec::wmma_load) t.which = static_cast<Fragment>(op.wide >> 1);
  t.shape = MatrixShape::unpack(op.target);
  t.type = in.type;
  t.by_rows = (op.wide & 1) != 0;
  t.registers = op.list_count;
  t.elements = elements_per_register(in.type);
  t.element_bits = in.type == Type::tf32 ? 32 : ptx::size_bits(in.type);
  t.together = t.elements == 1 || t.by_rows == (t.which != Fragment::b);
  t.paired = t.which == Fragment::c && t.by_rows && t.elements == 1;
  return t;
}

// Elements from one row (column) to the next where the instruction gives no stride.
std::uint64_t natural_stride(const Tiling& t) {
  const std::uint32_t columns = t.which == Fragment::a ? t.shape.k : t.shape.n, rows = t.which == Fragment::b ? t.shape.k : t.shape.m;
  return t.by_rows ? columns : rows;
}

// Where the elements of a fragment lie. fragment_place is linear in lane / 4 and lane % 4, so a lane's place in any register is its
// place in register 0 moved by the register's: what depends on lanes is worked out once an instruction.
class TileRequests {
 public:
  TileRequests(const Warp& w, const Op& op, const Tiling& t, Direction direction) : t_(t) {
    request_.mask = kFullMask;
    request_.bytes = t.together ? t.register_bytes() : t.element_bits / 8;
    request_.space = op.source->mods.space;
    request_.direction = direction;
    request_.counts = !t.paired;
    lane_addresses(w, op, 0, kFullMask, base_);
    const bool has_stride = op.source->operands.size() > 2;
    const auto place = [&](std::uint32_t lane) { return fragment_place(t.which, t.shape, t.type, 0, lane); };
    const FragmentPlace origin = place(0), beside = place(1), below = place(4);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint64_t stride = t.element_bits * (has_stride ? get<std::uint32_t>(w.at(op.r[2]), lane) : natural_stride(t));
      row_[lane] = t.by_rows ? stride : t.element_bits;
      column_[lane] = t.by_rows ? t.element_bits : stride;
      const std::uint64_t row = origin.row + lane % 4 * (beside.row - origin.row) + lane / 4 * (below.row - origin.row);
      const std::uint64_t column = origin.column + lane % 4 * (beside.column - origin.column) + lane / 4 * (below.column - origin.column);
      first_[lane] = row * row_[lane] + column * column_[lane];
    }
  }

  // Part `part` of register `reg`: the whole of it, or one of its elements.
  const Request& at(std::uint32_t reg, std::uint32_t part) {
    const std::uint32_t once = fragment_registers(t_.which, t_.shape, t_.type);
    FragmentPlace moved = fragment_place(t_.which, t_.shape, t_.type, reg % std::max(1u, once), 0);
    (t_.which == Fragment::b ? moved.row : moved.column) += part;
    for (std::uint32_t lane = 0; lane < 32; ++lane) request_.addresses[lane] = base_[lane] + (first_[lane] + moved.row * row_[lane] + moved.column * column_[lane]) / 8;
    return request_;
  }

  // Registers `reg` and the next one as the machine moves them.
  Request pair(std::uint32_t reg) {
    Request both = at(reg, 0);
    both.bytes *= 2;
    both.counts = true;
    return both;
  }

 private:
  const Tiling& t_;
  Request request_;
  LaneAddresses base_{};
  LaneAddresses first_{}, row_{}, column_{};   // in bits: of register 0, and from one row, and one column, to the next
};

std::uint32_t parts_of(const Tiling& t) { return t.together ? 1 : t.elements; }

// Where nothing observes, and every lane names one place and one stride, as it should: a fragment that lies in one window as a whole.
// Its elements are those of TileRequests.
struct Straight {
  std::byte* data = nullptr;           // null: the long way, which also finds what is wrong
  std::uint64_t row = 0, column = 0;   // bytes from one row, and one column, to the next
};

template <class T>
bool is_uniform(const std::byte* slot) {
  if (has_avx512()) return avx512::is_uniform(slot, sizeof(T));
  if (has_avx2()) return avx2::is_uniform(slot, sizeof(T));
  T first, different{};
  std::memcpy(&first, slot, sizeof first);
  for (std::uint32_t i = 0; i < 32; ++i) different |= get<T>(slot, i) ^ first;
  return different == 0;
}

[[gnu::always_inline]] inline Straight straight_of(const Warp& w, const Op& op, const Tiling& t, Direction direction) {
  const bool is_wide = (op.flags & 1) != 0, has_stride = op.source->operands.size() > 2;
  const std::byte* base = w.at(op.r[0]);
  if (!t.together || t.element_bits < 8 || !(is_wide ? is_uniform<std::uint64_t>(base) : is_uniform<std::uint32_t>(base))) return {};
  if (has_stride && !is_uniform<std::uint32_t>(w.at(op.r[2]))) return {};
  Address first = is_wide ? get<std::uint64_t>(base, 0) + static_cast<std::uint64_t>(op.immediate) : (get<std::uint32_t>(base, 0) + static_cast<std::uint64_t>(op.immediate)) & 0xffffffffu;
  const std::uint64_t element = t.element_bits / 8, stride = element * (has_stride ? get<std::uint32_t>(w.at(op.r[2]), 0) : natural_stride(t));
  const std::uint64_t rows = t.which == Fragment::b ? t.shape.k : t.shape.m, columns = t.which == Fragment::a ? t.shape.k : t.shape.n;
  const std::uint64_t bytes = element + stride * ((t.by_rows ? rows : columns) - 1) + element * ((t.by_rows ? columns : rows) - 1);
  if (((first | stride) & (t.register_bytes() - 1)) != 0 || bytes >> 31 != 0) return {};
  Straight found{nullptr, t.by_rows ? stride : element, t.by_rows ? element : stride};
  const ptx::Space space = op.source->mods.space;
  const bool in_window = space != ptx::Space::shared && space != ptx::Space::global && space_of(first) == ptx::Space::shared;
  if (in_window) first -= kSharedWindow;
  if (in_window || space == ptx::Space::shared) {
    if (first <= w.launch->shared_bytes && bytes <= w.launch->shared_bytes - first) found.data = w.block->shared.data() + first;
    return found;
  }
  Allocation* allocation = w.launch->memory->find(first);
  if (allocation == nullptr || bytes > allocation->size - (first - allocation->base) || (direction == Direction::store && allocation->read_only)) return {};
  found.data = allocation->data + (first - allocation->base);
  return found;
}

// Every register: body(its slot, the place of lane 0, from one row or column to the next, from one lane of it to the next).
template <class Body>
void walk_straight(Warp& w, const Op& op, const Tiling& t, const Straight& from, Body&& body) {
  const std::uint32_t once = t.registers == 1 ? 1 : std::max(1u, fragment_registers(t.which, t.shape, t.type));
  const std::uint64_t group = t.which == Fragment::b ? from.column : from.row, lane = (t.which == Fragment::b ? from.row : from.column) * (t.which == Fragment::c ? 2 : t.elements);
  for (std::uint32_t j = 0; j < t.registers; ++j) {
    const FragmentPlace place = once == 1 ? FragmentPlace{} : fragment_place(t.which, t.shape, t.type, j % once, 0);
    std::byte* start = from.data + place.row * from.row + place.column * from.column;
    body(w.at(op.list[j]), start, group, lane);
  }
}

template <class T>
void load_straight(Warp& w, const Op& op, const Tiling& t, const Straight& from) {
  walk_straight(w, op, t, from, [](std::byte* slot, const std::byte* start, std::uint64_t group, std::uint64_t lane) {
    if (has_avx512()) return avx512::load_fragment(slot, start, {static_cast<std::int32_t>(group), static_cast<std::int32_t>(lane)}, sizeof(T));
    if (has_avx2()) return avx2::load_fragment(slot, start, {static_cast<std::int32_t>(group), static_cast<std::int32_t>(lane)}, sizeof(T));
    for (std::uint64_t i = 0; i < 32; ++i) std::memcpy(slot + i * sizeof(T), start + i / 4 * group + i % 4 * lane, sizeof(T));
  });
}

template <class T>
void store_straight(Warp& w, const Op& op, const Tiling& t, const Straight& to) {
  walk_straight(w, op, t, to, [](const std::byte* slot, std::byte* start, std::uint64_t group, std::uint64_t lane) {
    if (has_avx512()) return avx512::store_fragment(slot, start, {static_cast<std::int32_t>(group), static_cast<std::int32_t>(lane)}, sizeof(T));
    if (has_avx2()) return avx2::store_fragment(slot, start, {static_cast<std::int32_t>(group), static_cast<std::int32_t>(lane)}, sizeof(T));
    for (std::uint64_t i = 0; i < 32; ++i) std::memcpy(start + i / 4 * group + i % 4 * lane, slot + i * sizeof(T), sizeof(T));
  });
}

template <Variant kVariant>
Flow run_wmma_load(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  if constexpr (Observes<kVariant>::safety) check_address(w, op, 0, mask);
  const Tiling t = tiling_of(op, Exec::wmma_load);
  if constexpr (kVariant == Variant::plain)
    if (const Straight from = straight_of(w, op, t, Direction::load); mask == kFullMask && from.data != nullptr) {
      t.register_bytes() == 8 ? load_straight<std::uint64_t>(w, op, t, from) : load_straight<std::uint32_t>(w, op, t, from);
      return Flow::next;
    }
  const std::uint32_t once = std::max(1u, fragment_registers(t.which, t.shape, t.type));
  TileRequests requests(w, op, t, Direction::load);
  LaneElements registers[16];
  for (std::uint32_t j = 0; j < t.registers; ++j) {
    if (j >= once) {   // a repetition
      registers[j] = registers[j % once];
      continue;
    }
    if constexpr (Observes<kVariant>::profile)
      if (t.paired && j % 2 == 0) count_elements(w, op, requests.pair(j));
    for (std::uint32_t part = 0; part < parts_of(t); ++part) {
      LaneElements elements;
      if (const Flow flow = load_elements<kVariant>(w, op, requests.at(j, part), elements); flow != Flow::next) return flow;
      const std::uint32_t shift = part * t.element_bits;
      for (std::uint32_t i = 0; i < 32; ++i) registers[j].value[i] |= elements.value[i] << shift;
      for (std::uint32_t b = 0; b + shift / 8 < 8; ++b) registers[j].undefined.lanes[b + shift / 8] |= elements.undefined.lanes[b];
      if (registers[j].undefined.origin == 0) registers[j].undefined.origin = elements.undefined.origin;
    }
  }
  for (std::uint32_t j = 0; j < t.registers; ++j) {
    for_lanes(mask, [&](std::uint32_t i) {
      if (t.register_bytes() == 8) put<std::uint64_t>(w.at(op.list[j]), i, registers[j].value[i]);
      else put<std::uint32_t>(w.at(op.list[j]), i, static_cast<std::uint32_t>(registers[j].value[i]));
    });
    if constexpr (Observes<kVariant>::safety) assign_undefined(w, data_element(op, 0, j), registers[j].undefined, mask);
  }
  return Flow::next;
}

template <Variant kVariant>
Flow run_wmma_store(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  if constexpr (Observes<kVariant>::safety) check_address(w, op, 0, mask);
  const Tiling t = tiling_of(op, Exec::wmma_store);
  if constexpr (kVariant == Variant::plain)
    if (const Straight to = straight_of(w, op, t, Direction::store); mask == kFullMask && to.data != nullptr) {
      t.register_bytes() == 8 ? store_straight<std::uint64_t>(w, op, t, to) : store_straight<std::uint32_t>(w, op, t, to);
      ++w.launch->stores;
      return Flow::next;
    }
  TileRequests requests(w, op, t, Direction::store);
  for (std::uint32_t j = 0; j < t.registers; ++j) {
    if constexpr (Observes<kVariant>::profile)
      if (t.paired && j % 2 == 0) count_elements(w, op, requests.pair(j));
    for (std::uint32_t part = 0; part < parts_of(t); ++part) {
      LaneElements elements;
      const std::uint32_t shift = part * t.element_bits;
      for (std::uint32_t i = 0; i < 32; ++i)
        elements.value[i] = (t.register_bytes() == 8 ? get<std::uint64_t>(w.at(op.list[j]), i) : get<std::uint32_t>(w.at(op.list[j]), i)) >> shift;
      if constexpr (Observes<kVariant>::safety)
        if (const UndefinedBytes* undefined = undefined_operand(w, data_element(op, 1, j)); undefined != nullptr) {
          for (std::uint32_t b = 0; b + shift / 8 < 8; ++b) elements.undefined.lanes[b] = undefined->lanes[b + shift / 8];
          elements.undefined.origin = undefined->origin;
        }
      if (const Flow flow = store_elements<kVariant>(w, op, requests.at(j, part), elements); flow != Flow::next) return flow;
    }
  }
  return Flow::next;
}

}  // namespace

Handlers select_matrix_memory(const ptx::Instruction&, Exec exec) {
  return for_variants([&](auto variant) -> Handler {
    constexpr Variant kVariant = decltype(variant)::value;
    switch (exec) {
      case Exec::ldmatrix: return &run_ldmatrix<kVariant>;
      case Exec::stmatrix: return &run_stmatrix<kVariant>;
      case Exec::movmatrix: return &run_movmatrix<kVariant>;
      case Exec::wmma_load: return &run_wmma_load<kVariant>;
      case Exec::wmma_store: return &run_wmma_store<kVariant>;
      default: return nullptr;
    }
  });
}

}  // namespace kforge::emulator
