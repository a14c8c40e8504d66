// Formulas: what is understood, what is refused and where, and what the oracle makes of them.
#include <cmath>

#include <gtest/gtest.h>

#include "task/formula.h"
#include "task/formula_cuda.h"

namespace kforge::task::formula {
namespace {

Tensor tensor(std::string name, Shape shape, Role role = Role::in, Dtype dtype = Dtype::f32) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.role = role;
  out.dtype = dtype;
  return out;
}

// x[rows, cols], w[cols], b[rows], q[n, n], i[cols] of integers; a scalar, outputs y[rows, cols], s[rows], t[1].
Task task_with(std::initializer_list<std::string> outputs) {
  Task task;
  task.name = "test";
  task.function = "test";
  task.tensors = {tensor("x", {"rows", "cols"}), tensor("w", {"cols"}), tensor("b", {"rows"}), tensor("q", {"n", "n"}), tensor("i", {"cols"}, Role::in, Dtype::i32)};
  for (const std::string& output : outputs) {
    if (output == "y") task.tensors.push_back(tensor("y", {"rows", "cols"}, Role::out));
    if (output == "s") task.tensors.push_back(tensor("s", {"rows"}, Role::out));
    if (output == "t") task.tensors.push_back(tensor("t", {"1"}, Role::out));
    if (output == "k") task.tensors.push_back(tensor("k", {"rows"}, Role::out, Dtype::i32));
    if (output == "p") task.tensors.push_back(tensor("p", {"cols", "rows"}, Role::out));
    if (output == "m") task.tensors.push_back(tensor("m", {"rows", "cols"}, Role::out, Dtype::boolean));
    if (output == "z") task.tensors.push_back(tensor("z", {"n", "n"}, Role::out));
    if (output == "c") task.tensors.push_back(tensor("c", {"rows", "rows"}, Role::out));
  }
  task.scalars = {{"scale", Dtype::f32, 0.5}};
  return task;
}

struct Refused { std::string output, text; int line, column; std::string says; };

TEST(Formula, RefusalsNameThePlaceAndWhatWasExpected) {
  const Refused kRows[] = {
      {"y", "y = x +", 1, 8, "a value is expected"},
      {"y", "y = x + v", 1, 9, "no tensor, scalar, size or local 'v'"},
      {"y", "y = gelo(x)", 1, 5, "no function 'gelo'"},
      {"y", "y = x * b", 1, 7, "shapes [rows, cols] and [rows] do not fit"},
      {"y", "s2 = sum(x, axis=1)\ny = s2 + w", 2, 8, "do not fit"},
      {"y", "y = sum(x, axis=1)", 1, 1, "'y' is declared [rows, cols], the formula gives [rows]"},
      {"s", "s = sum(x, axis=2)", 1, 5, "axis 2 of a value with 2 axes"},
      {"s", "s = sum(x, 1)", 1, 5, "sum takes 1 operand"},
      {"s", "s = sum(x, axes=1)", 1, 12, "sum takes no 'axes'"},
      {"y", "x = y", 1, 5, "read before it is assigned"},
      {"y", "x = w", 1, 1, "'x' is an input"},
      {"y", "y = x; y = x", 1, 8, "'y' is assigned twice"},
      {"y", "v = x", 1, 1, "never assigns the output 'y'"},
      {"y", "rows = 1; y = x", 1, 1, "'rows' is a size"},
      {"y", "y = where(x, 1, 2)", 1, 5, "'where' takes a truth value"},
      {"m", "m = x", 1, 1, "'m' is declared bool, the formula gives a real number"},
      {"k", "k = sum(x, axis=1)", 1, 1, "'k' is declared i32, the formula gives a real number"},
      {"y", "y = x ^ 2", 1, 7, "'^' is no operation"},
      {"y", "y = 0 < x < 1", 1, 11, "comparisons do not chain"},
      {"y", "y = x @ x", 1, 7, "'cols' is not 'rows'"},
      {"y", "y = x $ 2", 1, 7, "unexpected '$'"},
      {"y", "y = \u03b1 * x", 1, 5, "unexpected '\u03b1'"},
      {"y", "y = (x", 1, 7, "')' is expected"},
      {"y", "y = 3x", 1, 6, "after a number"},
      {"y", "y = x y", 1, 7, "unexpected 'y'"},
      {"z", "z = q - max(q, axis=1)", 1, 7, "can be read two ways"},
  };
  for (const Refused& row : kRows) {
    const auto parsed = parse(row.text, task_with({row.output}));
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_NE(parsed.error().message.find(row.says), std::string::npos) << row.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed.error().where.line, row.line) << row.text;
    EXPECT_EQ(parsed.error().where.column, row.column) << row.text << ": " << parsed.error().message;
  }
}

