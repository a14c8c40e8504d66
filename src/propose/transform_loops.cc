// Loops: unrolled, and chunks of neighbouring elements dealt out one by one.
#include <fmt/format.h>

#include <algorithm>

#include "propose/transform_kernel.h"

namespace kforge::propose {
namespace {

using syntax::Node;
using syntax::Polynomial;

bool is_innermost(const Node& loop) {
  return syntax::find_all(loop.field("body"), "for_statement").empty() && syntax::find_all(loop.field("body"), "while_statement").empty();
}

}  // namespace

std::vector<Rewrite> unroll_loops(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    for (const int factor : {4, 8}) {
      syntax::Edits edits;
      for (const Node& loop : syntax::find_all(view.kernel->body, "for_statement")) {
        // Only where a line of its own cannot come between a statement and its body.
        if (!is_innermost(loop) || pragma_of(loop) || !loop.parent().is("compound_statement")) continue;
        const auto line = syntax::whole_lines(view.program->tree(), loop);
        const bool starts_line = line.begin < loop.begin() || loop.begin() == 0 || program.source()[loop.begin() - 1] == '\n';
        if (starts_line) edits.insert(line.begin, fmt::format("#pragma unroll {}\n", factor));
        else edits.insert(loop.begin(), fmt::format("\n#pragma unroll {}\n{}", factor, loop.indentation()));
      }
      for (Rewrite& each : finished(program, edits, fmt::format("inner loops of `{}` unrolled {} times", view.kernel->name, factor), 1.1)) out.push_back(std::move(each));
    }
  }
  return out;
}

namespace {

// The body adds to, or takes the extreme of, scalars; or writes one element an iteration: its order does not matter.
bool any_order(const KernelView& view, const Node& body, const std::string& variable) {
  for (const Node& statement : statements_of(body)) {
    if (statement.is("declaration")) {
      if (!is_pure(*view.program, statement)) return false;
      continue;
    }
    const auto inner = statement.named_children();
    if (!statement.is("expression_statement") || inner.size() != 1 || !inner[0].is("assignment_expression")) return false;
    const Node left = inner[0].field("left"), right = inner[0].field("right");
    const std::string_view op = inner[0].field("operator").text();
    if (!is_pure(*view.program, right)) return false;
    if (left.is("identifier")) {
      const bool sums = op == "+=" && syntax::uses(right, left.text()).empty();
      const bool extremes = op == "=" && right.is("call_expression") && is_mathematical(right.field("function").text()) &&
                            (right.field("function").text().find("max") != std::string_view::npos || right.field("function").text().find("min") != std::string_view::npos) &&
                            right.field("arguments").named_children().front().text() == left.text();
      if (!sums && !extremes) return false;
      if (syntax::uses(body, left.text()).size() != (sums ? 1u : 2u)) return false;
      continue;
    }
    if (!left.is("subscript_expression") || !is_pure(*view.program, left)) return false;
  }
  const auto accesses = view.indices.accesses(body);
  for (const auto& write : accesses) {
    if (!write.write) continue;
    const auto step = write.index.coefficient(variable);
    if (write.space != syntax::Space::global || !step || !step->as_constant() || step->is_zero()) return false;
    for (const auto& other : accesses) if (other.base == write.base && !(other.index == write.index)) return false;
  }
  return true;
}

// The declarator whose value is ceil(n / threads of the grid), by which the loop's first element is a multiple of the thread.
std::optional<CeilDivision> chunk_of(const KernelView& view, const Node& name) {
  const Node declarator = name.is("identifier") ? syntax::declarator_of(name) : Node{};
  if (!declarator || !declarator.is("init_declarator") || syntax::may_be_written(view.kernel->body, name.text())) return std::nullopt;
  const auto division = ceil_division(*view.program, syntax::initial_value(declarator));
  const Polynomial all = Polynomial::atom("gridDim.x") * Polynomial::atom("blockDim.x");
  if (!division || !(view.indices.value(division->divisor) == all)) return std::nullopt;
  return division;
}

// first = thread * chunk, through locals.
Node resolved(const KernelView& view, Node node) {
  for (int depth = 0; depth < 4 && node.is("identifier"); ++depth) {
    const Node declarator = syntax::declarator_of(node);
    if (!declarator || !declarator.is("init_declarator") || syntax::may_be_written(view.kernel->body, node.text())) break;
    node = syntax::initial_value(declarator);
  }
  return node;
}

struct Chunk { std::string thread, bound, all; };

std::optional<Chunk> chunk(const KernelView& view, const CountedLoop& loop) {
  const Node first = resolved(view, loop.first);
  if (!first.is("binary_expression") || first.field("operator").text() != "*" || loop.inclusive) return std::nullopt;
  const Polynomial global = Polynomial::atom("blockIdx.x") * Polynomial::atom("blockDim.x") + Polynomial::atom("threadIdx.x");
  for (const bool flipped : {false, true}) {
    const Node thread = first.field(flipped ? "right" : "left"), size = first.field(flipped ? "left" : "right");
    const auto division = chunk_of(view, size);
    if (!division || !(view.indices.value(thread) == global)) continue;
    // last = min(first + chunk, n)
    const Node last = resolved(view, loop.last);
    if (!last.is("call_expression") || (last.field("function").text() != "min" && last.field("function").text() != "std::min")) return std::nullopt;
    const auto ends = last.field("arguments").named_children();
    if (ends.size() != 2) return std::nullopt;
    const Node bound = ends[0].text() == division->quantity ? ends[0] : ends[1];
    const Node sum = ends[0].text() == division->quantity ? ends[1] : ends[0];
    if (bound.text() != division->quantity || !(view.indices.value(sum) == view.indices.value(loop.first) + view.indices.value(size))) return std::nullopt;
    return Chunk{operand(thread), operand(bound), operand(division->divisor)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Rewrite> interleave_chunks(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    if (!view.one_dimensional()) continue;
    for (const Node& node : syntax::find_all(view.kernel->body, "for_statement")) {
      const auto loop = counted_loop(node);
      const auto found = loop ? chunk(view, *loop) : std::nullopt;
      if (!found || !any_order(view, loop->body, loop->variable)) continue;
      syntax::Edits edits;
      edits.replace(loop->first, found->thread);
      edits.replace(loop->last, found->bound);
      edits.replace(loop->update, fmt::format("{} += {}", loop->variable, found->all));
      for (Rewrite& each : finished(program, edits, fmt::format("threads of `{}` take every {}th element in place of a chunk", view.kernel->name, found->all), 8)) out.push_back(std::move(each));
    }
  }
  return out;
}

}  // namespace kforge::propose
