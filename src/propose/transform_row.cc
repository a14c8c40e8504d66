// One thread a row becomes one warp a row. Where neighbouring threads walk along rows, each of their 32 addresses lies in a sector of its
// own; 32 lanes of a warp that walk along one row together read four sectors. Every value outside the loops is then the same in all lanes,
// so that only three things change: where loops start and how they step, reductions that end in shuffles, and stores outside loops, which
// one lane does.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "propose/transform_launch.h"

namespace kforge::propose {
namespace {

using syntax::Access;
using syntax::Node;
using syntax::Polynomial;

struct Reduction {
  std::string variable, combine;   // "sum", "{0} += {1}" with the variable and the other lane's value
  bool idempotent = false;
};

struct Work {
  const KernelView& view;
  std::string lane;
  syntax::Edits edits;
  int parallel_loops = 0;
  bool strided = false;            // some access of a parallel loop is strided between threads and contiguous along the loop
  bool needs_order = false;        // an array is both read and written: lanes may see each other's elements
  bool possible = true;
};

std::string indent_of(const Node& statement) { return "\n" + statement.indentation(); }

bool is_scalar_local(const Node& identifier) {
  const Node declarator = identifier.is("identifier") ? syntax::declarator_of(identifier) : Node{};
  return declarator && (declarator.is("init_declarator") || declarator.is("identifier")) && !declarator.field("declarator").is("pointer_declarator") &&
         is_arithmetic_type(syntax::declared_type(declarator));
}

bool mentions(const Node& node, std::string_view name) { return !syntax::uses(node, name).empty(); }

// ++s, s += e, s *= e, s = fmaxf(s, e), s = s > e ? s : e.
std::optional<Reduction> reduction_of(const Node& assignment) {
  if (assignment.is("update_expression")) {
    const Node counter = assignment.field("argument");
    return assignment.field("operator").text() == "++" && is_scalar_local(counter) ? std::optional(Reduction{text_of(counter), "{0} += {1}", false}) : std::nullopt;
  }
  const Node left = assignment.field("left"), right = assignment.field("right");
  if (!assignment.is("assignment_expression") || !is_scalar_local(left)) return std::nullopt;
  const std::string name = text_of(left);
  const std::string_view op = assignment.field("operator").text();
  if ((op == "+=" || op == "*=") && !mentions(right, name)) return Reduction{name, fmt::format("{{0}} {} {{1}}", op), false};
  if (op != "=") return std::nullopt;
  if (right.is("binary_expression") && right.field("operator").text() == "+" && right.field("left").text() == name && !mentions(right.field("right"), name)) {
    return Reduction{name, "{0} += {1}", false};
  }
  if (right.is("call_expression")) {
    const std::string callee = text_of(right.field("function"));
    const auto arguments = right.field("arguments").named_children();
    constexpr std::array<std::string_view, 8> known = {"fmaxf", "fminf", "fmax", "fmin", "max", "min", "std::max", "std::min"};
    if (arguments.size() != 2 || std::find(known.begin(), known.end(), callee) == known.end()) return std::nullopt;
    const bool first = arguments[0].text() == name && !mentions(arguments[1], name);
    const bool second = arguments[1].text() == name && !mentions(arguments[0], name);
    if (first || second) return Reduction{name, "{0} = " + callee + "({0}, {1})", true};
  }
  return std::nullopt;
}

// if (e > s) s = e;
std::optional<Reduction> conditional_reduction(const Node& statement) {
  if (!statement.is("if_statement") || statement.field("alternative")) return std::nullopt;
  const auto inner = statements_of(statement.field("consequence"));
  const auto conditions = statement.field("condition").named_children();
  if (inner.size() != 1 || conditions.size() != 1 || !inner[0].is("expression_statement") || !conditions[0].is("binary_expression")) return std::nullopt;
  const Node assignment = inner[0].named_children().front(), comparison = conditions[0];
  if (!assignment.is("assignment_expression") || assignment.field("operator").text() != "=" || !is_scalar_local(assignment.field("left"))) return std::nullopt;
  const std::string name = text_of(assignment.field("left"));
  const std::string_view value = assignment.field("right").text(), op = comparison.field("operator").text();
  if (mentions(assignment.field("right"), name)) return std::nullopt;
  const bool greater = op == ">" || op == ">=", less = op == "<" || op == "<=";
  if (!greater && !less) return std::nullopt;
  const std::string_view left = comparison.field("left").text(), right = comparison.field("right").text();
  const bool largest = (left == value && right == name && greater) || (left == name && right == value && less);
  const bool smallest = (left == value && right == name && less) || (left == name && right == value && greater);
  if (largest) return Reduction{name, "{0} = {1} > {0} ? {1} : {0}", true};
  if (smallest) return Reduction{name, "{0} = {1} < {0} ? {1} : {0}", true};
  return std::nullopt;
}

// What the iterations of a loop reduce, and the statement of each that does.
struct Reducing {
  std::vector<Reduction> reductions;
  std::vector<Node> statements;