TEST(Formula, NestingIsBounded) {
  std::string text = "y = ";
  for (int i = 0; i < 200; ++i) text += "(";
  EXPECT_FALSE(parse(text + "x", task_with({"y"})));
  text = "y = ";
  for (int i = 0; i < 5000; ++i) text += "-";
  EXPECT_FALSE(parse(text + "x", task_with({"y"})));
}

struct Structured { std::string output, text; Structure structure; std::string reduction; };

TEST(Formula, StructureAndReductionLength) {
  const Structured kRows[] = {
      {"y", "y = gelu(x * w + expand(b, axis=1))", Structure::element_wise, ""},
      {"s", "s = sum(exp(x - max(x, axis=1)), axis=1)", Structure::row_reduction, "cols"},
      {"y", "y = softmax(x, axis=-1)", Structure::row_reduction, "cols"},
      {"t", "t = sum(x)", Structure::row_reduction, "rows * cols"},
      {"y", "y = x - mean(x, axis=0)", Structure::reduction, "rows"},
      {"y", "y = cumsum(x, axis=1)", Structure::scan, "cols"},
      {"c", "c = relu(x @ transpose(x))", Structure::mixed, "cols"},
      {"z", "z = q @ q + 1", Structure::matmul, "n"},
      {"p", "p = transpose(x)", Structure::permutation, ""},
      {"k", "k = argmax(x, axis=1)", Structure::row_reduction, ""},
  };
  for (const Structured& row : kRows) {
    const auto parsed = parse(row.text, task_with({row.output}));
    ASSERT_TRUE(parsed) << row.text << ": " << to_string(parsed.error());
    EXPECT_EQ(name(structure(*parsed)), name(row.structure)) << row.text;
    EXPECT_EQ(reduction_length(*parsed), row.reduction) << row.text;
  }
}

// Two rows of three.
std::map<std::string, std::vector<double>> inputs() {
  return {{"x", {1, -2, 3, 0.5, 4, -1}}, {"w", {1, 2, 3}}, {"b", {10, 20}}, {"q", {1, 2, 3, 4}}, {"i", {5, -7, 2}}};
}
const Sizes kSizes{{"rows", 2}, {"cols", 3}, {"n", 2}};

struct Valued { std::string output, text; std::vector<double> values; };

TEST(Formula, ValuesAreThoseOfTheDefinition) {
  const double g = 0.5 * (1 + std::erf(1 / std::sqrt(2.0)));
  const Valued kRows[] = {
      {"y", "y = x * w + expand(b, axis=1)", {11, 6, 19, 20.5, 28, 17}},
      {"y", "y = x - max(x, axis=1)", {-2, -5, 0, -3.5, 0, -5}},
      {"y", "m = max(x, axis=0, keepdims=True)\ny = x - m  # by column", {0, -6, 0, -0.5, 0, -4}},
      {"s", "s = sum(x, axis=1)", {2, 3.5}},
      {"s", "s = mean(x, axis=[1])", {2.0 / 3, 3.5 / 3}},
      {"s", "s = prod(x, axis=-1)", {-6, -2}},
      {"s", "s = var(x, axis=1)", {38.0 / 9, 4.0 + 7.0 / 18}},
      {"t", "t = sum(x ** 2)", {31.25}},
      {"t", "t = sum(x > 0)", {4}},
      {"k", "k = argmin(x, axis=1)", {1, 2}},
      {"t", "t = argmax(x)", {4}},
      {"k", "k = int(max(x, axis=1)) + max(i)", {8, 9}},
      {"m", "m = x > 0 and not (x == 3)", {1, 0, 0, 1, 1, 0}},
      {"y", "y = where(x > 0, x, 0) ** 3", {1, 0, 27, 0.125, 64, 0}},
      {"y", "y = clamp(x, -1, 1) / -2", {-0.5, 0.5, -0.5, -0.25, -0.5, 0.5}},
      {"y", "y = max(x, w, 2)", {2, 2, 3, 2, 4, 3}},
      {"y", "y = gelu(x * 0 + 1)", {g, g, g, g, g, g}},
      {"y", "y = -x ** 2", {-1, -4, -9, -0.25, -16, -1}},
      {"y", "y = 2 ** -1 * x", {0.5, -1, 1.5, 0.25, 2, -0.5}},
      {"y", "y = cumsum(x, axis=1)", {1, -1, 2, 0.5, 4.5, 3.5}},
      {"y", "y = cumsum(x, axis=0)", {1, -2, 3, 1.5, 2, 2}},
      {"p", "p = transpose(x)", {1, 0.5, -2, 4, 3, -1}},
      {"c", "c = x @ transpose(x)", {14, -10.5, -10.5, 17.25}},
      {"s", "s = x @ w + b", {16, 25.5}},
      {"z", "z = q @ q", {7, 10, 15, 22}},
      {"y", "y = scale * x + arange(cols) / cols", {0.5, -1 + 1.0 / 3, 1.5 + 2.0 / 3, 0.25, 2 + 1.0 / 3, -0.5 + 2.0 / 3}},
      {"y", "y = x + w - w;", {1, -2, 3, 0.5, 4, -1}},
      {"y", "y = any(x > 3, axis=1, keepdims=true) + x * 0", {0, 0, 0, 1, 1, 1}},
      {"y", "y = sign(x) + floor(x) + round(x)", {3, -5, 7, 1, 9, -3}},
  };
  for (const Valued& row : kRows) {
    const Task task = task_with({row.output});
    const auto parsed = parse(row.text, task);
    ASSERT_TRUE(parsed) << row.text << ": " << to_string(parsed.error());
    const auto values = evaluate(*parsed, task, kSizes, inputs());
    ASSERT_TRUE(values) << row.text;
    const auto& found = values->at(row.output);
    ASSERT_EQ(found.size(), row.values.size()) << row.text;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], row.values[i], 1e-12) << row.text << " at " << i;
  }
}

