#include "propose/transform_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kforge::propose {
namespace {

using syntax::Node;
using syntax::Polynomial;

std::optional<Coordinate> coordinate(const KernelView& view, const Node& declarator) {
  const Node start = declarator.is("init_declarator") ? syntax::initial_value(declarator) : Node{};
  if (!start || syntax::may_be_written(view.kernel->body, syntax::declared_name(declarator))) return std::nullopt;
  const Polynomial value = view.indices.value(start);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Polynomial extent = Polynomial::atom(std::string("blockDim.") + "xy"[axis]), thread = Polynomial::atom(thread_index(axis));
    const Polynomial fixed = Polynomial::constant(view.block(axis).value_or(0));
    for (const std::size_t grid_axis : {axis, 1 - axis}) {
      const Polynomial block = Polynomial::atom(block_index(grid_axis));
      if (value == block * extent + thread || (!fixed.is_zero() && value == block * fixed + thread))
        return Coordinate{declarator, syntax::declared_name(declarator), syntax::declared_type(declarator), axis, grid_axis};
    }
  }
  return std::nullopt;
}

// Of the grid that the block's axis multiplies; nothing when the kernel's coordinates are of several minds.
std::optional<std::size_t> grid_axis_of(const KernelView& view, std::size_t axis) {
  std::set<std::size_t> found;
  bool taken = false;   // by a coordinate of the other axis
  for (const Coordinate& each : coordinates(view)) {
    if (each.axis == axis) found.insert(each.grid_axis);
    else taken |= each.grid_axis == axis;
  }
  if (found.empty()) return taken ? std::nullopt : std::optional(axis);
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

std::optional<CeilDivision> grid_division(const KernelView& view, const LaunchView& launch, std::size_t axis) {
  const auto grid_axis = grid_axis_of(view, axis);
  if (!launch.grid.own || !grid_axis || *grid_axis >= launch.grid.parts.size()) return std::nullopt;
  // `const int blocks = (n + 255) / 256;` that only the launch uses is as good as the expression itself.
  Node part = launch.grid.parts[*grid_axis];
  if (part.is("identifier")) {
    const Node declarator = syntax::declarator_of(part);
    if (!declarator || syntax::uses(launch.launch->host_body, part.text()).size() != 2) return std::nullopt;
    part = syntax::initial_value(declarator);
    if (!part) return std::nullopt;
  }
  auto division = ceil_division(*view.program, part);
  const auto by = division ? view.program->constant(division->divisor) : std::nullopt;
  if (!by || by != view.block(axis)) return std::nullopt;
  return division;
}

// Whether two launches stand on the same text (a grid in a variable), which must not be edited twice.
bool edited_already(const std::vector<Node>& done, const Node& node) { return std::find(done.begin(), done.end(), node) != done.end(); }

}  // namespace

std::vector<Coordinate> coordinates(const KernelView& view) {
  std::vector<Coordinate> out;
  for (const Node& statement : view.kernel->body.named_children()) {
    if (!statement.is("declaration")) continue;
    for (const Node& child : statement.named_children()) {
      if (const auto found = coordinate(view, child)) out.push_back(*found);
    }
  }
  return out;
}

bool set_block(const KernelView& view, const std::vector<std::int64_t>& extents, syntax::Edits& edits) {
  std::vector<Node> done;
  for (const LaunchView& launch : view.launches) {
    if (!launch.block.own || launch.block.parts.empty()) return false;
  }
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  for (const LaunchView& launch : view.launches) {
    const Node& container = launch.block.container;
    if (edited_already(done, container)) continue;
    done.push_back(container);
    if (container.is("argument_list")) edits.replace(container, "(" + text + ")");
    else if (container.is("initializer_list")) edits.replace(container, "{" + text + "}");
    else edits.replace(container, extents.size() == 1 ? text : "dim3(" + text + ")");
  }
  return true;
}

bool can_set_grid_divisor(const KernelView& view, std::size_t axis) {
  return !view.launches.empty() && std::all_of(view.launches.begin(), view.launches.end(), [&](const LaunchView& launch) { return grid_division(view, launch, axis).has_value(); });
}

bool set_grid_divisor(const KernelView& view, std::size_t axis, std::int64_t divisor, syntax::Edits& edits) {
  if (!can_set_grid_divisor(view, axis)) return false;
  std::vector<Node> done;
  for (const LaunchView& launch : view.launches) {
    const auto division = grid_division(view, launch, axis);
    if (edited_already(done, division->divisor)) continue;
    done.push_back(division->divisor);
    const bool less_one = view.program->constant(division->addend) != view.program->constant(division->divisor);
    edits.replace(division->addend, std::to_string(less_one ? divisor - 1 : divisor));
    edits.replace(division->divisor, std::to_string(divisor));
  }
  return true;
}