  void add(const Reduction& reduction, const Node& statement) {
    reductions.push_back(reduction);
    statements.push_back(statement);
  }
};

// Whether another iteration may not notice the statement but for what it reduces. What stands under a condition is taken like what does not: the lanes
// part there and meet again before anything is shuffled.
bool is_independent(const KernelView& view, const Node& statement, Reducing& found) {
  if (statement.is("comment")) return true;
  if (statement.is("declaration")) return is_pure(*view.program, statement);
  if (statement.is("if_statement")) {
    if (!is_pure(*view.program, statement.field("condition"))) return false;
    if (const auto extreme = conditional_reduction(statement)) {
      found.add(*extreme, statement);
      return true;
    }
    std::vector<Node> inner = statements_of(statement.field("consequence"));
    if (const Node otherwise = statement.field("alternative"))
      for (const Node& child : otherwise.named_children())
        for (const Node& each : statements_of(child)) inner.push_back(each);
    return std::all_of(inner.begin(), inner.end(), [&](const Node& each) { return is_independent(view, each, found); });
  }
  if (!statement.is("expression_statement")) return false;
  const auto inner = statement.named_children();
  if (inner.size() != 1 || (inner[0].is("assignment_expression") && !is_pure(*view.program, inner[0].field("right")))) return false;
  if (const auto reduction = reduction_of(inner[0])) {
    found.add(*reduction, statement);
    return true;
  }
  if (!inner[0].is("assignment_expression")) return false;
  const Node target = inner[0].field("left");
  return (target.is("subscript_expression") || target.is("pointer_expression")) && is_pure(*view.program, target);
}

// The loop's iterations may run in any order and on any lanes but for the reductions that are found; nothing if not.
std::optional<std::vector<Reduction>> parallel(const KernelView& view, const CountedLoop& loop) {
  if (!is_pure(*view.program, loop.first) || !is_pure(*view.program, loop.last)) return std::nullopt;
  Reducing found;
  for (const Node& statement : statements_of(loop.body))
    if (!is_independent(view, statement, found)) return std::nullopt;
  std::vector<Reduction> out;
  for (const Reduction& reduction : found.reductions) {
    for (const Node& use : syntax::uses(loop.loop, reduction.variable)) {
      if (syntax::declarator_of(use).inside(loop.loop)) return std::nullopt;
      // Its value within the loop matters, or it is reduced in two ways.
      const auto reduces = [&](std::size_t i) { return found.reductions[i].variable == reduction.variable && found.reductions[i].combine == reduction.combine && use.inside(found.statements[i]); };
      bool is_one = false;
      for (std::size_t i = 0; i < found.statements.size(); ++i) is_one |= reduces(i);
      if (!is_one) return std::nullopt;
    }
    if (std::none_of(out.begin(), out.end(), [&](const Reduction& known) { return known.variable == reduction.variable; })) out.push_back(reduction);
  }
  // An element that is written belongs to one iteration, and only that one reads it.
  const auto accesses = view.indices.accesses(loop.body);
  for (const Access& write : accesses) {
    if (!write.write || write.space == syntax::Space::local) continue;
    const auto step = write.index.coefficient(loop.variable);
    if (write.atomic || write.space != syntax::Space::global || !step || !step->as_constant() || step->is_zero()) return std::nullopt;
    for (const Access& other : accesses) {
      if (other.base == write.base && !(other.index == write.index)) return std::nullopt;
      if (other.space == syntax::Space::unknown) return std::nullopt;
    }
  }
  return out;
}

bool reads_along(const KernelView& view, const CountedLoop& loop) {
  const auto accesses = view.indices.accesses(loop.body);
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    const auto along = access.index.coefficient(loop.variable), across = access.index.coefficient("threadIdx.x");
    return access.space == syntax::Space::global && along && along->as_constant() == 1 && across && !across->is_zero() && across->as_constant() != 1;
  });
}

