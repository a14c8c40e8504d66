#include "propose/transform_element.h"

#include <fmt/format.h>

#include <algorithm>

namespace kforge::propose {
namespace {

using syntax::Node;
using syntax::Polynomial;

Polynomial global_index() { return Polynomial::atom("blockIdx.x") * Polynomial::atom("blockDim.x") + Polynomial::atom("threadIdx.x"); }

// `i < bound`, or `i < bound && rest`.
bool read_bound(ElementWork& work, Node condition, bool negated) {
  if (!negated && condition.is("binary_expression") && condition.field("operator").text() == "&&") {
    work.rest = condition.field("right");
    condition = condition.field("left");
  }
  if (!condition.is("binary_expression") || condition.field("left").text() != work.index) return false;
  if (condition.field("operator").text() != (negated ? ">=" : "<")) return false;
  work.bound = operand(condition.field("right"));
  return true;
}

std::optional<ElementWork> guarded(const KernelView& view) {
  ElementWork out;
  const auto guard = guard_of(view.kernel->body);
  if (!guard) return std::nullopt;
  for (const Node& statement : view.kernel->body.named_children()) {
    if (!statement.is("declaration") || statement.begin() > guard->statement.begin()) continue;
    const auto children = statement.named_children();
    for (const Node& child : children) {
      if (!child.is("init_declarator") || !(view.indices.value(syntax::initial_value(child)) == global_index())) continue;
      const auto declared = std::count_if(children.begin(), children.end(), [](const Node& each) { return each.is("init_declarator"); });
      if (out.declaration || declared != 1) return std::nullopt;
      out.declaration = statement;
      out.index = syntax::declared_name(child);
      out.type = syntax::declared_type(child);
      out.first = text_of(syntax::initial_value(child));
    }
  }
  if (!out.declaration || !read_bound(out, guard->condition, guard->returns)) return std::nullopt;
  out.guard = guard->statement;
  out.returns = guard->returns;
  out.body = out.returns ? view.kernel->body : guard->statement.field("consequence");
  out.statements = statements_of(out.body);
  if (out.returns) std::erase_if(out.statements, [&](const Node& each) { return each.begin() < out.guard.end(); });
  // What stands before must not need the index, which moves into the loop.
  for (const Node& use : syntax::uses(view.kernel->body, out.index)) {
    if (use.begin() < out.guard.begin() && !use.inside(out.declaration)) return std::nullopt;
  }
  return out;
}

std::optional<ElementWork> looped(const KernelView& view) {
  ElementWork out;
  for (const Node& statement : view.kernel->body.named_children()) {
    if (!statement.is("for_statement")) continue;
    if (out.loop) return std::nullopt;
    const Node initializer = statement.field("initializer"), update = statement.field("update");
    Node declarator;
    for (const Node& child : initializer.named_children()) if (child.is("init_declarator")) declarator = child;
    if (!declarator || !(view.indices.value(syntax::initial_value(declarator)) == global_index())) return std::nullopt;
    out.loop = statement;
    out.index = syntax::declared_name(declarator);
    out.type = syntax::declared_type(declarator);
    out.first = text_of(syntax::initial_value(declarator));
    out.body = statement.field("body");
    out.statements = statements_of(out.body);
    if (!update.is("assignment_expression") || update.field("operator").text() != "+=") return std::nullopt;
    const Polynomial stride = Polynomial::atom("gridDim.x") * Polynomial::atom("blockDim.x");
    if (!(view.indices.value(update.field("right")) == stride) || !read_bound(out, statement.field("condition"), false) || out.rest) return std::nullopt;
  }
  if (!out.loop) return std::nullopt;
  return out;
}

}  // namespace

std::optional<ElementWork> element_work(const KernelView& view) {
  if (!view.one_dimensional()) return std::nullopt;
  for (const Node& node : syntax::find_all(view.kernel->body, "return_statement")) {
    if (const auto guard = guard_of(view.kernel->body); !guard || !guard->returns || !node.inside(guard->statement)) return std::nullopt;
  }
  std::optional<ElementWork> out = looped(view);
  if (!out) out = guarded(view);
  if (!out || syntax::may_be_written(out->body, out->index)) return std::nullopt;
  return out;
}

std::size_t make_grid_loop(const KernelView& view, const ElementWork& work, const std::string& prologue, syntax::Edits& edits) {
  if (work.loop) {
    if (!prologue.empty()) insert_before_loop(work.loop, prologue.substr(0, prologue.size() - 1), edits);  // without its last line's end
    return work.loop.end();
  }
  const std::string& source = view.program->source();
  const std::string indent = work.guard.indentation();
  const auto gone = syntax::whole_lines(view.program->tree(), work.declaration);
  edits.replace(gone.begin, gone.end, "");
  std::string head = fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += gridDim.x * blockDim.x) ", work.type, work.index, work.first, work.bound);
  if (work.rest) head += fmt::format("if ({}) ", work.rest.text());
  if (!prologue.empty()) head = prologue + indent + head;
  if (!work.returns) {
    edits.replace(work.guard.begin(), work.body.begin(), head);
    return work.guard.end();
  }
  edits.replace(work.guard, head + "{");
  const std::size_t close = view.kernel->body.end() - 1;
  for (std::size_t at = source.find('\n', work.guard.end()); at != std::string::npos && at < close; at = source.find('\n', at + 1)) {
    if (at + 1 < close && source[at + 1] != '\n' && source[at + 1] != '#' && source.find_first_not_of(" \t", at + 1) < close) edits.insert(at + 1, "  ");
  }
  // The brace that closes the loop stands on the line before the kernel's own.
  const std::size_t line = source.rfind('\n', close);
  const bool own_line = line != std::string::npos && line > work.guard.end() && source.find_first_not_of(" \t", line + 1) == close;
  const std::size_t place = own_line ? line + 1 : close;
  edits.insert(place, own_line ? indent + "}\n" : "}");
  return place;
}

