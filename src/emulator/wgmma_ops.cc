// For the race detector a product reads shared memory when its group is waited for, by the first warp of the warpgroup to do so: what is
// overwritten before somebody waited is a race whatever the schedule. A wait waits for all four warps to have issued the product, and orders the four.
#include "emulator/wgmma_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <set>

#include "emulator/access.h"
#include "emulator/alu.h"
#include "emulator/bulk_ops.h"
#include "emulator/matrix_kernel.h"
#include "emulator/matrix_memory.h"
#include "emulator/uninitialised.h"
#include "emulator/wgmma_descriptor.h"
#include "hardware/data_sheet.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Type;

constexpr std::uint32_t kWarps = 4, kRows = 16;   // of a warpgroup; of a warp
constexpr std::uint32_t kMostColumns = 256;

std::uint32_t columns_of(const Op& op) { return op.target & 0xffff; }
std::uint32_t depth_of(const Op& op) { return op.target >> 16; }
MatrixDescriptor matrix_a(const Op& op, std::uint64_t bits) { return MatrixDescriptor::unpack(bits, (op.flags & kWgmmaTransposeA) != 0); }
MatrixDescriptor matrix_b(const Op& op, std::uint64_t bits) { return MatrixDescriptor::unpack(bits, (op.flags & kWgmmaTransposeB) != 0); }
std::uint32_t sums_of(const Op& op) { return op.list_count - ((op.flags & kWgmmaRegisters) != 0 ? 4u : 0u); }

// A fragment's registers: 32 lanes of 32 bits.
struct Fragment { alignas(32) std::byte bytes[128]; };

// ---- shared memory -------------------------------------------------------------------------------------------------

// What of the operands was never written: rows of A (of this warp), columns of B.
struct Unwritten {
  std::bitset<kRows> rows;
  std::bitset<kMostColumns> columns;
  Address first = 0;
  bool any = false;
};

// Elements along K of `rows` rows from `first` on, as B's fragments and A's have them: register j of lane 4g + t holds bytes 16j + 4t along K of row g.
// `fragments`: two a group of 8 rows, in the order of `place(group, j)`.
template <class Place>
Flow gather(Warp& w, const Op& op, const MatrixDescriptor& matrix, std::uint32_t first, std::uint32_t rows, Fragment* fragments, Place place) {
  const std::uint32_t bytes = op.bytes, k = depth_of(op);
  const std::byte* shared = w.block->shared.data();
  const std::uint64_t size = w.launch->shared_bytes;
  Address outside = ~Address{0};
  const auto at = [&](Address address) {
    if (address + 16 <= size) return shared + address;
    outside = std::min(outside, address);
    return shared;
  };
  if (size < 16) return stop(w, op, kFullMask, LaunchStatus::illegal_address, "wgmma in a block without shared memory");
  if (!matrix.mn_major) {
    for (std::uint32_t row = 0; row < rows; ++row)
      for (std::uint32_t j = 0; j < 2; ++j) std::memcpy(fragments[place(row / 8, j)].bytes + row % 8 * 16, at(matrix.piece(first + row, j * 16 / bytes, bytes)), 16);
  } else {
    for (std::uint32_t row = 0; row < rows; row += 8)
      for (std::uint32_t along = 0; along < k; ++along) {
        const std::byte* piece = at(matrix.piece(first + row, along, bytes));
        for (std::uint32_t g = 0; g < 8; ++g) std::memcpy(fragments[place(row / 8, along / 8)].bytes + g * 16 + along % 8 * 2, piece + g * 2, 2);
      }
  }
  if (outside == ~Address{0}) return Flow::next;
  Request request{{}, 1, 16, ptx::Space::shared, Direction::load};
  request.addresses[0] = outside;
  return fault_window(w, op, request, 1, "shared", size);
}

