// Tiles in shared memory: of a product of two matrices, and of a copy whose two sides run along different axes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "propose/transform_launch.h"
#include "base/text.h"

namespace kforge::propose {
namespace {

using syntax::Access;
using syntax::Node;

// Nothing but the coordinates' declarations and `allowed` uses a thread's place.
bool place_only_in(const KernelView& view, const std::vector<Coordinate>& coordinates) {
  for (const Node& place : syntax::find_all(view.kernel->body, "field_expression")) {
    const std::string_view of = place.field("argument").text();
    if (of != "threadIdx" && of != "blockIdx" && of != "blockDim" && of != "gridDim") continue;
    if (place.text() == "blockIdx.z") continue;
    if (std::none_of(coordinates.begin(), coordinates.end(), [&](const Coordinate& each) { return place.inside(each.declarator); })) return false;
  }
  return true;
}

// The parts of a guard as conditions under which the work is done.
void split_guard(const Node& node, bool negated, std::vector<std::pair<Node, std::string>>& out) {
  if (node.is("parenthesized_expression")) return split_guard(node.named_children().front(), negated, out);
  if (node.is("binary_expression") && node.field("operator").text() == (negated ? "||" : "&&")) {
    split_guard(node.field("left"), negated, out);
    split_guard(node.field("right"), negated, out);
    return;
  }
  if (!negated) { out.emplace_back(node, text_of(node)); return; }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> opposite = {{{">=", "<"}, {">", "<="}, {"<", ">="}, {"<=", ">"}, {"==", "!="}, {"!=", "=="}}};
  if (node.is("binary_expression")) {
    for (const auto& [op, other] : opposite) {
      if (node.field("operator").text() == op) { out.emplace_back(node, fmt::format("{} {} {}", node.field("left").text(), other, node.field("right").text())); return; }
    }
  }
  out.emplace_back(node, "!(" + text_of(node) + ")");
}

bool mentions(const Node& node, const std::string& name) { return !syntax::uses(node, name).empty(); }

// --- product ---

struct Product {
  CountedLoop loop;
  std::string sum, type;       // the accumulator, its type
  Node sum_declaration;
  Node left, right;            // left follows the row, right the column
  Coordinate row, column;      // neighbouring `column` reads neighbouring elements of `right`
  std::vector<std::string> row_guard, column_guard;
  Guard guard;
  std::string all_guards;
  std::vector<Node> after;     // statements behind the loop
};

// sum += a[..] * b[..], sum = fmaf(a[..], b[..], sum).
bool read_terms(Product& product, const Node& statement) {
  const auto inner = statement.named_children();
  if (!statement.is("expression_statement") || inner.size() != 1 || !inner[0].is("assignment_expression")) return false;
  const Node assignment = inner[0], right = assignment.field("right");
  product.sum = text_of(assignment.field("left"));
  if (assignment.field("operator").text() == "+=" && right.is("binary_expression") && right.field("operator").text() == "*") {
    product.left = right.field("left");
    product.right = right.field("right");
  } else if (assignment.field("operator").text() == "=" && right.is("call_expression") && (right.field("function").text() == "fmaf" || right.field("function").text() == "fma")) {
    const auto arguments = right.field("arguments").named_children();
    if (arguments.size() != 3 || arguments[2].text() != product.sum) return false;
    product.left = arguments[0];
    product.right = arguments[1];
  }
  return product.left && product.left.is("subscript_expression") && product.right.is("subscript_expression");
}

const Access* access_at(const std::vector<Access>& all, const Node& node) {
  for (const Access& access : all) if (access.node == node) return &access;
  return nullptr;
}

bool zero(const Node& value) { return value.is("number_literal") && value.text().find_first_not_of("0.fF") == std::string_view::npos; }

// `a` runs with one coordinate and `b` with the other; the one whose neighbours are neighbours in memory is the column.
bool assign_roles(Product& product, const KernelView& view, const std::vector<Coordinate>& pair) {
  const Access* left = access_at(view.accesses, product.left);
  const Access* right = access_at(view.accesses, product.right);
  if (!left || !right || left->space != syntax::Space::global || right->space != syntax::Space::global) return false;
  const auto follows = [&](const Access& access, const Coordinate& coordinate) { return access.index.depends_on(thread_index(coordinate.axis)); };
  for (int turn = 0; turn < 2; ++turn) {
    const Coordinate &row = pair[static_cast<std::size_t>(turn)], &column = pair[static_cast<std::size_t>(1 - turn)];
    for (int order = 0; order < 2; ++order) {
      const Access &a = order == 0 ? *left : *right, &b = order == 0 ? *right : *left;
      const auto step = b.index.coefficient(thread_index(column.axis)), along = a.index.coefficient(product.loop.variable);
      if (!follows(a, row) || follows(a, column) || !follows(b, column) || follows(b, row) || !step || step->as_constant() != 1 || !along || along->as_constant() != 1) continue;
      product.row = row;
      product.column = column;
      product.left = a.node;
      product.right = b.node;
      return true;
    }
  }
  return false;
}

bool read_guards(Product& product) {
  std::vector<std::pair<Node, std::string>> parts;
  split_guard(product.guard.condition, product.guard.returns, parts);
  std::vector<std::string> all;
  for (const auto& [node, text] : parts) {
    const bool of_row = mentions(node, product.row.name), of_column = mentions(node, product.column.name);
    if (of_row && of_column) return false;
    if (!of_column) product.row_guard.push_back(text);
    if (!of_row) product.column_guard.push_back(text);
    all.push_back(text);
  }
  product.all_guards = join(all, " && ");
  return true;
}

std::optional<Product> find_product(const KernelView& view) {
  Product out;
  const auto guard = guard_of(view.kernel->body);
  if (!guard || view.uses_shared() || view.has("_sync(") || view.has("__sync") || view.has("atomic")) return std::nullopt;
  out.guard = *guard;
  const Node body = guard->returns ? view.kernel->body : guard->statement.field("consequence");
  if (!body.is("compound_statement")) return std::nullopt;
  const std::vector<Coordinate> pair = coordinates(view);
  if (pair.size() != 2 || pair[0].axis == pair[1].axis || !place_only_in(view, pair)) return std::nullopt;
  bool behind = false;
  for (const Node& statement : statements_of(body)) {
    if (statement.begin() < guard->statement.end() && guard->returns) continue;
    if (behind) { out.after.push_back(statement); continue; }
    if (statement.is("declaration")) {
      // Before the loop there may be the accumulator, and values that need no guard.
      if (!view.indices.accesses(statement).empty() || !is_pure(*view.program, statement)) return std::nullopt;
      continue;
    }
    const auto loop = counted_loop(statement);
    if (!loop || loop->inclusive || loop->first.text() != "0") return std::nullopt;
    const auto inner = statements_of(loop->body);
    out.loop = *loop;
    if (inner.size() != 1 || !read_terms(out, inner[0]) || !is_pure(*view.program, loop->last)) return std::nullopt;
    behind = true;
  }
  if (!behind || out.after.empty() || !assign_roles(out, view, pair) || !read_guards(out)) return std::nullopt;
  const Node sum = syntax::declarator_of(syntax::uses(out.loop.body, out.sum).front());
  if (!sum || !sum.is("init_declarator") || !zero(syntax::initial_value(sum)) || sum.parent().named_children().size() > 2) return std::nullopt;
  out.type = syntax::declared_type(sum);
  out.sum_declaration = sum.parent();
  for (const Node& statement : out.after) {
    for (const Node& node : syntax::descendants(statement)) {
      if (node.is("return_statement") || node.is("lambda_expression")) return std::nullopt;
    }
  }
  // The coordinates may be read by other declarations before the loop (an offset of a row): those would have to be made anew.
  for (const Coordinate& each : pair) {
    for (const Node& use : syntax::uses(view.kernel->body, each.name)) {
      const bool known = use.inside(each.declarator) || use.inside(guard->condition) || use.inside(out.loop.loop) || use.begin() > out.loop.loop.end();
      if (!known) return std::nullopt;
    }
  }
  return out;
}

std::string element_type(const KernelView& view, const Node& access_node) {
  const Access* access = access_at(view.accesses, access_node);
  const syntax::Parameter* parameter = access ? view.kernel->find(access->base) : nullptr;
  return parameter ? parameter->element : "";
}

std::string with(std::string text, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  for (const auto& [name, value] : values) {
    const std::string key = "$" + std::string(name) + "$";
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + value.size())) text.replace(at, key.size(), value);
  }
  return text;
}