// --- more elements a thread ---

std::vector<Rewrite> stride_over_grid(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto work = element_work(view);
    if (!work || work->loop || view.has("__sync") || view.has("_sync(") || view.has("gridDim") || view.uses_shared()) continue;
    syntax::Edits edits;
    make_grid_loop(view, *work, "", edits);
    if (!cap_grid(view, 8 * static_cast<std::int64_t>(known.multiprocessors), edits)) continue;
    for (Rewrite& each : finished(program, edits, fmt::format("threads of `{}` stride over the grid: at most {} blocks", view.kernel->name, 8 * known.multiprocessors), 1.05)) {
      out.push_back(std::move(each));
    }
  }
  return out;
}

// --- four elements a thread ---

namespace {

struct Streams { std::vector<std::string> read, written; VectorType type; };

// Every access is to element i of an array of one vector type, and each array is used for nothing else.
std::optional<Streams> contiguous(const KernelView& view, const ElementWork& work) {
  Streams out;
  for (const syntax::Access& access : view.accesses) {
    if (access.space == syntax::Space::local) continue;
    const syntax::Parameter* parameter = view.kernel->find(access.base);
    if (access.space != syntax::Space::global || access.atomic || !parameter || !access.node.is("subscript_expression")) return std::nullopt;
    if (access.node.field("indices").named_children().front().text() != work.index || access.node.field("argument").text() != access.base) return std::nullopt;
    const VectorType type = vector_type(parameter->element);
    if (type.lanes == 0 || (out.type.lanes && out.type.lanes != type.lanes)) return std::nullopt;
    out.type.lanes = type.lanes;
    const auto add = [&](std::vector<std::string>& names) { if (std::find(names.begin(), names.end(), access.base) == names.end()) names.push_back(access.base); };
    if (access.read) add(out.read);
    if (access.write) add(out.written);
  }
  if (out.written.empty()) return std::nullopt;
  for (const syntax::Parameter& parameter : view.kernel->parameters) {
    if (!parameter.pointer) continue;
    const std::size_t accessed = static_cast<std::size_t>(std::count_if(view.accesses.begin(), view.accesses.end(), [&](const auto& each) { return each.base == parameter.name; }));
    if (syntax::uses(view.kernel->body, parameter.name).size() != accessed) return std::nullopt;
  }
  return out;
}

// A store under a condition would leave some of the four elements unwritten, which a vector store cannot.
bool stores_always(const KernelView& view, const ElementWork& work) {
  for (const syntax::Access& access : view.accesses) {
    if (!access.write) continue;
    for (Node at = access.node.parent(); at && !(at == work.body) && !(at == work.guard); at = at.parent()) {
      if (at.is("if_statement") || at.is("for_statement") || at.is("while_statement") || at.is("switch_statement")) return false;
    }
  }
  return true;
}

std::string lines_between(const KernelView& view, const ElementWork& work) {
  const std::string& source = view.program->source();
  std::size_t begin = work.statements.front().begin();
  // Comments at the head of the work belong to it.
  const std::size_t from = work.returns ? work.guard.end() : work.body.is("compound_statement") ? work.body.begin() + 1 : begin;
  begin = source.find_first_not_of(" \t\r\n", from);
  return source.substr(begin, work.statements.back().end() - begin);
}

std::string per_lane(const KernelView& view, const ElementWork& work, const Streams& streams, const std::string& lane) {
  std::string text = lines_between(view, work);
  const std::size_t end = work.statements.back().end(), begin = end - text.size();
  std::vector<syntax::Access> accesses = view.accesses;
  std::sort(accesses.begin(), accesses.end(), [](const auto& a, const auto& b) { return a.node.begin() > b.node.begin(); });
  for (const syntax::Access& access : accesses) {
    if (access.space != syntax::Space::global || access.node.begin() < begin || access.node.end() > end) continue;
    text.replace(access.node.begin() - begin, access.node.end() - access.node.begin(), fmt::format("{}_{}[{}]", access.base, streams.type.lanes, lane));
  }
  return text;
}

std::string indented(std::string text, const std::string& by) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) text.insert(at + 1, by);
  return text;
}