void find_unwritten(Warp& w, const Op& op, const MatrixDescriptor& matrix, std::uint32_t first, std::uint32_t rows, bool is_a, Unwritten& out) {
  const ByteShadow& shadow = w.block->shared_shadow;
  if (shadow.complete()) return;
  const std::uint32_t per_piece = matrix.mn_major ? 16u / op.bytes : 1;
  for (std::uint32_t row = 0; row < rows; row += per_piece)
    for (std::uint32_t k = 0; k < depth_of(op); k += matrix.mn_major ? 1 : 16u / op.bytes) {
      const Address at = matrix.piece(first + row, k, op.bytes);
      if (shadow.range_written(at, 16)) continue;
      if (!out.any) out.first = at;
      out.any = true;
      for (std::uint32_t i = row; i < row + per_piece && i < rows; ++i) {
        if (is_a) out.rows.set(i);
        else out.columns.set(i);
      }
    }
}

// ---- accumulators --------------------------------------------------------------------------------------------------

bool is_in_flight(const Warp& w, const UndefinedBytes* value) { return value != nullptr && value->origin != 0 && (*w.launch->origins)[value->origin].space == ShadowSpace::accumulator; }

void note_a_registers(Warp& w, const Op& op, Unwritten& out, OriginId& origin) {
  const ptx::Operand& a = op.source->operands[1];
  for (std::uint32_t j = 0; j < a.elements.size(); ++j) {
    const UndefinedBytes* value = undefined_operand(w, a.elements[j]);
    if (value == nullptr) continue;
    if (origin == 0) origin = value->origin;
    for_lanes(value->any(), [&](std::uint32_t lane) { out.rows.set(lane / 4 + 8 * (j % 2)); });
  }
}

// Every sum is under way; those of rows and columns with unwritten operands stay undefined when it is over.
void mark_sums(Warp& w, const Op& op, bool adds, const Unwritten& unwritten, OriginId origin) {
  const ptx::Operand& d = op.source->operands[0];
  const OriginId in_flight = undefined_origin(w, op, ShadowSpace::accumulator, 0, 0);
  const bool halves = op.source->type == Type::f16;
  const std::uint32_t per_tile = halves ? 2 : 4;
  for (std::uint32_t j = 0; j < d.elements.size(); ++j) {
    const UndefinedBytes* before = undefined_operand(w, d.elements[j]);
    UndefinedBytes value = adds && before != nullptr && !is_in_flight(w, before) ? *before : UndefinedBytes{};
    const std::uint32_t tile = j / per_tile, half = halves ? j % 2 : j % 4 / 2;
    std::uint32_t bad = 0;
    for (std::uint32_t lane = 0; unwritten.any && lane < 32; ++lane) {
      const std::uint32_t column = 8 * tile + 2 * (lane % 4);
      const bool by_column = halves ? unwritten.columns[column] || unwritten.columns[column + 1] : unwritten.columns[column + j % 2];
      if (unwritten.rows[lane / 4 + 8 * half] || by_column) bad |= 1u << lane;
    }
    if (bad != 0 && value.origin == 0) value.origin = origin;
    for (std::size_t b = 0; b < 4; ++b) value.lanes[b] |= bad;
    if (value.any() == 0) {
      value.origin = in_flight;
      for (std::size_t b = 0; b < 4; ++b) value.lanes[b] = kFullMask;
    }
    assign_undefined(w, d.elements[j], value, kFullMask);
  }
}

