// Fewer atomics: what a warp adds to one place is added up in registers first; what a block counts is counted in shared memory first.
#include <fmt/format.h>

#include <algorithm>

#include "propose/transform_element.h"

namespace kforge::propose {
namespace {

using syntax::Node;

struct Addition {
  Node call, statement;      // atomicAdd(target, value); and the statement that it is
  Node target, value;
  std::string base, type;
};

// The additions of a node; nothing when an atomic is of another kind, or its old value is used.
std::optional<std::vector<Addition>> additions(const KernelView& view, const Node& scope) {
  std::vector<Addition> out;
  for (const Node& call : syntax::find_all(scope, "call_expression")) {
    if (!call.field("function").text().starts_with("atomic")) continue;
    const auto arguments = call.field("arguments").named_children();
    if (call.field("function").text() != "atomicAdd" || arguments.size() != 2 || !call.parent().is("expression_statement")) return std::nullopt;
    Addition each{call, call.parent(), arguments[0], arguments[1], "", ""};
    for (const syntax::Access& access : view.accesses) {
      if (access.atomic && access.node.inside(arguments[0])) each.base = access.base;
    }
    const syntax::Parameter* parameter = view.kernel->find(each.base);
    if (!parameter || !parameter->pointer || !is_arithmetic_type(parameter->element)) return std::nullopt;
    each.type = parameter->element;
    out.push_back(each);
  }
  return out;
}

bool all_atomics_are_in(const KernelView& view, const Node& scope) {
  return std::all_of(view.accesses.begin(), view.accesses.end(), [&](const auto& access) { return !access.atomic || access.node.inside(scope); });
}

std::string fold(const Addition& addition, const std::string& partial, const std::string& offset, const std::string& indent) {
  return fmt::format("{0}for (int {1} = 16; {1} > 0; {1} /= 2) {2} += __shfl_down_sync(0xffffffffu, {2}, {1});"
                     "{0}if (threadIdx.x % 32 == 0) atomicAdd({3}, {2});", indent, offset, partial, addition.target.text());
}

// Each thread adds once, unconditionally, at the end: its value goes through the warp first.
std::vector<Rewrite> folded_at_the_end(const KernelView& view, const std::vector<Addition>& all) {
  syntax::Edits edits;
  for (const Addition& each : all) {
    if (!(each.statement.parent() == view.kernel->body) || !is_pure(*view.program, each.value)) return {};
    const std::string partial = view.program->fresh_name("partial_" + each.base), indent = "\n" + each.statement.indentation();
    edits.replace(each.statement, fmt::format("{} {} = {};", each.type, partial, each.value.text()) + fold(each, partial, view.program->fresh_name("offset"), indent));
  }
  return finished(*view.program, edits, fmt::format("a warp of `{}` adds up before one lane's atomic", view.kernel->name), 4);
}

std::vector<Rewrite> folded_over_the_grid(const KernelView& view, const ElementWork& work, const std::vector<Addition>& all, const Known& known) {
  syntax::Edits edits;
  std::string prologue, epilogue;
  const Node anchor = work.loop ? work.loop : work.guard;
  const std::string indent = anchor.indentation(), offset = view.program->fresh_name("offset");
  for (const Addition& each : all) {
    const std::string partial = view.program->fresh_name("partial_" + each.base);
    if (prologue.find(" " + partial + " ") != std::string::npos) return {};   // two additions to one array
    prologue += fmt::format("{} {} = 0;\n{}", each.type, partial, indent);
    epilogue += fold(each, partial, offset, "\n" + indent);
    edits.replace(each.call, fmt::format("{} += {}", partial, each.value.text()));
  }
  prologue.resize(prologue.size() - indent.size());
  const std::size_t after = make_grid_loop(view, work, prologue, edits);
  if (work.returns) epilogue = epilogue.substr(1) + "\n";
  edits.insert(after, epilogue);
  const std::int64_t blocks = 8 * static_cast<std::int64_t>(known.multiprocessors);
  if (!cap_grid(view, blocks, edits)) return {};
  return finished(*view.program, edits, fmt::format("threads of `{}` stride over the grid and add up in their warp before one atomic", view.kernel->name), 20);
}

bool whole_warps(const KernelView& view) {
  const auto threads = view.threads();
  return threads && *threads % 32 == 0;
}

}  // namespace

std::vector<Rewrite> reduce_before_atomic(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    if (!whole_warps(view) || view.has("_sync(") || view.has("asm")) continue;
    const auto all = additions(view, view.kernel->body);
    if (!all || all->empty()) continue;
    const bool one_place = std::all_of(all->begin(), all->end(), [&](const Addition& each) {
      if (!syntax::find_all(each.target, "call_expression").empty()) return false;
      return std::all_of(view.accesses.begin(), view.accesses.end(), [&](const auto& access) {
        return !access.node.inside(each.target) || !syntax::differs_between_threads(access.index);
      });
    });
    if (!one_place || !view.one_dimensional()) continue;
    const auto work = element_work(view);
    std::vector<Rewrite> found;
    if (work && all_atomics_are_in(view, work->loop ? work->loop : work->body) && !view.has("gridDim.x * blockDim.x + ")) {
      const bool target_moves = std::any_of(all->begin(), all->end(), [&](const Addition& each) { return !syntax::uses(each.target, work->index).empty(); });
      if (!target_moves) found = folded_over_the_grid(view, *work, *all, known);
    }
    // Guards that return would leave lanes behind.
    if (found.empty() && syntax::find_all(view.kernel->body, "return_statement").empty()) found = folded_at_the_end(view, *all);
    for (Rewrite& each : found) out.push_back(std::move(each));
  }
  return out;
}