// Two rows of 16 lanes fill a warp: rows of both tiles lie 16 words beside a multiple of 32 apart, so that the two meet in no bank.
int pitch(int elements) { return elements % 32 == 0 ? elements + 16 : elements; }

// Each thread of a 16x16 block has `each` x `each` elements; `loop`, `row`, `column` and the accumulator keep the user's names.
std::string product_text(const KernelView& view, const Product& product, int each, const std::string& in) {
  const syntax::Program& program = *view.program;
  constexpr const char* kLoop = R"(__shared__ $left_type$ $a$[$tile$][16];
$in$__shared__ $right_type$ $b$[16][$pitch$];
$in$for ($loop_type$ $k0$ = 0; $k0$ < $last$; $k0$ += 16) {
#pragma unroll
$in$  for (int $j$ = 0; $j$ < $each$; ++$j$) {
$in$    const $row_type$ $row$ = $row0$ + 16 * $j$;
$in$    const $loop_type$ $k$ = $k0$ + $tx$;
$in$    $a$[$ty$ + 16 * $j$][$tx$] = $row_guard$$k$ < $last$ ? $left$ : $left_type$(0);
$in$  }
#pragma unroll
$in$  for (int $i$ = 0; $i$ < $each$; ++$i$) {
$in$    const $column_type$ $column$ = $column0$ + 16 * $i$;
$in$    const $loop_type$ $k$ = $k0$ + $ty$;
$in$    $b$[$ty$][$tx$ + 16 * $i$] = $column_guard$$k$ < $last$ ? $right$ : $right_type$(0);
$in$  }
$in$  __syncthreads();
#pragma unroll
$in$  for (int $k$ = 0; $k$ < 16; ++$k$) {
#pragma unroll
$in$    for (int $j$ = 0; $j$ < $each$; ++$j$) {
#pragma unroll
$in$      for (int $i$ = 0; $i$ < $each$; ++$i$) $sums$[$j$][$i$] += $a$[$ty$ + 16 * $j$][$k$] * $b$[$k$][$tx$ + 16 * $i$];
$in$    }
$in$  }
$in$  __syncthreads();
$in$}
#pragma unroll
$in$for (int $j$ = 0; $j$ < $each$; ++$j$) {
#pragma unroll
$in$  for (int $i$ = 0; $i$ < $each$; ++$i$) {
$in$    const $row_type$ $row$ = $row0$ + 16 * $j$;
$in$    const $column_type$ $column$ = $column0$ + 16 * $i$;
$in$    $type$ $sum$ = $sums$[$j$][$i$];
$in$    if ($guards$) {
)";
  const auto guard = [](const std::vector<std::string>& parts) { return parts.empty() ? std::string() : join(parts, " && ") + " && "; };
  return with(kLoop, {{"in", in}, {"a", program.fresh_name("left_tile")}, {"b", program.fresh_name("right_tile")}, {"tile", std::to_string(16 * each)}, {"pitch", std::to_string(pitch(16 * each))}, {"each", std::to_string(each)},
                      {"left_type", element_type(view, product.left)}, {"right_type", element_type(view, product.right)}, {"loop_type", syntax::declared_type(product.loop.declarator)},
                      {"k0", program.fresh_name(product.loop.variable + "_first")}, {"k", product.loop.variable}, {"last", operand(product.loop.last)},
                      {"row_type", product.row.type}, {"row", product.row.name}, {"row0", program.fresh_name(product.row.name + "_first")},
                      {"column_type", product.column.type}, {"column", product.column.name}, {"column0", program.fresh_name(product.column.name + "_first")},
                      {"tx", program.fresh_name("tx")}, {"ty", program.fresh_name("ty")}, {"i", program.fresh_name("across")}, {"j", program.fresh_name("down")},
                      {"left", text_of(product.left)}, {"right", text_of(product.right)}, {"row_guard", guard(product.row_guard)}, {"column_guard", guard(product.column_guard)},
                      {"type", product.type}, {"sum", product.sum}, {"sums", program.fresh_name(product.sum + "_of")}, {"guards", product.all_guards}});
}

std::string place_text(const KernelView& view, const Product& product, int each, const std::string& in) {
  const syntax::Program& program = *view.program;
  const std::string tx = program.fresh_name("tx"), ty = program.fresh_name("ty");
  std::string out = fmt::format("const int {} = threadIdx.x, {} = threadIdx.y;\n", tx, ty);
  out += fmt::format("{}const {} {} = {} * {} + {};\n", in, product.row.type, program.fresh_name(product.row.name + "_first"), block_index(product.row.grid_axis), 16 * each, ty);
  out += fmt::format("{}const {} {} = {} * {} + {};\n", in, product.column.type, program.fresh_name(product.column.name + "_first"), block_index(product.column.grid_axis), 16 * each, tx);
  out += fmt::format("{}{} {}[{}][{}] = {{}};\n{}", in, product.type, program.fresh_name(product.sum + "_of"), each, each, in);
  return out;
}

// A declaration goes, with its line when it stands alone on it.
void drop_declaration(const KernelView& view, const Node& declaration, std::vector<Node>& dropped, syntax::Edits& edits) {
  if (std::find(dropped.begin(), dropped.end(), declaration) != dropped.end()) return;
  dropped.push_back(declaration);
  const auto range = syntax::whole_lines(view.program->tree(), declaration);
  edits.replace(range.begin, range.end, "");
}

bool declares_only(const Node& declaration, const std::vector<Coordinate>& pair) {
  for (const Node& child : declaration.named_children()) {
    if (!child.is("init_declarator")) continue;
    if (std::none_of(pair.begin(), pair.end(), [&](const Coordinate& each) { return each.declarator == child; })) return false;
  }
  return true;
}

std::vector<Rewrite> tiled(const KernelView& view, const Product& product, int each) {
  syntax::Edits edits;
  std::vector<Node> dropped;
  const std::vector<Coordinate> pair{product.row, product.column};
  for (const Coordinate& coordinate : pair) {
    if (!declares_only(coordinate.declarator.parent(), pair)) return {};
    drop_declaration(view, coordinate.declarator.parent(), dropped, edits);
  }
  const auto sum = syntax::whole_lines(view.program->tree(), product.sum_declaration);
  edits.replace(sum.begin, sum.end, "");
  const std::string in = product.loop.loop.indentation(), &source = view.program->source();
  if (product.guard.returns) {
    const auto line = syntax::whole_lines(view.program->tree(), product.guard.statement);
    edits.replace(line.begin, line.end, "");
  } else {
    edits.replace(product.guard.statement.begin(), product.guard.statement.field("consequence").begin(), "");
  }
  if (const Node pragma = pragma_of(product.loop.loop)) {
    const auto line = syntax::whole_lines(view.program->tree(), pragma);
    edits.replace(line.begin, line.end, "");
  }
  edits.replace(product.loop.loop, place_text(view, product, each, in) + product_text(view, product, each, in));
  // The rest of the work moves two loops and a condition inwards.
  const std::size_t begin = product.loop.loop.end(), end = product.after.back().end();
  for (std::size_t at = source.find('\n', begin); at != std::string::npos && at < end; at = source.find('\n', at + 1)) {
    if (source[at + 1] != '\n' && source[at + 1] != '#') edits.insert(at + 1, "      ");
  }
  if (source[begin] == '\n') edits.replace(begin, begin + 1, "");
  edits.insert(end, fmt::format("\n{0}    }}\n{0}  }}\n{0}}}", in));
  if (!set_block(view, {16, 16}, edits) || !set_grid_divisor(view, 0, 16 * each, edits) || !set_grid_divisor(view, 1, 16 * each, edits)) return {};
  return finished(*view.program, edits, fmt::format("{0}x{0} tiles of the product in shared memory, {1}x{1} elements a thread of `{2}`", 16 * each, each, view.kernel->name), each == 1 ? 3 : 2 + 2 * each);
}

}  // namespace

std::vector<Rewrite> tile_product(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto product = find_product(view);
    if (!product) continue;
    for (const int each : {4, 8, 2, 1}) {
      for (Rewrite& rewrite : tiled(view, *product, each)) out.push_back(std::move(rewrite));
    }
  }
  return out;
}