void watch(Warp& w, const Op& op, const MatrixDescriptor& a, const MatrixDescriptor& b, bool adds) {
  Unwritten unwritten;
  OriginId origin = 0;
  if ((op.flags & kWgmmaRegisters) == 0) find_unwritten(w, op, a, w.index % kWarps * kRows, kRows, true, unwritten);
  find_unwritten(w, op, b, 0, columns_of(op), false, unwritten);
  if (unwritten.any) {
    Request request{{}, 1, 16, ptx::Space::shared, Direction::load};
    request.addresses[0] = unwritten.first;
    const bool on_its_way = report_read_in_flight(w, op, request);
    origin = undefined_origin(w, op, on_its_way ? ShadowSpace::in_flight : ShadowSpace::shared, unwritten.first, 0);
  }
  if ((op.flags & kWgmmaRegisters) != 0 && w.tainted) {
    note_a_registers(w, op, unwritten, origin);
    unwritten.any |= unwritten.rows.any();
  }
  mark_sums(w, op, adds, unwritten, origin);
  if (!w.wgmma.fenced)
    report(w, op, kFullMask, "safety.async", "wgmma-without-fence", [&](evidence::Violation& v) {
      v.message = "wgmma.mma_async is executed with no wgmma.fence before: its registers may not hold yet what earlier instructions wrote";
      v.measured = "no wgmma.fence in this warp";
      v.required = "wgmma.fence before the first wgmma.mma_async, and again after other instructions touched its registers";
    });
}

// ---- the product ---------------------------------------------------------------------------------------------------

std::uint32_t sign_bits(Type type) {
  switch (type) {
    case Type::tf32: return 0x80000000u;
    case Type::e4m3: case Type::e5m2: return 0x80808080u;
    default: return 0x80008000u;
  }
}

void negate(Fragment* fragments, std::size_t count, Type type) {
  const std::uint32_t sign = sign_bits(type);
  for (std::size_t f = 0; f < count; ++f)
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint32_t bits;
      std::memcpy(&bits, fragments[f].bytes + 4 * lane, 4);
      bits ^= sign;
      std::memcpy(fragments[f].bytes + 4 * lane, &bits, 4);
    }
}

void multiply(Warp& w, const Op& op, bool adds, const Fragment* a, const Fragment* b) {
  static const Fragment kZero{};
  const ptx::Instruction& in = *op.source;
  MatrixTile tile;
  tile.halves = 2;
  tile.k = depth_of(op);
  tile.a_type = in.type2;
  tile.b_type = in.type3;
  tile.c_is_half = tile.d_is_half = in.type == Type::f16;
  tile.satfinite = in.mods.satfinite;
  tile.model = tensor_model(w.launch->sheet->sm(), in.type2);
  const std::uint32_t per_tile = tile.d_is_half ? 2 : 4;
  const std::byte* a_registers[4];
  for (std::size_t j = 0; j < 4; ++j) a_registers[j] = a[j].bytes;
  tile.a = a_registers;
  constexpr std::size_t kMostTiles = 32;   // 256 columns
  const std::byte *b_registers[2 * kMostTiles], *c[4 * kMostTiles];
  std::byte* d[4 * kMostTiles];
  const std::uint32_t tiles = columns_of(op) / 8;
  for (std::uint32_t j = 0; j < 2 * tiles; ++j) b_registers[j] = b[j].bytes;
  for (std::uint32_t j = 0; j < per_tile * tiles; ++j) {
    d[j] = w.at(op.list[j]);
    c[j] = adds ? d[j] : kZero.bytes;
  }
  tile.b = b_registers;
  tile.c = c;
  tile.d = d;
  multiply_tiles(tile, tiles);
}

bool is_whole_warpgroup(Warp& w, const Op& op) {
  if (w.index / kWarps * kWarps + kWarps <= w.block->warps.size()) return true;
  report(w, op, w.active, "safety.barriers", "partial-warpgroup", [&](evidence::Violation& v) {
    v.message = fmt::format("wgmma by warp {} of a block of {} warps: there is no whole warpgroup", w.index, w.block->warps.size());
    v.measured = "fewer than four warps";
    v.required = "four warps, the first of them a multiple of four, execute wgmma together";
  });
  return false;
}

