// Shared memory: rows padded as the observed addresses demand, barriers that order nothing.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "propose/transform_kernel.h"

namespace kforge::propose {
namespace {

using syntax::Node;

struct SharedArray {
  Node declarator, inner;     // T name[rows][columns]: `inner` is name[rows]
  std::string name;
  std::int64_t columns = 0;
  std::size_t element_bytes = 4;
};

std::size_t bytes_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::size_t>, 9> rows = {{{"float", 4}, {"int", 4}, {"unsigned", 4}, {"unsigned int", 4}, {"uint32_t", 4}, {"double", 8}, {"float2", 8}, {"float4", 16}, {"__half", 2}}};
  for (const auto& [name, bytes] : rows) if (name == type) return bytes;
  return 0;
}

// Two-dimensional shared arrays of a kernel, in order.
std::vector<SharedArray> shared_arrays(const KernelView& view) {
  std::vector<SharedArray> out;
  for (const Node& declarator : syntax::find_all(view.kernel->body, "array_declarator")) {
    if (!declarator.parent().is("declaration") || !syntax::is_shared_array(declarator)) continue;
    const Node inner = declarator.field("declarator");
    const auto columns = view.program->constant(declarator.field("size"));
    const std::size_t bytes = bytes_of(syntax::declared_type(declarator));
    if (!inner.is("array_declarator") || inner.field("declarator").is("array_declarator") || !columns || bytes == 0) continue;
    out.push_back({declarator, inner, syntax::declared_name(declarator), *columns, bytes});
  }
  return out;
}

// The wavefronts of one request by contracts.md: parts of 32, 16 or 8 lanes by width, the busiest bank's distinct words of each.
int wavefronts(const std::vector<std::uint64_t>& addresses, std::size_t width) {
  const std::size_t lanes_per_part = width <= 4 ? 32 : width == 8 ? 16 : 8;
  int out = 0;
  for (std::size_t begin = 0; begin < addresses.size(); begin += lanes_per_part) {
    std::map<std::uint64_t, std::set<std::uint64_t>> banks;
    for (std::size_t lane = begin; lane < std::min(addresses.size(), begin + lanes_per_part); ++lane) {
      for (std::size_t word = 0; word < std::max<std::size_t>(1, width / 4); ++word) {
        const std::uint64_t at = addresses[lane] / 4 + word;
        banks[at % 32].insert(at);
      }
    }
    std::size_t busiest = 1;
    for (const auto& [bank, words] : banks) busiest = std::max(busiest, words.size());
    out += static_cast<int>(busiest);
  }
  return out;
}

// The observed request if each row of the array were `pad` elements longer. Addresses count from the array's own start.
int padded_wavefronts(const evidence::RequestExample& request, const SharedArray& array, std::int64_t pad, std::uint64_t base) {
  std::vector<std::uint64_t> moved;
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(array.columns) * array.element_bytes;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (!(request.active_mask >> lane & 1)) continue;
    const std::uint64_t offset = request.lane_addresses[lane] - base;
    moved.push_back(offset + offset / row_bytes * static_cast<std::uint64_t>(pad) * array.element_bytes);
  }
  return wavefronts(moved, request.bytes_per_lane);
}

struct Conflict { std::uint32_t line; evidence::RequestExample request; };

std::vector<Conflict> conflicts(const Known& known) {
  std::vector<Conflict> out;
  for (const evidence::KernelProfile& profile : known.profiles) {
    for (const evidence::LineProfile& line : profile.lines) {
      if (!line.worst_shared.present() || line.worst_shared.measured <= line.worst_shared.ideal) continue;
      for (const evidence::SourceFrame& frame : line.position.frames) out.push_back({frame.line, line.worst_shared});
    }
  }
  return out;
}

// The array's start in the block's window is unknown: it is a multiple of 128 bytes at best, and the lowest address seen lies in some row.
std::uint64_t likely_base(const evidence::RequestExample& request, const SharedArray& array) {
  std::uint64_t lowest = ~std::uint64_t{0};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (request.active_mask >> lane & 1) lowest = std::min(lowest, request.lane_addresses[lane]);
  }
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(array.columns) * array.element_bytes;
  return lowest / row_bytes * row_bytes;
}

}  // namespace

