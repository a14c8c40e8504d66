// Which thread has which element: the axes of a block exchanged, the order of a flat index, chunks dealt out element by element. What is
// computed stays the same; which lanes are neighbours changes.
#include <fmt/format.h>

#include <algorithm>

#include "propose/transform_launch.h"

namespace kforge::propose {
namespace {

using syntax::Access;
using syntax::Node;
using syntax::Polynomial;

int loops_around(const Node& node) {
  int out = 0;
  for (Node at = node.parent(); at && !at.is("function_definition"); at = at.parent()) out += at.is("for_statement") || at.is("while_statement") ? 1 : 0;
  return out;
}

bool is_opaque(const std::string& atom) { return atom.starts_with("("); }

// The same where the axis stands in opaque parts of the index: a bound on a coordinate (a stencil at the border) moves with it nearly everywhere, of
// anything else nothing is known.
double sectors_of_bounded(const Polynomial& index, const std::string& axis) {
  double most = 1;
  const auto atoms = index.names();
  for (const std::string& atom : atoms) {
    if (!is_opaque(atom)) continue;
    Polynomial own = index;
    for (const std::string& other : atoms)
      if (other != atom && is_opaque(other)) own = own.without(other);
    if (!own.dependencies().contains(axis)) continue;
    const auto distance = own.coefficient(atom);
    if (!distance || !(atom.starts_with("(min(") || atom.starts_with("(max("))) return 16;
    const auto known = distance->as_constant();
    most = std::max(most, known ? std::min<double>(32, 4.0 * static_cast<double>(std::abs(*known))) : 32);
  }
  return most;
}

// Sectors that a warp's request would touch if its lanes differed in `axis` alone.
double sectors(const Access& access, const std::string& axis) {
  const auto distance = access.index.coefficient(axis);
  if (!distance) return sectors_of_bounded(access.index, axis);
  if (distance->is_zero()) return 1;
  const auto known = distance->as_constant();
  return known ? std::min<double>(32, 4.0 * static_cast<double>(std::abs(*known))) : 32;
}

double cost(const KernelView& view, const std::string& axis) {
  double out = 0;
  for (const Access& access : view.accesses) {
    if (access.space == syntax::Space::global) out += sectors(access, axis) * (1 << (3 * std::min(4, loops_around(access.node))));
  }
  return out;
}

bool place_is_used_elsewhere(const KernelView& view) {
  for (const syntax::Function& function : view.program->functions()) {
    if (&function == view.kernel || !function.body || function.global) continue;
    if (function.body.text().find("threadIdx") != std::string_view::npos || function.body.text().find("blockDim") != std::string_view::npos) return true;
  }
  return view.has("cooperative_groups") || view.has("cg::") || view.has("_sync(") || view.has("__syncwarp") || view.has("asm");
}

// A warp's lanes along the new first axis: {32, rest} where the launch leaves the choice and the exchange alone would give them less.
std::vector<std::int64_t> whole_warps(const KernelView& view) {
  const auto threads = view.threads(), lanes = view.block(1);
  if (!threads || !lanes || *lanes % 32 == 0 || *threads % 32 != 0 || !block_shape_is_free(view, 2) || view.block(2) != 1) return {};
  return {32, *threads / 32};
}

bool exchange_extents(const KernelView& view, syntax::Edits& edits) {
  std::vector<Node> done;
  for (const LaunchView& launch : view.launches) {
    const auto& parts = launch.block.parts;
    if (parts.size() < 2 || !launch.block.own) return false;
    if (parts[0].text() == parts[1].text() || std::find(done.begin(), done.end(), launch.block.container) != done.end()) continue;
    done.push_back(launch.block.container);
    edits.replace(parts[0], text_of(parts[1]));
    edits.replace(parts[1], text_of(parts[0]));
  }
  return true;
}

// Exchanges .x and .y of the thread's index and the block's extent in the kernel, and the block's extents in the launches. The block's index
// stays, and with it the order of the grid's axes.
std::vector<Rewrite> exchanged(const KernelView& view) {
  syntax::Edits edits;
  for (const Node& place : syntax::find_all(view.kernel->body, "field_expression")) {
    const std::string_view of = place.field("argument").text(), axis = place.field("field").text();
    if (of != "threadIdx" && of != "blockDim") continue;
    if (axis == "x") edits.replace(place.field("field"), "y");
    if (axis == "y") edits.replace(place.field("field"), "x");
  }
  const auto shape = whole_warps(view);
  const bool done = shape.empty() ? exchange_extents(view, edits)
                                  : set_block(view, shape, edits) && set_grid_divisor(view, 1, shape[0], edits) && set_grid_divisor(view, 0, shape[1], edits);
  if (!done) return {};
  const double gain = std::min(8.0, cost(view, "threadIdx.x") / std::max(1.0, cost(view, "threadIdx.y")));
  return finished(*view.program, edits, fmt::format("threads of `{}` change their axes: lanes lie along the other one", view.kernel->name), gain);
}

}  // namespace

std::vector<Rewrite> swap_axes(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    if (!view.has("threadIdx.x") || !view.has("threadIdx.y") || view.uses_shared() || place_is_used_elsewhere(view)) continue;
    if (cost(view, "threadIdx.y") > 0.7 * cost(view, "threadIdx.x")) continue;
    for (Rewrite& each : exchanged(view)) out.push_back(std::move(each));
  }
  return out;
}