bool multiply_grid(const KernelView& view, std::int64_t factor, syntax::Edits& edits) {
  const auto block = view.block(0);
  if (block && *block % factor == 0 && can_set_grid_divisor(view, 0)) return set_grid_divisor(view, 0, *block / factor, edits);
  for (const LaunchView& launch : view.launches) {
    if (!launch.grid.own || launch.grid.parts.empty()) return false;
  }
  for (const LaunchView& launch : view.launches) edits.replace(launch.grid.parts[0], fmt::format("{} * {}", operand(launch.grid.parts[0]), factor));
  return true;
}

bool cap_grid(const KernelView& view, std::int64_t blocks, syntax::Edits& edits) {
  for (const LaunchView& launch : view.launches) {
    if (!launch.grid.own || launch.grid.parts.empty()) return false;
  }
  for (const LaunchView& launch : view.launches) {
    const Node part = launch.grid.parts[0];
    if (const auto known = view.program->constant(part); known && *known <= blocks) continue;
    const std::string text = operand(part);
    edits.replace(part, fmt::format("{0} < {1} ? {0} : {1}", text, blocks));
  }
  return true;
}

bool block_shape_is_free(const KernelView& view, std::size_t axes) {
  if (view.uses_shared() || view.has("_sync(") || view.has("__syncwarp") || view.has("__launch_bounds__") || view.has("gridDim")) return false;
  if (view.kernel->definition.text().find("__launch_bounds__") != std::string_view::npos) return false;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (!view.has("blockDim." + std::string(1, "xyz"[axis])) || !can_set_grid_divisor(view, axis)) return false;
  }
  return true;
}

// --- block shape ---

namespace {

std::vector<Rewrite> reshaped(const KernelView& view, const std::vector<std::int64_t>& shape, double gain) {
  syntax::Edits edits;
  if (!set_block(view, shape, edits)) return {};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!set_grid_divisor(view, axis, shape[axis], edits)) return {};
  }
  std::string title = std::to_string(shape[0]);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) title += "x" + std::to_string(shape[axis]);
  return finished(*view.program, edits, fmt::format("blocks of {} threads for `{}`", title, view.kernel->name), gain);
}

}  // namespace

std::vector<Rewrite> change_block_shape(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  const std::vector<std::vector<std::int64_t>> flat = {{128}, {256}, {512}, {64}}, plane = {{32, 8}, {32, 4}, {64, 4}, {16, 16}, {128, 2}};
  for (const KernelView& view : kernel_views(program, known)) {
    const bool two = view.has("threadIdx.y") && !view.has("threadIdx.z");
    if (view.has("threadIdx.z") || !block_shape_is_free(view, two ? 2 : 1)) continue;
    for (const auto& shape : two ? plane : flat) {
      if (view.block(0) == shape[0] && (!two || view.block(1) == shape[1])) continue;
      // Only whole rows of a warp's sectors are worth trying when lanes read along x.
      for (Rewrite& each : reshaped(view, shape, 1.05)) out.push_back(std::move(each));
    }
  }
  return out;
}

// --- registers ---

std::vector<Rewrite> add_launch_bounds(const syntax::Program& program, const Known& known) {
  syntax::Edits edits;
  std::string names;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto threads = view.threads();
    const std::string_view head = view.kernel->definition.text().substr(0, view.kernel->body.begin() - view.kernel->definition.begin());
    if (!threads || *threads < 32 || head.find("__launch_bounds__") != std::string_view::npos) continue;
    edits.insert(view.kernel->declarator.begin(), fmt::format("__launch_bounds__({}) ", *threads));
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", view.kernel->name);
  }
  return finished(program, edits, "launch bounds of " + names, 1.03);
}

std::vector<Rewrite> cap_registers(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const ResourceReport& resource : known.resources) {
    if (resource.limiter != "registers" || resource.spill_bytes > 0) continue;
    // The next steps at which one more block of 256 threads fits: 32, 40, 48, 64, 80, 96, 128 registers.
    for (const int cap : {128, 96, 80, 64, 48, 40, 32}) {
      if (cap >= resource.registers || cap * 2 < resource.registers) continue;
      out.push_back({program.source(), {fmt::format("-maxrregcount={}", cap)}, fmt::format("at most {} registers a thread", cap), 1.1});
    }
    break;
  }
  return out;
}

}  // namespace kforge::propose
