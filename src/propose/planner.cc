#include "propose/planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "propose/pattern.h"
#include "task/cases.h"
#include "task/formula.h"

namespace kforge::propose {
namespace {

using task::Dtype;
using task::Role;

// What a kernel needs from its launch to its end even when it does next to nothing (hardware/time_model.cc).
constexpr double kSmallestUs = 1.0;

struct Shapes {
  std::vector<std::pair<const task::Tensor*, task::TensorLayout>> in, out;
};

Expected<Shapes> shapes_of(const task::Task& task, const task::Sizes& sizes) {
  Shapes out;
  for (const task::Tensor& tensor : task.tensors) {
    auto placed = task::layout(tensor, sizes);
    if (!placed) return Unexpected(placed.error());
    if (tensor.role != Role::out) out.in.emplace_back(&tensor, *placed);
    if (tensor.role != Role::in) out.out.emplace_back(&tensor, *placed);
  }
  return out;
}

double elements(const std::vector<std::pair<const task::Tensor*, task::TensorLayout>>& tensors) {
  double out = 0;
  for (const auto& [tensor, placed] : tensors) out += static_cast<double>(placed.elements);
  return out;
}

double bytes(const std::pair<const task::Tensor*, task::TensorLayout>& one) { return static_cast<double>(one.second.elements) * task::size_bytes(one.first->dtype); }

double largest(const std::vector<std::pair<const task::Tensor*, task::TensorLayout>>& tensors) {
  double out = 0;
  for (const auto& one : tensors) out = std::max(out, static_cast<double>(one.second.elements));
  return out;
}

// How many elements an output element gathers: the task's own word, else the extents of inputs that no output has.
double reduction_length(const task::Task& task, const task::Sizes& sizes) {
  if (task.numerics.reduction)
    if (const auto value = task::evaluate(*task.numerics.reduction, sizes)) return static_cast<double>(std::max<std::int64_t>(*value, 1));
  std::vector<std::string> kept, gone;
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != Role::in) kept.insert(kept.end(), tensor.shape.begin(), tensor.shape.end());
  double out = 1;
  for (const task::Tensor& tensor : task.tensors)
    for (const std::string& extent : tensor.shape) {
      const bool known = std::find(kept.begin(), kept.end(), extent) != kept.end() || std::find(gone.begin(), gone.end(), extent) != gone.end();
      if (known) continue;
      gone.push_back(extent);
      out *= static_cast<double>(task::evaluate(extent, sizes).value_or(1));
    }
  return out;
}

struct Inputs { const task::Task& task; const task::Sizes& sizes; const Shapes& shapes; double in, out, length; };

// Operations and special functions of one run, a multiply-add as two.
struct Arithmetic { double operations = 0, special = 0; };

Arithmetic per_output(const Inputs& i) { return {i.out * static_cast<double>(std::max<std::size_t>(i.shapes.in.size(), 1)), 0}; }
Arithmetic per_input(const Inputs& i) { return {largest(i.shapes.in), 0}; }
// Subtract, add up, scale, besides the exponential and the comparison.
Arithmetic softmax(const Inputs& i) { return {4 * i.out, i.out}; }
Arithmetic norm(const Inputs& i) { return {6 * i.out, i.out / std::max(i.length, 1.0)}; }
Arithmetic product(const Inputs& i) { return {2 * i.out * i.length, 0}; }
// The filter's elements that one output needs: all but the axis that it shares with the output.
Arithmetic convolution(const Inputs& i) {
  const auto& filter = i.shapes.in.size() > 1 ? i.shapes.in[1] : i.shapes.in[0];
  const double features = filter.second.shape.empty() ? 1 : static_cast<double>(std::max<std::int64_t>(filter.second.shape[0], 1));
  return {2 * i.out * static_cast<double>(filter.second.elements) / features, 0};
}
// Scores and weighted sum over the keys: 4 x outputs x keys, an exponential a score.
Arithmetic attention(const Inputs& i) {
  const auto& keys = i.shapes.in.size() > 1 ? i.shapes.in[1] : i.shapes.in[0];
  const auto rank = keys.second.shape.size();
  const double count = rank >= 2 ? static_cast<double>(keys.second.shape[rank - 2]) : 1, width = rank >= 1 ? static_cast<double>(std::max<std::int64_t>(keys.second.shape[rank - 1], 1)) : 1;
  return {4 * i.out * count, i.out / width * count};
}
Arithmetic stencil(const Inputs& i) { return {2 * i.out * (i.task.numerics.reduction ? i.length : 5), 0}; }
Arithmetic sorting(const Inputs& i) { return {i.out * std::log2(std::max(2.0, i.length > 1 ? i.length : i.out)), 0}; }
Arithmetic nothing(const Inputs&) { return {}; }

struct PatternRow {
  std::string_view pattern;
  Arithmetic (*arithmetic)(const Inputs&);
  bool matrix;      // tensor cores may do it
};
constexpr std::array<PatternRow, 16> kPatterns{{
    {"elementwise", per_output, false}, {"reduction", per_input, false}, {"arg_reduction", per_input, false}, {"softmax", softmax, false},
    {"layer_norm", norm, false}, {"rms_norm", norm, false}, {"transpose", nothing, false}, {"scan", per_input, false},
    {"stencil", stencil, false}, {"histogram", per_input, false}, {"gemm", product, true}, {"convolution", convolution, true},
    {"attention", attention, true}, {"sort", sorting, false}, {"gather", nothing, false}, {"scatter", per_input, false},
}};

const PatternRow* pattern_row(std::string_view pattern) {
  const auto found = std::find_if(kPatterns.begin(), kPatterns.end(), [&](const PatternRow& row) { return row.pattern == pattern; });
  return found == kPatterns.end() ? nullptr : &*found;
}

Dtype arithmetic_type(const Shapes& shapes) {
  if (!shapes.in.empty()) return shapes.in[0].first->dtype;
  return shapes.out[0].first->dtype;
}

// Operations go to the unit that does them fastest without changing the result: f32 does not become tf32.
void assign_unit(hardware::Work& work, double operations, Dtype dtype, bool matrix) {
  if (matrix && dtype != Dtype::f32 && dtype != Dtype::i32 && dtype != Dtype::u32 && dtype != Dtype::i64) {
    work.tensor_ops = operations;
    work.tensor_type = dtype == Dtype::u8 ? "i8" : std::string(task::name(dtype));
    return;
  }
  if (!task::is_float(dtype)) work.int_ops = operations;
  else if (dtype == Dtype::f64) work.fp64_ops = operations;
  else work.fp32_ops = operations;   // halves are computed in f32, unless tensor cores take them
}

double goal_us(const task::Task& task, double floor_us) {
  if (!task.goal) return 0;
  if (task.goal->us) return *task.goal->us;
  if (task.goal->roofline) return floor_us / *task.goal->roofline;
  return 0;
}

Expected<PlanSize> plan_size(const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern, const task::Sizes& sizes) {
  const auto work = work_of(task, pattern, sizes);
  if (!work) return Unexpected(work.error());
  const hardware::Floor floor = hardware::roofline(sheet, work->work);
  PlanSize out;
  out.sizes = sizes;
  out.operations = work->operations;
  out.read_bytes = work->read_bytes;
  out.write_bytes = work->write_bytes;
  out.floor_us = floor.seconds * 1e6;
  out.bound = floor.bound;
  const double good = out.floor_us / achievable_fraction(floor.bound) + kSmallestUs;
  if (out.floor_us < kSmallestUs) out.bound = "latency";   // the launch costs more than the work
  const double goal = goal_us(task, out.floor_us);
  out.target_us = goal > 0 ? goal : good;
  return out;
}

std::string reference_text(const task::Task& task) {
  const std::string extension = std::filesystem::path(task.reference).extension().string();
  if (extension != ".cpp" && extension != ".cc" && extension != ".cxx") return {};
  return read_file(task.reference, 4u << 20).value_or("");
}

}  // namespace