Flow run_product(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  if (!is_whole_warpgroup(w, op)) return stop(w, op, mask, LaunchStatus::illegal_instruction, "wgmma outside a whole warpgroup");
  const bool from_registers = (op.flags & kWgmmaRegisters) != 0;
  const bool adds = ((predicate(w.at(op.r[2])) & 1) != 0) != ((op.flags & kWgmmaFlipScale) != 0);
  const std::uint64_t a_bits = from_registers ? 0 : get<std::uint64_t>(w.at(op.r[0]), 0), b_bits = get<std::uint64_t>(w.at(op.r[1]), 0);
  const MatrixDescriptor a = matrix_a(op, a_bits), b = matrix_b(op, b_bits);
  Fragment a_fragments[4]{}, b_fragments[2 * kMostColumns / 8]{};
  if (from_registers)
    for (std::size_t j = 0; j < 4; ++j) std::memcpy(a_fragments[j].bytes, w.at(op.list[sums_of(op) + j]), 128);
  else if (const Flow flow = gather(w, op, a, w.index % kWarps * kRows, kRows, a_fragments, [](std::uint32_t group, std::uint32_t j) { return group + 2 * j; }); flow != Flow::next)
    return flow;
  if (const Flow flow = gather(w, op, b, 0, columns_of(op), b_fragments, [](std::uint32_t group, std::uint32_t j) { return 2 * group + j; }); flow != Flow::next) return flow;
  if ((op.flags & kWgmmaNegateA) != 0) negate(a_fragments, 4, op.source->type2);
  if ((op.flags & kWgmmaNegateB) != 0) negate(b_fragments, columns_of(op) / 4, op.source->type3);
  multiply(w, op, adds, a_fragments, b_fragments);
  const std::uint64_t number = ++w.wgmma.issued;
  if (w.launch->safety) {
    watch(w, op, a, b, adds);
    w.wgmma.pending.push_back({number, &op});
    WarpgroupReads& reads = w.block->warpgroup_reads[w.index / kWarps];
    if (number > reads.told + reads.untold.size()) reads.untold.push_back({&op, a_bits, b_bits});
  }
  w.launch->warpgroup_tiles += columns_of(op) / 8;
  ++w.launch->stores;   // the others' waits look again
  return Flow::next;
}

// ---- waiting -------------------------------------------------------------------------------------------------------

void tell_reads(Warp& w, const WarpgroupReads::Product& product) {
  const Op& op = *product.op;
  RaceAccess access;
  LaneAddresses addresses{};
  access.block = w.block->races;
  access.warp = w.index;
  access.bytes = 16;
  access.addresses = &addresses;
  access.memory = w.block->shared.data();
  access.location = op.location;
  std::uint32_t lane = 0;
  const auto flush = [&] {
    access.mask = lane == 32 ? kFullMask : (1u << lane) - 1;
    if (lane != 0) w.launch->races->async_access(access);
    lane = 0;
  };
  const auto add = [&](Address address, std::uint32_t, std::uint32_t) {
    if (const auto unfenced = w.launch->races->unfenced_write(w.block->races, w.index * 32, address, 16)) report_unfenced(w, op, kFullMask, *unfenced, "wgmma");
    addresses[lane++] = address;
    if (lane == 32) flush();
  };
  if ((op.flags & kWgmmaRegisters) == 0) for_matrix_pieces(matrix_a(op, product.a), kWarps * kRows, depth_of(op), op.bytes, add);
  for_matrix_pieces(matrix_b(op, product.b), columns_of(op), depth_of(op), op.bytes, add);
  flush();
}

// Products up to number `count` have read their operands.
void settle_reads(Warp& w, std::uint64_t count) {
  const std::uint32_t group = w.index / kWarps;
  WarpgroupReads& reads = w.block->warpgroup_reads[group];
  const std::uint64_t key = std::uint64_t{1} << 62 | w.block->linear << 8 | group;
  const bool news = count > reads.told;
  while (count > reads.told && !reads.untold.empty()) {
    tell_reads(w, reads.untold.front());
    reads.untold.erase(reads.untold.begin());
    ++reads.told;
  }
  if (news) w.launch->races->release(w.block->races, w.index, kFullMask, key, ptx::Scope::cta);
  w.launch->races->acquire(w.block->races, w.index, kFullMask, key, ptx::Scope::cta);
}