TEST(Formula, OperationsAreCounted) {
  const Task task = task_with({"z"});
  EXPECT_EQ(operations(*parse("z = q @ q", task), {{"n", 10}, {"rows", 1}, {"cols", 1}}), 2000);
  EXPECT_EQ(operations(*parse("z = q * 2 + 1", task), {{"n", 10}, {"rows", 1}, {"cols", 1}}), 200);
}

TEST(Formula, RowReductionsAreInOrderOfDependency) {
  const auto parsed = parse("y = softmax(x, axis=1)", task_with({"y"}));
  ASSERT_TRUE(parsed);
  const RowReduction rows = row_reduction(*parsed);
  EXPECT_EQ(rows.outer, (Shape{"rows"}));
  EXPECT_EQ(rows.inner, (Shape{"cols"}));
  ASSERT_EQ(rows.reductions.size(), 2u);
  EXPECT_EQ((*parsed)[rows.reductions[0]].op, Op::reduce_maximum);
  EXPECT_EQ((*parsed)[rows.reductions[1]].op, Op::sum);
  EXPECT_TRUE(rows.outputs_rows);
}

TEST(FormulaCuda, SharedValuesAreComputedOnce) {
  const Task task = task_with({"y"});
  const auto parsed = parse("y = gelu(x * w + expand(b, axis=1))", task);
  ASSERT_TRUE(parsed);
  EmitOptions options;
  options.index = {"row", "col"};
  const Emitted emitted = emit_cuda(*parsed, task, parsed->outputs[0].value, options);
  ASSERT_EQ(emitted.statements.size(), 1u);
  EXPECT_EQ(emitted.statements[0], "const float v0 = (x[row * cols + col] * w[col]) + b[row];");
  EXPECT_EQ(emitted.value, "((0.5f * v0) * (1.0f + erff((v0 * 0.7071067811865476f))))");
  EXPECT_EQ(emitted.type, Number::f32);
}

TEST(FormulaCuda, HalvesAreConverted) {
  Task task = task_with({});
  task.tensors.push_back(tensor("h", {"rows", "cols"}, Role::in, Dtype::f16));
  task.tensors.push_back(tensor("o", {"rows", "cols"}, Role::out, Dtype::f16));
  const auto parsed = parse("o = h * 2", task);
  ASSERT_TRUE(parsed);
  EmitOptions options;
  options.index = {"r", "c"};
  const Emitted emitted = emit_cuda(*parsed, task, parsed->outputs[0].value, options);
  EXPECT_EQ(emitted.value, "(__half2float(h[r * cols + c]) * 2.0f)");
  EXPECT_EQ(store_text(Dtype::f16, emitted.value, emitted.type), "__float2half(__half2float(h[r * cols + c]) * 2.0f)");
}

TEST(Formula, ExtentsAreEqualWhateverTheirSpelling) {
  Task task = task_with({});
  task.tensors.push_back(tensor("u", {"2 * n + 2"}));
  task.tensors.push_back(tensor("o", {"(n + 1) * 2"}, Role::out));
  EXPECT_TRUE(parse("o = u", task));
  task.tensors.back().shape = {"2 * n + 1"};
  EXPECT_FALSE(parse("o = u", task));
}

}  // namespace
}  // namespace kforge::task::formula