// --- a flat index taken apart ---

namespace {

struct Parts {
  Node index, quotient, remainder;   // declarators of i, of a = i / q and of b = i % q
  Node divisor;
};

// const int b = i % q, a = i / q; with i the global index.
std::optional<Parts> taken_apart(const KernelView& view) {
  const Polynomial global = Polynomial::atom("blockIdx.x") * Polynomial::atom("blockDim.x") + Polynomial::atom("threadIdx.x");
  Parts out;
  for (const Node& statement : view.kernel->body.named_children()) {
    if (!statement.is("declaration")) continue;
    for (const Node& child : statement.named_children()) {
      const Node start = child.is("init_declarator") ? syntax::initial_value(child) : Node{};
      if (!start) continue;
      if (!out.index && view.indices.value(start) == global) { out.index = child; continue; }
      if (!out.index || !start.is("binary_expression") || start.field("left").text() != syntax::declared_name(out.index)) continue;
      const std::string_view op = start.field("operator").text();
      if (op == "/" && !out.quotient) out.quotient = child;
      else if (op == "%" && !out.remainder) out.remainder = child;
      else return std::nullopt;
    }
  }
  if (!out.index || !out.quotient || !out.remainder) return std::nullopt;
  out.divisor = syntax::initial_value(out.quotient).field("right");
  if (out.divisor.text() != syntax::initial_value(out.remainder).field("right").text()) return std::nullopt;
  return out;
}

// The q' of `i < q * q'` (either order, either spelling of the guard).
std::string other_extent(const Guard& guard, const std::string& index, std::string_view divisor) {
  if (!guard.condition.is("binary_expression") || guard.condition.field("left").text() != index) return {};
  if (guard.condition.field("operator").text() != (guard.returns ? ">=" : "<")) return {};
  Node bound = guard.condition.field("right");
  if (!bound.is("binary_expression") || bound.field("operator").text() != "*") return {};
  const Node left = bound.field("left"), right = bound.field("right");
  const auto plain = [](const Node& node) { return node.is("cast_expression") ? node.field("value") : node; };
  if (plain(left).text() == divisor) return operand(right);
  if (plain(right).text() == divisor) return operand(plain(left));
  return {};
}

// The sectors of a request when neighbouring lanes differ by one in the variable.
double cost_along(const KernelView& view, const std::string& variable, const std::string& other) {
  double out = 0;
  for (const Access& access : view.accesses) {
    if (access.space != syntax::Space::global) continue;
    // The variables are quotients of the index: an opaque atom each.
    const auto distance = access.index.coefficient(variable);
    const bool plain = distance && !distance->depends_on(other);
    out += !plain ? 16 : distance->is_zero() ? 1 : distance->as_constant() == 1 ? 4 : 32;
  }
  return out;
}

}  // namespace

std::vector<Rewrite> swap_flat_order(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto parts = view.one_dimensional() ? taken_apart(view) : std::nullopt;
    const auto guard = guard_of(view.kernel->body);
    if (!parts || !guard || view.uses_shared() || view.has("_sync(")) continue;
    const std::string index = syntax::declared_name(parts->index), divisor = text_of(parts->divisor);
    const std::string extent = other_extent(*guard, index, divisor);
    // The index itself must serve nothing else, and each part stand for a value that is never changed.
    if (extent.empty() || syntax::uses(view.kernel->body, index).size() != 4) continue;
    if (syntax::may_be_written(view.kernel->body, syntax::declared_name(parts->quotient)) || syntax::may_be_written(view.kernel->body, syntax::declared_name(parts->remainder))) continue;
    const std::string fast = "(" + index + "%" + divisor + ")", slow = "(" + index + "/" + divisor + ")";
    if (cost_along(view, slow, fast) > 0.7 * cost_along(view, fast, slow)) continue;
    syntax::Edits edits;
    edits.replace(syntax::initial_value(parts->quotient), index + " % " + extent);
    edits.replace(syntax::initial_value(parts->remainder), index + " / " + extent);
    for (Rewrite& each : finished(program, edits, fmt::format("neighbouring threads of `{}` take neighbouring `{}`", view.kernel->name, syntax::declared_name(parts->quotient)), 4)) {
      out.push_back(std::move(each));
    }
  }
  return out;
}

}  // namespace kforge::propose