// Sums of products up to number `count` may be used. Copies of them that compilers make are known by where they come from.
void settle_sums(Warp& w, std::uint64_t count) {
  std::vector<WgmmaState::Pending>& pending = w.wgmma.pending;
  std::vector<OriginId> open;
  for (const auto& product : pending)
    if (product.number > count) open.push_back(w.launch->origins->find(product.op->location, ShadowSpace::accumulator));
  const auto settles = [&](const UndefinedBytes& value) { return is_in_flight(w, &value) && std::find(open.begin(), open.end(), value.origin) == open.end(); };
  std::set<ptx::RegisterId> kept;   // registers that are still added to
  for (const auto& product : pending)
    if (product.number > count)
      for (const ptx::Operand& sum : product.op->source->operands[0].elements) kept.insert(sum.reg);
  const Op* last = nullptr;
  for (const auto& product : pending) {
    if (product.number > count || product.op == last) continue;
    last = product.op;
    for (const ptx::Operand& sum : product.op->source->operands[0].elements)
      if (!kept.contains(sum.reg) && is_in_flight(w, undefined_operand(w, sum))) assign_undefined(w, sum, {}, kFullMask);
  }
  clear_undefined(w, settles);
  std::erase_if(pending, [&](const auto& product) { return product.number <= count; });
}

Flow run_wait(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  const auto kept = static_cast<std::uint64_t>(op.immediate), committed = static_cast<std::uint64_t>(w.wgmma.groups.size());
  if (committed <= kept) return Flow::next;
  const std::uint64_t count = w.wgmma.groups[committed - kept - 1];
  const std::uint32_t first = w.index / kWarps * kWarps;
  for (std::uint32_t k = first; k < first + kWarps && k < w.block->warps.size(); ++k) {
    const Warp& other = w.block->warps[k];
    if (other.wgmma.issued >= count || other.done()) continue;
    block_group(w, mask, Wait::none, 0, 0);   // this instruction again, when something happened
    w.groups.back().spun_at = w.launch->stores;
    return Flow::regroup;
  }
  if (w.launch->safety) {
    settle_reads(w, count);
    settle_sums(w, count);
  }
  return Flow::next;
}

Flow run_fence(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  w.wgmma.fenced = true;
  return Flow::next;
}

Flow run_commit(Warp& w, const Op& op, std::uint32_t mask) {
  if (!gather_warp(w, op, mask)) return Flow::regroup;
  w.wgmma.groups.push_back(w.wgmma.issued);
  return Flow::next;
}

}  // namespace

bool is_wgmma(Exec exec) { return exec == Exec::wgmma || exec == Exec::wgmma_fence || exec == Exec::wgmma_commit || exec == Exec::wgmma_wait; }

const Op* product_reading(const Block& block, Address first, std::uint64_t bytes) {
  for (const WarpgroupReads& reads : block.warpgroup_reads)
    for (const WarpgroupReads::Product& product : reads.untold) {
      bool meets = false;
      const auto look = [&](Address address, std::uint32_t, std::uint32_t) { meets = meets || (address < first + bytes && first < address + 16); };
      if ((product.op->flags & kWgmmaRegisters) == 0) for_matrix_pieces(matrix_a(*product.op, product.a), kWarps * kRows, depth_of(*product.op), product.op->bytes, look);
      for_matrix_pieces(matrix_b(*product.op, product.b), columns_of(*product.op), depth_of(*product.op), product.op->bytes, look);
      if (meets) return product.op;
    }
  return nullptr;
}

Handlers select_wgmma(Exec exec) {
  switch (exec) {
    case Exec::wgmma: return same(&run_product);
    case Exec::wgmma_fence: return same(&run_fence);
    case Exec::wgmma_commit: return same(&run_commit);
    case Exec::wgmma_wait: return same(&run_wait);
    default: return {};
  }
}

}  // namespace kforge::emulator