bool starts_from_nothing(const Node& loop, const std::string& variable, const Reduction& reduction) {
  const Node declarator = syntax::declarator_of(syntax::uses(loop, variable).front());
  const Node start = syntax::initial_value(declarator);
  const bool product = reduction.combine.find("*=") != std::string::npos;
  const std::string_view text = start.text();
  const bool identity = start.is("number_literal") && (product ? text == "1" || text == "1.0f" || text == "1.0" || text == "1.f"
                                                               : text.find_first_not_of("0.fFuUlL") == std::string_view::npos);
  if (!identity) return false;
  const Node function = loop.enclosing("function_definition");
  for (const Node& use : syntax::uses(function, variable)) {
    if (syntax::is_write(use) && use.begin() < loop.begin()) return false;
  }
  // Inside an outer loop a later round starts from the last one's value unless the variable is declared in there.
  for (Node outer = loop.parent(); outer && !outer.is("function_definition"); outer = outer.parent()) {
    if (outer.is("for_statement") || outer.is("while_statement") || outer.is("do_statement")) return declarator.inside(outer);
  }
  return true;
}

void split_loop(Work& work, const CountedLoop& loop, const std::vector<Reduction>& reductions) {
  const std::string indent = indent_of(loop.loop);
  const bool alone = !loop.loop.parent().is("compound_statement");
  std::string before, after;
  const std::string offset = work.view.program->fresh_name("offset");
  for (const Reduction& reduction : reductions) {
    if (!reduction.idempotent && !starts_from_nothing(loop.loop, reduction.variable, reduction)) {
      const bool product = reduction.combine.find("*=") != std::string::npos;
      before += fmt::format("{}if ({} > 0) {} = {};", before.empty() ? "" : indent, work.lane, reduction.variable, product ? 1 : 0);
    }
    const std::string other = fmt::format("__shfl_xor_sync(0xffffffffu, {}, {})", reduction.variable, offset);
    const std::string combined = fmt::format(fmt::runtime(reduction.combine), reduction.variable, other);
    // A value that is written twice in the combination is fetched once.
    const bool twice = combined.find(other) != combined.rfind(other);
    const std::string peer = work.view.program->fresh_name("other");
    const std::string type = syntax::declared_type(syntax::declarator_of(syntax::uses(loop.loop, reduction.variable).front()));
    const std::string step = twice ? fmt::format("{{{0}  const {1} {2} = {3};{0}  {4};{0}}}", indent, type, peer, other,
                                                 fmt::format(fmt::runtime(reduction.combine), reduction.variable, peer))
                                   : combined + ";";
    after += fmt::format("{}for (int {} = 16; {} > 0; {} /= 2) {}", indent, offset, offset, offset, step);
  }
  if (work.needs_order) after += indent + "__syncwarp();";
  if (alone && !(before.empty() && after.empty())) {
    work.edits.insert(loop.loop.begin(), "{ " + before + (before.empty() ? "" : indent));
    after += " }";
  } else if (!before.empty()) {
    insert_before_loop(loop.loop, before, work.edits);
  }
  work.edits.replace(loop.first, loop.first.text() == "0" ? work.lane : operand(loop.first) + " + " + work.lane);
  work.edits.replace(loop.update, fmt::format("{} += 32", loop.variable));
  if (!after.empty()) work.edits.insert(alone ? loop.loop.end() : place_after(*work.view.program, loop.loop), after);
  ++work.parallel_loops;
}

void visit(Work& work, const Node& statement);

void visit_all(Work& work, const Node& body) {
  for (const Node& statement : statements_of(body)) visit(work, statement);
}

bool writes_memory(const KernelView& view, const Node& statement) {
  const auto accesses = view.indices.accesses(statement);
  return std::any_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.write && access.space != syntax::Space::local; });
}

// Stores outside the split loops: one lane does them. What else the statement does must not be missed by the others.
void guard_store(Work& work, const Node& statement) {
  for (const Node& node : syntax::descendants(statement)) {
    const bool assigns = node.is("assignment_expression");
    if (node.is("update_expression") || (assigns && node.field("left").is("identifier")) || node.is("declaration")) { work.possible = false; return; }
    if (node.is("call_expression") && !is_pure(*work.view.program, node)) { work.possible = false; return; }
  }
  // One line, so that an `if` without braces before it keeps its meaning.
  work.edits.insert(statement.begin(), fmt::format("if ({} == 0) ", work.lane));
}