// --- histograms ---

namespace {

// Elements of the array that a kernel parameter points to: the launcher's parameter that every launch passes for it.
std::int64_t elements_of(const KernelView& view, const std::string& parameter, const Known& known) {
  std::size_t position = 0;
  while (position < view.kernel->parameters.size() && view.kernel->parameters[position].name != parameter) ++position;
  std::int64_t out = 0;
  for (const LaunchView& launch : view.launches) {
    if (position >= launch.launch->arguments.size()) return 0;
    Node argument = launch.launch->arguments[position];
    if (argument.is("call_expression") && argument.field("arguments").named_children().size() == 1) argument = argument.field("arguments").named_children().front();
    std::int64_t here = 0;
    for (const auto& [name, count] : known.fixed_elements) if (argument.text() == name) here = count;
    if (here == 0 || (out != 0 && out != here)) return 0;
    out = here;
  }
  return out;
}

}  // namespace

std::vector<Rewrite> privatise_histogram(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto work = element_work(view);
    const auto all = additions(view, view.kernel->body);
    if (!work || !all || all->empty() || view.uses_shared() || view.has("__sync") || view.has("_sync(")) continue;
    const std::string base = all->front().base;
    if (std::any_of(all->begin(), all->end(), [&](const Addition& each) { return each.base != base || !each.target.is("pointer_expression"); })) continue;
    const auto used = std::count_if(view.accesses.begin(), view.accesses.end(), [&](const auto& access) { return access.base == base; });
    const bool scattered = std::any_of(view.accesses.begin(), view.accesses.end(), [&](const auto& access) { return access.atomic && syntax::differs_between_threads(access.index); });
    const std::int64_t elements = elements_of(view, base, known);
    if (!scattered || static_cast<std::size_t>(used) != all->size() || elements < 2 || elements > 8192 || !all_atomics_are_in(view, work->loop ? work->loop : work->body)) continue;
    if (syntax::uses(view.kernel->body, base).size() != all->size()) continue;
    syntax::Edits edits;
    const Node anchor = work->loop ? work->loop : work->guard;
    const std::string in = "\n" + anchor.indentation(), own = program.fresh_name(base + "_of_block"), at = program.fresh_name("bin");
    for (const Addition& each : *all) {
      for (const Node& use : syntax::uses(each.target, base)) edits.replace(use, own);
    }
    const std::string walk = fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += blockDim.x)", at, elements);
    const std::string prologue = fmt::format("__shared__ {0} {1}[{2}];{3}{4} {1}[{5}] = 0;{3}__syncthreads();\n", all->front().type, own, elements, in, walk, at);
    std::string epilogue = fmt::format("{0}__syncthreads();{0}{1} {{{0}  if ({2}[{3}] != 0) atomicAdd(&{4}[{3}], {2}[{3}]);{0}}}", in, walk, own, at, base);
    const std::size_t after = make_grid_loop(view, *work, prologue, edits);
    if (work->returns) epilogue = epilogue.substr(1) + "\n";
    edits.insert(after, epilogue);
    if (!work->loop && !cap_grid(view, 4 * static_cast<std::int64_t>(known.multiprocessors), edits)) continue;
    for (Rewrite& each : finished(program, edits, fmt::format("blocks of `{}` count `{}` in shared memory first", view.kernel->name, base), 4)) out.push_back(std::move(each));
  }
  return out;
}

