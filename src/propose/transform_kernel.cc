#include "propose/transform_kernel.h"

#include <algorithm>

namespace kforge::propose {
namespace {

using syntax::Node;

constexpr auto kMathematical = std::to_array<std::string_view>({
    "fmaf", "fma", "fmaxf", "fmax", "fminf", "fmin", "max", "min", "expf", "exp", "exp2f", "exp2", "logf", "log", "log2f", "log2", "sqrtf", "sqrt", "rsqrtf", "rsqrt",
    "fabsf", "fabs", "abs", "sinf", "sin", "cosf", "cos", "tanf", "tan", "tanhf", "tanh", "powf", "pow", "erff", "erf", "floorf", "floor", "ceilf", "ceil", "rintf", "rint",
    "roundf", "round", "truncf", "trunc", "__expf", "__logf", "__sinf", "__cosf", "__powf", "__fdividef", "__frcp_rn", "__fsqrt_rn", "__float2half", "__half2float",
    "__bfloat162float", "__float2bfloat16", "__float2int_rn", "__int2float_rn", "__ldg", "__ldcs", "__hmax", "__hadd", "__hmul", "__popc", "__clz", "__float_as_int", "log1pf"});

// Parameters by value or pointer to const, a body without globals written: text can tell the first.
bool takes_values_only(const syntax::Function& function) {
  return std::all_of(function.parameters.begin(), function.parameters.end(), [](const syntax::Parameter& each) {
    return !each.name.empty() && (each.pointer ? each.is_const : !each.reference || each.is_const);
  });
}

bool writes_only_locals(const syntax::Program& program, const syntax::Function& function, int depth);

bool pure_call(const syntax::Program& program, const Node& call, int depth) {
  const Node callee = call.field("function");
  if (callee.is("primitive_type")) return true;
  if (callee.is("template_function")) return callee.field("name").text() == "static_cast" || callee.field("name").text() == "reinterpret_cast";
  std::string_view name = callee.text();
  if (name.starts_with("std::")) name.remove_prefix(5);
  if (program.is_macro(name)) return false;
  if (const syntax::Function* function = program.find(name)) return depth < 4 && function->device && writes_only_locals(program, *function, depth + 1);
  return is_mathematical(name);
}

bool pure_below(const syntax::Program& program, const Node& root, int depth) {
  for (const Node& node : syntax::descendants(root)) {
    if (node.is("assignment_expression") || node.is("update_expression") || node.is("lambda_expression") || node.is("asm_statement") || node.is("new_expression")) return false;
    if (node.is("gnu_asm_expression") || node.is("ERROR")) return false;
    if (node.is("pointer_expression") && node.field("operator").text() == "&") return false;
    if (node.is("identifier") && program.is_macro(node.text()) && !program.constant(node)) return false;
    if (node.is("call_expression") && !pure_call(program, node, depth)) return false;
  }
  return true;
}

// Such a function may assign to its locals and parameters, but to no element.
bool writes_only_locals(const syntax::Program& program, const syntax::Function& function, int depth) {
  if (!takes_values_only(function) || function.definition.has_error() || !function.body) return false;
  for (const Node& node : syntax::descendants(function.body)) {
    if (node.is("assignment_expression") || node.is("update_expression")) {
      const Node target = node.is("update_expression") ? node.field("argument") : node.field("left");
      if (!target.is("identifier") || !syntax::declarator_of(target)) return false;
    }
    if (node.is("call_expression") && !pure_call(program, node, depth)) return false;
    if (node.is("asm_statement") || node.is("gnu_asm_expression") || node.is("lambda_expression")) return false;
  }
  return true;
}

bool has_conditionals(const Node& body) {
  const auto all = syntax::descendants(body);
  return std::any_of(all.begin(), all.end(), [](const Node& node) { return node.kind().starts_with("preproc_if") || node.kind().starts_with("preproc_el"); });
}

Node unwrapped(Node node) {
  while (node.is("parenthesized_expression") || node.is("condition_clause")) {
    const auto inner = node.named_children();
    if (inner.size() != 1) break;
    node = inner.front();
  }
  return node;
}

}  // namespace

bool is_mathematical(std::string_view function) { return std::find(kMathematical.begin(), kMathematical.end(), function) != kMathematical.end(); }

bool is_pure(const syntax::Program& program, const Node& expression) { return pure_below(program, expression, 0); }

Extent extent_of(const syntax::Program& program, const Node& expression) {
  Extent out;
  if (!expression) return out;
  const bool constructed = expression.is("call_expression") && expression.field("function").text() == "dim3";
  if (constructed || (expression.is("compound_literal_expression") && expression.field("type").text() == "dim3")) {
    out.container = constructed ? expression.field("arguments") : expression.field("value");
    out.parts = out.container.named_children();
    out.own = true;
    return out;
  }
  const Node declarator = expression.is("identifier") ? syntax::declarator_of(expression) : Node{};
  if (declarator && declarator.is("init_declarator") && syntax::declared_type(declarator) == "dim3") {
    const Node value = syntax::initial_value(declarator);
    const Node host = expression.enclosing("function_definition");
    const bool alone = syntax::uses(host, expression.text()).size() == 2;
    if (value.is("argument_list") || value.is("initializer_list")) {
      out.container = value;
      out.parts = value.named_children();
    } else {
      out = extent_of(program, value);
    }
    out.own = alone;
    return out;
  }
  if (declarator && syntax::declared_type(declarator) == "dim3") return out;   // set member by member
  out.container = expression;
  out.parts = {expression};
  out.own = true;
  return out;
}

std::string thread_index(std::size_t axis) { return std::string("threadIdx.") + "xyz"[axis]; }
std::string block_index(std::size_t axis) { return std::string("blockIdx.") + "xyz"[axis]; }

std::optional<std::int64_t> KernelView::block(std::size_t axis) const {
  std::optional<std::int64_t> out;
  for (const LaunchView& view : launches) {
    if (view.block.parts.empty()) return std::nullopt;
    const auto here = axis < view.block.parts.size() ? program->constant(view.block.parts[axis]) : std::optional<std::int64_t>(1);
    if (!here || (out && *out != *here)) return std::nullopt;
    out = here;
  }
  return out;
}

std::optional<std::int64_t> KernelView::threads() const {
  const auto x = block(0), y = block(1), z = block(2);
  if (!x || !y || !z || *x < 1 || *y < 1 || *z < 1 || *x > 1024 || *y > 1024 || *z > 64 || *x * *y * *z > 1024) return std::nullopt;
  return *x * *y * *z;
}

bool KernelView::one_dimensional() const {
  if (launches.empty() || has("Idx.y") || has("Idx.z") || has("Dim.y") || has("Dim.z")) return false;
  return std::all_of(launches.begin(), launches.end(), [&](const LaunchView& view) {
    const auto one = [&](const Extent& extent) {
      if (extent.parts.empty()) return false;
      return std::all_of(extent.parts.begin() + 1, extent.parts.end(), [&](const Node& part) { return program->constant(part) == 1; });
    };
    return one(view.block) && one(view.grid);
  });
}

bool KernelView::uses_shared() const { return has("__shared__"); }
bool KernelView::has(std::string_view text) const { return kernel->body.text().find(text) != std::string_view::npos; }

const std::vector<KernelView>& kernel_views(const syntax::Program& program, const Known& known) {
  if (known.kernels) return *known.kernels;
  std::vector<KernelView> out;
  for (const syntax::Function* kernel : program.kernels()) {
    if (program.find(kernel->name) != kernel || has_conditionals(kernel->body)) continue;
    KernelView view{&program, kernel, syntax::Indices(program, *kernel), {}, {}};
    for (const syntax::Launch* launch : program.launches_of(kernel->name)) {
      view.launches.push_back({launch, extent_of(program, launch->grid), extent_of(program, launch->block)});
    }
    // A kernel that is named outside its launches (cudaLaunchKernel, occupancy queries, another kernel) may be launched in ways unseen.
    const std::size_t named = syntax::uses(program.tree().root(), kernel->name).size();
    if (view.launches.empty() || named != view.launches.size() + 1) continue;
    view.accesses = view.indices.accesses(kernel->body);
    out.push_back(std::move(view));
  }
  known.kernels = std::make_shared<const std::vector<KernelView>>(std::move(out));
  return *known.kernels;
}

std::optional<Guard> guard_of(const Node& body) {
  for (const Node& statement : statements_of(body)) {
    if (statement.is("declaration") || statement.is("preproc_call")) continue;
    if (!statement.is("if_statement") || statement.field("alternative")) return std::nullopt;
    const Node condition = unwrapped(statement.field("condition"));
    const std::vector<Node> inner = statements_of(statement.field("consequence"));
    if (inner.size() == 1 && inner.front().is("return_statement")) return Guard{statement, condition, true};
    if (!statement.next()) return Guard{statement, condition, false};
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<CountedLoop> counted_loop(const Node& loop) {
  if (!loop.is("for_statement")) return std::nullopt;
  CountedLoop out;
  out.loop = loop;
  const Node initializer = loop.field("initializer");
  if (!initializer.is("declaration")) return std::nullopt;
  for (const Node& child : initializer.named_children()) {
    if (!child.is("init_declarator")) continue;
    if (out.declarator) return std::nullopt;
    out.declarator = child;
  }
  out.condition = loop.field("condition");
  out.update = loop.field("update");
  out.body = loop.field("body");
  if (!out.declarator || !out.condition.is("binary_expression") || !out.update) return std::nullopt;
  out.variable = syntax::declared_name(out.declarator);
  out.first = syntax::initial_value(out.declarator);
  out.last = out.condition.field("right");
  const std::string_view comparison = out.condition.field("operator").text();
  out.inclusive = comparison == "<=";
  if ((comparison != "<" && comparison != "<=") || out.condition.field("left").text() != out.variable) return std::nullopt;
  const bool by_one = (out.update.is("update_expression") && out.update.text().find("++") != std::string_view::npos && out.update.field("argument").text() == out.variable) ||
                      (out.update.is("assignment_expression") && out.update.field("left").text() == out.variable && out.update.field("operator").text() == "+=" && out.update.field("right").text() == "1");
  if (!by_one || syntax::may_be_written(out.body, out.variable)) return std::nullopt;
  return out;
}

std::vector<Node> statements_of(const Node& body) {
  if (!body) return {};
  return body.is("compound_statement") ? body.named_children() : std::vector<Node>{body};
}

Node pragma_of(const Node& loop) {
  const Node before = loop.previous();
  const bool pragma = before && before.is("preproc_call") && before.text().find("unroll") != std::string_view::npos && before.end() <= loop.begin();
  return pragma ? before : Node{};
}

void insert_before_loop(const Node& loop, const std::string& statement, syntax::Edits& edits) {
  const Node pragma = pragma_of(loop);
  if (pragma) edits.insert(pragma.begin(), pragma.indentation().empty() ? loop.indentation() + statement + "\n" : statement + "\n" + pragma.indentation());
  else edits.insert(loop.begin(), statement + "\n" + loop.indentation());
}

std::size_t place_after(const syntax::Program& program, const Node& statement) {
  const std::string& source = program.source();
  const std::size_t line_end = std::min(source.find('\n', statement.end()), source.size());
  std::size_t at = source.find_first_not_of(" \t", statement.end());
  if (at >= line_end) return statement.end();
  if (source.compare(at, 2, "//") == 0) return source.find_last_not_of("\r", line_end - 1) + 1;
  if (source.compare(at, 2, "/*") != 0) return statement.end();
  const std::size_t close = source.find("*/", at);
  return close < line_end ? close + 2 : statement.end();
}

std::string text_of(const Node& node) { return std::string(node.text()); }

std::string operand(const Node& expression) {
  constexpr std::array<std::string_view, 6> bare = {"identifier", "number_literal", "parenthesized_expression", "subscript_expression", "call_expression", "field_expression"};
  return std::find(bare.begin(), bare.end(), expression.kind()) != bare.end() ? text_of(expression) : "(" + text_of(expression) + ")";
}

std::string with_replaced(const Node& node, std::string_view name, const std::string& by) {
  std::string out = text_of(node);
  std::vector<Node> all = syntax::uses(node, name);
  for (auto use = all.rbegin(); use != all.rend(); ++use) out.replace(use->begin() - node.begin(), use->end() - use->begin(), by);
  return out;
}

std::vector<Rewrite> finished(const syntax::Program& program, const syntax::Edits& edits, std::string title, double gain) {
  if (edits.empty()) return {};
  auto text = edits.apply(program.source());
  if (!text || *text == program.source()) return {};
  const auto tree = syntax::Tree::parse(*text);
  if (!tree || tree->errors() > program.tree().errors()) return {};
  return {Rewrite{std::move(*text), {}, std::move(title), gain}};
}

VectorType vector_type(std::string_view element) {
  constexpr std::array<std::pair<std::string_view, VectorType>, 10> rows = {{{"float", {4, 4, "float4"}}, {"int", {4, 4, "int4"}}, {"unsigned", {4, 4, "uint4"}},
      {"unsigned int", {4, 4, "uint4"}}, {"int32_t", {4, 4, "int4"}}, {"uint32_t", {4, 4, "uint4"}}, {"double", {8, 2, "double2"}},
      {"std::int32_t", {4, 4, "int4"}}, {"std::uint32_t", {4, 4, "uint4"}}, {"long long", {8, 2, "longlong2"}}}};
  for (const auto& [name, row] : rows) if (name == element) return row;
  return {};
}

bool is_arithmetic_type(std::string_view type) {
  constexpr std::array<std::string_view, 16> all = {"float", "double", "int", "unsigned", "unsigned int", "long long", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t",
                                                    "unsigned long long", "std::int32_t", "std::uint32_t", "std::int64_t", "std::uint64_t"};
  return std::find(all.begin(), all.end(), type) != all.end();
}

std::optional<CeilDivision> ceil_division(const syntax::Program& program, const Node& expression) {
  const Node quotient = unwrapped(expression);
  if (!quotient.is("binary_expression") || quotient.field("operator").text() != "/") return std::nullopt;
  const Node divisor = quotient.field("right"), sum = unwrapped(quotient.field("left"));
  if (!sum.is("binary_expression")) return std::nullopt;
  const std::string_view op = sum.field("operator").text();
  // n + 255, or n + threads - 1 which parses as (n + threads) - 1.
  if (op == "+") {
    const auto added = program.constant(sum.field("right")), by = program.constant(divisor);
    if (added && by && *added == *by - 1) return CeilDivision{text_of(sum.field("left")), divisor, sum.field("right")};
    return std::nullopt;
  }
  const Node inner = sum.field("left");
  if (op != "-" || sum.field("right").text() != "1" || !inner.is("binary_expression") || inner.field("operator").text() != "+") return std::nullopt;
  if (unwrapped(inner.field("right")).text() != unwrapped(divisor).text()) return std::nullopt;
  return CeilDivision{text_of(inner.field("left")), divisor, inner.field("right")};
}

}  // namespace kforge::propose