void visit(Work& work, const Node& statement) {
  if (!work.possible || statement.is("comment") || statement.is("preproc_call")) return;
  if (statement.is("for_statement")) {
    if (const auto loop = counted_loop(statement)) {
      const auto reductions = parallel(work.view, *loop);
      if (reductions && (reads_along(work.view, *loop) || writes_memory(work.view, statement))) {
        work.strided |= reads_along(work.view, *loop);
        split_loop(work, *loop, *reductions);
        return;
      }
    }
    visit_all(work, statement.field("body"));
    return;
  }
  if (statement.is("compound_statement")) return visit_all(work, statement);
  if (statement.is("if_statement")) {
    const auto loops = syntax::find_all(statement, "for_statement");
    if (loops.empty() && writes_memory(work.view, statement)) {
      if (statement.field("alternative")) { work.possible = false; return; }
      return guard_store(work, statement);
    }
    if (!loops.empty()) {
      visit_all(work, statement.field("consequence"));
      for (const Node& child : statement.field("alternative").named_children()) visit(work, child);
    }
    return;
  }
  if (statement.is("declaration")) {
    work.possible &= is_pure(*work.view.program, statement) && !writes_memory(work.view, statement);
    return;
  }
  if (!statement.is("expression_statement")) { work.possible = false; return; }
  if (writes_memory(work.view, statement)) return guard_store(work, statement);
  for (const Node& node : syntax::descendants(statement)) {
    if (node.is("call_expression") && !is_pure(*work.view.program, node)) work.possible = false;
  }
}

// const int row = blockIdx.x * blockDim.x + threadIdx.x; and no other use of a thread's place.
Node row_declarator(const KernelView& view) {
  const Polynomial global = Polynomial::atom("blockIdx.x") * Polynomial::atom("blockDim.x") + Polynomial::atom("threadIdx.x");
  for (const Node& statement : view.kernel->body.named_children()) {
    if (!statement.is("declaration")) continue;
    for (const Node& child : statement.named_children()) {
      if (!child.is("init_declarator") || !(view.indices.value(syntax::initial_value(child)) == global)) continue;
      for (const Node& place : syntax::find_all(view.kernel->body, "field_expression")) {
        const std::string_view of = place.field("argument").text();
        const bool of_thread = of == "threadIdx" || of == "blockIdx" || of == "blockDim" || of == "gridDim";
        if (of_thread && !place.inside(child)) return {};
      }
      return syntax::may_be_written(view.kernel->body, syntax::declared_name(child)) ? Node{} : child;
    }
  }
  return {};
}

bool read_and_written(const KernelView& view) {
  for (const Access& write : view.accesses) {
    if (!write.write) continue;
    for (const Access& other : view.accesses) {
      if (other.read && other.base == write.base && other.space == write.space) return true;
    }
  }
  return false;
}

bool is_suitable(const KernelView& view) {
  const auto threads = view.threads();
  if (!view.one_dimensional() || !threads || *threads % 32 != 0 || view.uses_shared()) return false;
  for (const char* word : {"_sync(", "__sync", "atomic", "asm", "goto", "break", "continue", "while", "switch", "cooperative_groups", "cg::", "do {"}) {
    if (view.has(word)) return false;
  }
  for (const Access& access : view.accesses) {
    if (access.write && access.space == syntax::Space::unknown) return false;
  }
  return true;
}

std::vector<Rewrite> rewritten(const KernelView& view) {
  const Node row = row_declarator(view);
  if (!row) return {};
  Work work{view, view.program->fresh_name("lane"), {}, 0, false, read_and_written(view), true};
  const auto guard = guard_of(view.kernel->body);
  for (const Node& node : syntax::find_all(view.kernel->body, "return_statement")) {
    if (!guard || !guard->returns || !node.inside(guard->statement)) return {};
  }
  for (const Node& statement : view.kernel->body.named_children()) {
    if (guard && statement == guard->statement) {
      if (!guard->returns) visit_all(work, statement.field("consequence"));
    } else {
      visit(work, statement);
    }
  }
  if (!work.possible || work.parallel_loops == 0 || !work.strided) return {};
  work.edits.replace(syntax::initial_value(row), "blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32");
  work.edits.insert(place_after(*view.program, row.parent()), fmt::format("{}const int {} = threadIdx.x % 32;", indent_of(row.parent()), work.lane));
  if (!multiply_grid(view, 32, work.edits)) return {};
  return finished(*view.program, work.edits, fmt::format("a warp for each `{}` of `{}` in place of a thread", syntax::declared_name(row), view.kernel->name), 6);
}

}  // namespace

std::vector<Rewrite> give_row_to_warp(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    if (!is_suitable(view)) continue;
    for (Rewrite& each : rewritten(view)) out.push_back(std::move(each));
  }
  return out;
}

}  // namespace kforge::propose