// --- trees in shared memory ---

namespace {

// for (int s = ...; s > 0; s >>= 1) { if (t < s) v[t] += v[t + s]; __syncthreads(); }
struct TreeLoop { Node loop, guard, barrier; std::string stride, thread, array, type; };

std::optional<TreeLoop> tree_loop(const KernelView& view, const Node& loop) {
  TreeLoop out;
  out.loop = loop;
  Node declarator;
  for (const Node& child : loop.field("initializer").named_children()) if (child.is("init_declarator")) declarator = child;
  const Node condition = loop.field("condition"), update = loop.field("update");
  if (!declarator || !condition.is("binary_expression") || condition.text().find('>') == std::string_view::npos || !update) return std::nullopt;
  out.stride = syntax::declared_name(declarator);
  const std::string halving = text_of(update);
  if (condition.field("left").text() != out.stride || condition.field("operator").text() != ">" || condition.field("right").text() != "0") return std::nullopt;
  if (halving != out.stride + " >>= 1" && halving != out.stride + " /= 2" && halving != out.stride + ">>=1" && halving != out.stride + "/=2") return std::nullopt;
  const auto statements = statements_of(loop.field("body"));
  if (statements.size() != 2 || statements[1].text() != "__syncthreads();" || !statements[0].is("if_statement") || statements[0].field("alternative")) return std::nullopt;
  const auto inner = statements_of(statements[0].field("consequence"));
  const auto conditions = statements[0].field("condition").named_children();
  if (inner.size() != 1 || !inner[0].is("expression_statement") || conditions.size() != 1 || !conditions[0].is("binary_expression")) return std::nullopt;
  const Node assignment = inner[0].named_children().front(), compare = conditions[0];
  if (!assignment.is("assignment_expression") || assignment.field("operator").text() != "+=" || compare.field("operator").text() != "<" || compare.field("right").text() != out.stride) return std::nullopt;
  const Node left = assignment.field("left"), right = assignment.field("right");
  out.thread = text_of(compare.field("left"));
  if (!(view.indices.value(compare.field("left")) == syntax::Polynomial::atom("threadIdx.x"))) return std::nullopt;
  if (!left.is("subscript_expression") || !right.is("subscript_expression") || left.field("argument").text() != right.field("argument").text()) return std::nullopt;
  out.array = text_of(left.field("argument"));
  const Node array = syntax::declarator_of(left.field("argument"));
  if (!array || !syntax::is_shared_array(array) || !is_arithmetic_type(syntax::declared_type(array))) return std::nullopt;
  out.type = syntax::declared_type(array);
  if (left.text() != fmt::format("{}[{}]", out.array, out.thread)) return std::nullopt;
  const std::string_view index = right.field("indices").named_children().front().text();
  if (index != out.thread + " + " + out.stride && index != out.stride + " + " + out.thread && index != out.thread + "+" + out.stride) return std::nullopt;
  return out;
}

}  // namespace

std::vector<Rewrite> shuffle_last_warp(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto threads = view.threads();
    if (!view.one_dimensional() || !threads || *threads < 64 || (*threads & (*threads - 1)) != 0) continue;
    for (const Node& loop : syntax::find_all(view.kernel->body, "for_statement")) {
      const auto tree = tree_loop(view, loop);
      if (!tree || !loop.parent().is("compound_statement")) continue;
      const std::string in = "\n" + loop.indentation(), value = program.fresh_name("value"), offset = program.fresh_name("offset");
      syntax::Edits edits;
      edits.replace(loop.field("condition"), tree->stride + " >= 32");
      // Lane 0 alone leaves the sum where the tree left it; the barrier is the tree's last one.
      edits.insert(loop.end(), fmt::format("{0}if ({1} < 32) {{{0}  {2} {3} = {4}[{1}];{0}  for (int {5} = 16; {5} > 0; {5} /= 2) {3} += __shfl_down_sync(0xffffffffu, {3}, {5});"
                                           "{0}  if ({1} == 0) {4}[0] = {3};{0}}}{0}__syncthreads();", in, tree->thread, tree->type, value, tree->array, offset));
      for (Rewrite& each : finished(program, edits, fmt::format("the last 32 sums of `{}` by shuffles", tree->array), 1.2)) out.push_back(std::move(each));
    }
  }
  return out;
}

}  // namespace kforge::propose