// --- transpose ---

namespace {

struct Copy {
  Node statement, target, value;      // target = value;
  const Access* store = nullptr;
  std::vector<const Access*> loads;
  Guard guard;
  bool store_is_strided = false;
};

bool along(const Access& access, std::size_t axis) {
  const auto step = access.index.coefficient(thread_index(axis));
  return step && step->as_constant() == 1;
}
bool across(const Access& access, std::size_t axis) {
  const auto step = access.index.coefficient(thread_index(axis));
  return step && !step->is_zero() && !step->as_constant();
}

std::optional<Copy> find_copy(const KernelView& view) {
  Copy out;
  const auto guard = guard_of(view.kernel->body);
  if (!guard || view.uses_shared() || view.has("_sync(") || view.has("__sync") || view.has("atomic")) return std::nullopt;
  out.guard = *guard;
  std::vector<Node> work = statements_of(guard->returns ? view.kernel->body : guard->statement.field("consequence"));
  if (guard->returns) std::erase_if(work, [&](const Node& each) { return each.begin() < guard->statement.end(); });
  if (work.size() != 1 || !work[0].is("expression_statement")) return std::nullopt;
  const auto inner = work[0].named_children();
  if (inner.size() != 1 || !inner[0].is("assignment_expression") || inner[0].field("operator").text() != "=") return std::nullopt;
  out.statement = work[0];
  out.target = inner[0].field("left");
  out.value = inner[0].field("right");
  if (!is_pure(*view.program, out.value) || !is_pure(*view.program, out.target)) return std::nullopt;
  for (const Access& access : view.accesses) {
    if (access.space != syntax::Space::global) return std::nullopt;
    if (access.node == out.target) out.store = &access;
    else if (access.node.inside(out.value)) out.loads.push_back(&access);
    else return std::nullopt;
  }
  if (!out.store || out.loads.empty()) return std::nullopt;
  const bool loads_along_x = std::all_of(out.loads.begin(), out.loads.end(), [](const Access* each) { return along(*each, 0); });
  const bool loads_along_y = std::all_of(out.loads.begin(), out.loads.end(), [](const Access* each) { return along(*each, 1) && across(*each, 0); });
  if (loads_along_x && across(*out.store, 0) && along(*out.store, 1)) { out.store_is_strided = true; return out; }
  if (loads_along_y && along(*out.store, 0)) return out;
  return std::nullopt;
}

std::string swapped_threads(std::string text) {
  for (std::size_t at = text.find("threadIdx."); at != std::string::npos; at = text.find("threadIdx.", at + 1)) {
    char& axis = text[at + 10];
    axis = axis == 'x' ? 'y' : axis == 'y' ? 'x' : axis;
  }
  return text;
}

}  // namespace