std::string vector_text(const KernelView& view, const ElementWork& work, const Streams& streams) {
  const std::string in = work.guard.indentation(), lane = view.program->fresh_name("lane_element"), first = view.program->fresh_name("first");
  const std::size_t lanes = streams.type.lanes;
  std::string aligned, declare, load, store;
  for (const syntax::Parameter& parameter : view.kernel->parameters) {
    const bool read = std::find(streams.read.begin(), streams.read.end(), parameter.name) != streams.read.end();
    const bool written = std::find(streams.written.begin(), streams.written.end(), parameter.name) != streams.written.end();
    if (!read && !written) continue;
    const std::string_view type = vector_type(parameter.element).name;
    aligned += fmt::format("{}reinterpret_cast<size_t>({})", aligned.empty() ? "" : " | ", parameter.name);
    declare += fmt::format("{}  alignas(16) {} {}_{}[{}];\n", in, parameter.element, parameter.name, lanes, lanes);
    const std::string local = fmt::format("{}_{}", parameter.name, lanes);
    if (read) load += fmt::format("{}  *reinterpret_cast<{}*>({}) = *reinterpret_cast<const {}*>({} + {});\n", in, type, local, type, parameter.name, first);
    if (written) store += fmt::format("{}  *reinterpret_cast<{}*>({} + {}) = *reinterpret_cast<const {}*>({});\n", in, type, parameter.name, first, type, local);
  }
  std::string out = fmt::format("const {} {} = {} * ({});\n", work.type, first, lanes, work.first);
  out += fmt::format("{}if ({} + {} < {} && ({}) % 16 == 0) {{\n{}{}", in, first, lanes - 1, work.bound, aligned, declare, load);
  out += fmt::format("#pragma unroll\n{}  for (int {} = 0; {} < {}; ++{}) {{\n", in, lane, lane, lanes, lane);
  const std::string body = indented(per_lane(view, work, streams, lane), "    ");
  bool needs_index = false;
  for (const Node& statement : work.statements) {
    for (const Node& use : syntax::uses(statement, work.index)) {
      const Node subscript = use.enclosing("subscript_expression");
      needs_index |= !subscript || subscript.field("indices").named_children().front().text() != work.index;
    }
  }
  if (needs_index) out += fmt::format("{}    const {} {} = {} + {};\n", in, work.type, work.index, first, lane);
  out += fmt::format("{}    {}\n{}  }}\n{}{}}} else {{\n", in, body, in, store, in);
  out += fmt::format("{}  for ({} {} = {}; {} < {} && {} < {} + {}; ++{}) {{\n", in, work.type, work.index, first, work.index, work.bound, work.index, first, lanes, work.index);
  out += fmt::format("{}    {}\n{}  }}\n{}}}", in, indented(lines_between(view, work), "    "), in, in);
  return out;
}

}  // namespace

std::vector<Rewrite> vectorise(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto work = element_work(view);
    if (!work || work->loop || work->rest || work->statements.empty() || view.has("_sync(") || view.has("__sync") || view.uses_shared()) continue;
    const auto streams = contiguous(view, *work);
    const auto block = view.block(0);
    if (!streams || !stores_always(view, *work) || !block) continue;
    syntax::Edits edits;
    const auto gone = syntax::whole_lines(program.tree(), work->declaration);
    edits.replace(gone.begin, gone.end, "");
    const std::size_t end = work->returns ? work->statements.back().end() : work->guard.end();
    edits.replace(work->guard.begin(), end, vector_text(view, *work, *streams));
    // With as many threads as before, the index times four could overflow.
    if (!set_grid_divisor(view, 0, *block * static_cast<std::int64_t>(streams->type.lanes), edits)) continue;
    for (Rewrite& each : finished(program, edits, fmt::format("{} elements a thread and 16 bytes an access in `{}`", streams->type.lanes, view.kernel->name), 1.2)) {
      out.push_back(std::move(each));
    }
  }
  return out;
}

}  // namespace kforge::propose