double achievable_fraction(std::string_view bound) {
  struct Row { std::string_view bound; double fraction; };
  constexpr std::array<Row, 4> kRows{{{"dram", 0.9}, {"l2", 0.7}, {"fp32", 0.76}, {"tensor", 0.78}}};
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.bound == bound; });
  return found == kRows.end() ? 0.7 : found->fraction;
}

Expected<SizeWork> work_of(const task::Task& task, const std::string& pattern, const task::Sizes& sizes) {
  const auto shapes = shapes_of(task, sizes);
  if (!shapes) return Unexpected(shapes.error());
  SizeWork out;
  for (const auto& one : shapes->in) out.read_bytes += bytes(one);
  for (const auto& one : shapes->out) out.write_bytes += bytes(one);
  // Of a table only the rows that are asked for are read.
  if (pattern == "gather" && out.read_bytes > out.write_bytes) {
    double largest_table = 0;
    for (const auto& one : shapes->in) largest_table = std::max(largest_table, bytes(one));
    out.read_bytes += std::min(0.0, out.write_bytes - largest_table);
  }
  const PatternRow* row = pattern_row(pattern);
  const Inputs inputs{task, sizes, *shapes, elements(shapes->in), elements(shapes->out), reduction_length(task, sizes)};
  Arithmetic arithmetic = row ? row->arithmetic(inputs) : per_output(inputs);
  if (!task.formula.empty())
    if (const auto formula = task::formula::of(task)) arithmetic.operations = task::formula::operations(*formula, sizes);
  out.operations = arithmetic.operations;
  out.work.dram_bytes = out.read_bytes;
  out.work.l2_bytes = out.read_bytes + out.write_bytes;
  out.work.special_ops = arithmetic.special;
  assign_unit(out.work, arithmetic.operations, arithmetic_type(*shapes), row && row->matrix);
  return out;
}

Expected<Plan> make_plan(const task::Task& task, const hardware::DataSheet& sheet) {
  Plan plan;
  plan.task = task.name;
  plan.gpu = sheet.name;
  plan.guess = guess_pattern(task, reference_text(task));
  for (const task::Sizes& sizes : task.measure) {
    auto size = plan_size(task, sheet, plan.guess.pattern, sizes);
    if (!size) return Unexpected(size.error());
    plan.sizes.push_back(std::move(*size));
  }
  auto steps = plan_steps(task, sheet, plan.guess.pattern);
  if (!steps) return Unexpected(steps.error());
  plan.steps = std::move(*steps);
  plan.notes = plan_notes(task, sheet, plan);
  return plan;
}

}  // namespace kforge::propose