std::vector<Rewrite> pad_shared(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  const std::vector<Conflict> seen = conflicts(known);
  for (const KernelView& view : kernel_views(program, known)) {
    for (const SharedArray& array : shared_arrays(view)) {
      std::vector<evidence::RequestExample> requests;
      for (const Conflict& conflict : seen) {
        const auto uses = syntax::uses(view.kernel->body, array.name);
        if (std::any_of(uses.begin(), uses.end(), [&](const Node& use) { return use.line() == conflict.line && use.parent().is("subscript_expression"); })) requests.push_back(conflict.request);
      }
      if (requests.empty()) continue;
      // Rows that are walked as one flat array would notice the padding.
      const bool flat = std::any_of(view.accesses.begin(), view.accesses.end(), [&](const auto& access) { return access.base == array.name && access.outer.size() != 1; });
      const auto used = static_cast<std::size_t>(std::count_if(view.accesses.begin(), view.accesses.end(), [&](const auto& access) { return access.base == array.name; }));
      if (flat || syntax::uses(view.kernel->body, array.name).size() != used + 1) continue;
      const auto total = [&](std::int64_t pad) {
        int sum = 0;
        for (const auto& request : requests) sum += padded_wavefronts(request, array, pad, likely_base(request, array));
        return sum;
      };
      std::int64_t best = 0;
      for (std::int64_t pad = 1; pad <= 32; ++pad) if (total(pad) < total(best)) best = pad;
      if (best == 0) continue;
      syntax::Edits edits;
      edits.replace(array.declarator.field("size"), fmt::format("{} + {}", operand(array.declarator.field("size")), best));
      for (Rewrite& each : finished(program, edits, fmt::format("rows of `{}` are {} element{} longer: {} wavefronts become {}", array.name, best, best == 1 ? "" : "s", total(0), total(best)), 1.5)) {
        out.push_back(std::move(each));
      }
    }
  }
  return out;
}

namespace {

bool is_barrier(const Node& statement) { return statement.text() == "__syncthreads();"; }

// Touches memory that other threads of the block may touch.
bool touches_shared(const KernelView& view, const Node& statement) {
  for (const auto& access : view.indices.accesses(statement)) if (access.space != syntax::Space::local) return true;
  for (const Node& call : syntax::find_all(statement, "call_expression")) if (!is_pure(*view.program, call)) return true;
  return false;
}

// Nothing that another thread could see is touched after it, or between it and the barrier (or the kernel's start) before it. Of two
// barriers with nothing between them the second one is such a one, and the first is not.
bool orders_nothing(const KernelView& view, const Node& barrier) {
  if (!(barrier.parent() == view.kernel->body)) return false;
  bool before = true, after = true;
  for (Node at = barrier.previous(); at && !is_barrier(at); at = at.previous()) before &= !touches_shared(view, at);
  for (Node at = barrier.next(); at; at = at.next()) after &= !is_barrier(at) && !touches_shared(view, at);
  return before || after;
}

// Threads meet nowhere but at barriers: no shared memory, and no array is both written and read.
bool threads_are_strangers(const KernelView& view) {
  if (view.uses_shared() || view.has("atomic") || view.has("asm") || view.has("_sync(")) return false;
  for (const auto& write : view.accesses) {
    if (write.space == syntax::Space::unknown) return false;
    for (const auto& other : view.accesses) if (write.write && other.read && other.base == write.base) return false;
  }
  const auto calls = syntax::find_all(view.kernel->body, "call_expression");
  return std::all_of(calls.begin(), calls.end(), [&](const Node& call) { return call.field("function").text() == "__syncthreads" || is_pure(*view.program, call); });
}

}  // namespace

std::vector<Rewrite> drop_barriers(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    syntax::Edits edits;
    int count = 0;
    const bool strangers = threads_are_strangers(view);
    for (const Node& statement : syntax::find_all(view.kernel->body, "expression_statement")) {
      if (!is_barrier(statement) || !statement.parent().is("compound_statement")) continue;
      if (!strangers && !orders_nothing(view, statement)) continue;
      const auto range = syntax::whole_lines(program.tree(), statement);
      edits.replace(range.begin, range.end, "");
      ++count;
    }
    for (Rewrite& each : finished(program, edits, fmt::format("{} barrier{} of `{}` order{} nothing", count, count == 1 ? "" : "s", view.kernel->name, count == 1 ? "s" : ""), 1.05)) out.push_back(std::move(each));
  }
  return out;
}

}  // namespace kforge::propose
