// A task: the computation, the GPU and the goal, as the task file states them (design.md, "Task file"). Values only; no
// files are open and no process runs once parse() has returned.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace kforge::task {

enum class Dtype : std::uint8_t { f64, f32, tf32, f16, bf16, e4m3, e5m2, i8, u8, i32, u32, i64, boolean };
std::string_view name(Dtype dtype);            // "f32", "bool"
std::uint32_t size_bytes(Dtype dtype);
bool is_float(Dtype dtype);
std::string_view cuda_type(Dtype dtype);       // "float", "__half", "int8_t", ...

enum class Role : std::uint8_t { in, out, inout };

// Expressions over size names (task/expression.h): + - * / % and parentheses, min(a, b), max(a, b), ceil_div(a, b).
using Sizes = std::map<std::string, std::int64_t>;

struct Values {                                // "normal(0, 1)"
  std::string kind = "normal";                 // normal uniform integers constant ramp one_hot permutation
  std::vector<double> arguments;
  std::vector<std::string> expressions;        // beside each argument: the expression it was written as; "" or absent: a number
};

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::string> shape;              // expressions, validated
  std::vector<std::string> strides;            // empty: row-major
  Role role = Role::in;
  Values values;
};

struct Scalar { std::string name; Dtype dtype = Dtype::f32; double value = 0; };

enum class Level : std::uint8_t { required, advice, off };
struct ContractOverride { std::optional<Level> level; std::map<std::string, double> thresholds; };

struct Goal {
  std::vector<std::string> versus;
  std::optional<double> ratio, roofline, us, p99_us;
};

struct Numerics {
  std::optional<Dtype> accumulate;
  std::optional<std::string> reduction;        // expression
  std::optional<double> abs, rel;              // present: the task's own bounds
  std::optional<double> integer_difference;    // allowed difference of integer outputs
  bool allow_nan = false;
};

struct Program { double total_us = 0, share = 0; };

struct Task {
  std::string path;                            // of the task file; "" when made by a program
  std::string name, summary;
  std::string pattern;
  std::string reference;                       // path, resolved against the task file's folder; "" with a formula
  std::string formula;                         // in place of a reference (task/formula.h); "" with a reference
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;
  bool sizes_are_64_bit = false;
  std::vector<Sizes> measure, verify;
  std::vector<std::string> where;
  Numerics numerics;
  std::string gpu = "h200";
  std::optional<Goal> goal;
  std::string function;
  std::vector<std::string> allow;
  std::vector<std::string> flags;
  std::optional<Program> program;
  std::map<std::string, ContractOverride> contracts;

  // Size names in the order in which they first appear in the tensors' shapes: the launcher's integer arguments.
  std::vector<std::string> size_names() const;
};

// Reads and checks a task file. Every error names file, line, key, and the nearest known key or value.
Expected<Task> read_task(const std::string& path);
Expected<Task> parse_task(std::string_view text, const std::string& path);

// Of the arithmetic that an output is agreed to be computed in: f32 unless stated (contracts.md), except that a double precision output asks for no less than its own.
inline Dtype accumulate_type(const Task& task, const Tensor& output) { return task.numerics.accumulate.value_or(output.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32); }

// Value of an expression. Errors: bad_input (unknown name, division by zero, overflow, negative extent).
Expected<std::int64_t> evaluate(std::string_view expression, const Sizes& sizes);

}  // namespace kforge::task