std::vector<Rewrite> stage_transpose(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto copy = find_copy(view);
    const auto pair = coordinates(view);
    if (!copy || pair.size() != 2 || pair[0].axis == pair[1].axis || !place_only_in(view, pair)) continue;
    const syntax::Parameter* to = view.kernel->find(copy->store->base);
    if (!to || !view.has("blockDim.x") || !view.has("blockDim.y")) continue;
    std::vector<std::pair<Node, std::string>> parts;
    split_guard(copy->guard.condition, copy->guard.returns, parts);
    std::vector<std::string> conditions;
    for (const auto& each : parts) conditions.push_back(each.second);
    const std::string in = copy->guard.statement.indentation(), tile = program.fresh_name("tile"), guard = join(conditions, " && ");
    std::string again;
    for (const Coordinate& each : pair) {
      again += fmt::format("{}  const {} {} = {};\n", in, each.type, each.name, swapped_threads(text_of(syntax::initial_value(each.declarator))));
    }
    // The side that runs along the lanes uses the thread's own place; the other one the place with x and y exchanged.
    const std::string fill = fmt::format("if ({}) {}[threadIdx.y][threadIdx.x] = {};", guard, tile, copy->value.text());
    const std::string drain = fmt::format("if ({}) {} = {}[threadIdx.x][threadIdx.y];", guard, copy->target.text(), tile);
    const std::string note = "// The same tile with the lanes along its other side.";
    std::string text = fmt::format("__shared__ {} {}[32][33];\n", to->element, tile);
    text += copy->store_is_strided ? fmt::format("{0}{1}\n{0}__syncthreads();\n{0}{{\n{0}  {2}\n{3}{0}  {4}\n{0}}}", in, fill, note, again, drain)
                                   : fmt::format("{0}{{\n{0}  {1}\n{2}{0}  {3}\n{0}}}\n{0}__syncthreads();\n{0}{4}", in, note, again, fill, drain);
    syntax::Edits edits;
    edits.replace(copy->guard.statement.begin(), copy->guard.returns ? copy->statement.end() : copy->guard.statement.end(), text);
    if (!set_block(view, {32, 32}, edits) || !set_grid_divisor(view, 0, 32, edits) || !set_grid_divisor(view, 1, 32, edits)) continue;
    for (Rewrite& each : finished(program, edits, fmt::format("`{}` goes through a padded tile in shared memory, so that both sides are read and written along rows", view.kernel->name), 4)) {
      out.push_back(std::move(each));
    }
  }
  return out;
}

}  // namespace kforge::propose
