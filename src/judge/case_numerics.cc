#include "judge/case_numerics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "judge/elements.h"
#include "judge/mismatch_pattern.h"
#include "judge/trivial_output.h"
#include "task/low_bits.h"

namespace kforge::judge {
namespace {

constexpr std::int64_t kPooledBelow = 32;   // elements (contracts.md, "Numerics")

TensorReport report_of(const std::string& name, const TensorErrors& e) {
  TensorReport report;
  report.name = name;
  report.max_abs = e.max_abs;
  report.max_rel = e.max_rel;
  report.mae = e.mae;
  report.rmse = e.rmse;
  report.rel_l2 = e.rel_l2;
  report.psnr_db = e.psnr_db;
  report.cosine = e.cosine;
  report.elements = e.elements;
  report.mismatched = e.mismatched;
  report.undecided = e.undecided;
  report.worst_index = e.worst_index;
  return report;
}

// Values so small that a product of two of them is no normal number: a right kernel may lose them on the way to a result that
// the reference, in double, keeps.
bool underflows(const std::vector<Draw>& draws, task::Dtype accumulate) {
  const double floor = accumulate == task::Dtype::f64 ? 0x1p-511 : 0x1p-63;
  double largest = 0;
  for (const Draw& draw : draws)
    for (const double value : draw.reference) largest = std::max(largest, std::abs(value));
  return largest > 0 && largest < floor;
}

// "[3][17]" of a row-major index.
std::string subscript(std::int64_t index, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    if (*extent <= 0) return {};
    text = fmt::format("[{}]", index % *extent) + text;
    index /= *extent;
  }
  return text;
}

std::vector<InputView> input_views(const trial::CallEvidence& call, const task::Task& task, std::vector<task::TensorLayout>& layouts) {
  std::vector<const task::Tensor*> tensors;
  for (const task::Tensor& tensor : task.tensors) {
    if (tensor.role == task::Role::out) continue;
    const auto layout = task::layout(tensor, call.run.sizes);
    if (!layout) return {};
    tensors.push_back(&tensor);
    layouts.push_back(*layout);
  }
  std::vector<InputView> views;
  for (std::size_t i = 0; i < tensors.size() && i < call.inputs.size(); ++i)
    views.push_back({tensors[i]->dtype, call.inputs[i], &layouts[i]});
  return views;
}

const task::Tensor* find_tensor(const task::Task& task, const std::string& name) {
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

}  // namespace

std::string NumericsJudge::judge(const task::Tensor& tensor, std::vector<Draw> draws, const Pool& about, const std::string& candidate,
                                 CaseReport* report, FindingSet& findings) {
  const auto options = numerics_options(task_, tensor, about.sizes);
  if (!options) {
    task_fault_ = to_string(options.error());
    return {};
  }
  NumericsOptions asked = *options;
  asked.degenerate_is_wrong = defences_.on(trial::Defence::degenerate);
  TensorErrors errors = compare(draws, about.layout, asked);
  // Adversarial values under which the reference itself leaves its type prove nothing about the candidate.
  const bool overflows = errors.reference_overflows || errors.reference_has_nan;
  if (about.values != "declared" && (overflows || (task::is_float(tensor.dtype) && underflows(draws, options->accumulate)))) {
    if (report) report->degenerate = true, report->why = overflows ? "the reference overflows on these values" : "products of these values underflow";
    return {};
  }
  std::vector<double> moves;
  if (!errors.passed && about.moves && (moves = about.moves()).size() == draws.front().reference.size()) {
    draws.front().moves = moves;
    errors = compare(draws, about.layout, asked);
  }
  if (errors.reference_has_nan) task_fault_ = fmt::format("the reference gives NaN for output '{}' [{}]", tensor.name, about.label);
  if (about.values == "declared" && task::is_float(tensor.dtype)) {
    asked.abs.reset();
    asked.rel.reset();
    const TensorErrors strict = errors.own_bounds ? compare(draws, about.layout, asked) : errors;
    reached_.see(tensor.name, about.label, strict);
    if (errors.own_bounds && errors.passed && asked.degenerate_is_wrong && errors.reference.kind == Degenerate::no)
      errors.why = no_better_than_nothing(draws, about.layout, tensor.dtype, strict.norm_bound);
    errors.passed = errors.why.empty();
  }
  const bool degenerate = errors.reference.kind != Degenerate::no;
  if (degenerate && std::any_of(draws.front().reference.begin(), draws.front().reference.end(), [](double value) { return std::isinf(value); })) infinite_.insert(tensor.name);
  could_fail_[tensor.name] |= !degenerate && errors.undecided < errors.elements;
  if (report) {
    report->degenerate |= degenerate;
    report->tensors.push_back(report_of(tensor.name, errors));
  }
  if (errors.passed) return {};
  const std::size_t worst = errors.worst_index < 0 ? 0 : byte_offset(about.layout, static_cast<std::size_t>(errors.worst_index), tensor.dtype);
  const StoringLine storing = errors.worst_index < 0 ? about.storing.busiest() : about.storing.nearest(worst);
  Finding finding = make_finding("numerics", storing.position, candidate);
  finding.kernel = storing.kernel.empty() ? "" : readable_kernel(storing.kernel);
  finding.measured = fmt::format("{} of {} elements of '{}' wrong, relative L2 {:.3g}", errors.mismatched, errors.elements, tensor.name, errors.rel_l2);
  finding.message = fmt::format("{}: {} [{}]", tensor.name, errors.why, about.label);
  if (errors.worst_index >= 0)
    finding.details.push_back(fmt::format("worst at {}{}: got {:.9g}, expected {:.9g}, allowed difference {:.3g}", tensor.name,
                                          subscript(errors.worst_index, about.layout.shape), errors.worst_out, errors.worst_reference, errors.worst_bound));
  if (const std::string pattern = mismatch_pattern(errors.mismatches, about.layout.shape); !pattern.empty()) finding.details.push_back("wrong: " + pattern);
  findings.add(std::move(finding), static_cast<double>(errors.mismatched));
  return fmt::format("numerics: {}: {}", tensor.name, errors.why);
}

std::string NumericsJudge::see(const trial::CallEvidence& call, const std::string& candidate, CaseReport& report, FindingSet& findings) {
  std::string why;
  const std::string key = call.run.label + "/" + call.run.values;
  std::vector<task::TensorLayout> layouts;
  const std::vector<InputView> inputs = input_views(call, task_, layouts);
  std::optional<std::vector<std::vector<double>>> all_moves;   // of all outputs, told at once
  for (const trial::Output& output : call.outputs) {
    const task::Tensor* tensor = find_tensor(task_, output.tensor);
    if (!tensor || output.reference.empty()) continue;
    std::function<std::vector<double>()> moves;
    if (call.moves) moves = [&] {
      if (!all_moves) all_moves = call.moves();
      return all_moves->empty() ? std::vector<double>{} : (*all_moves)[static_cast<std::size_t>(&output - call.outputs.data())];
    };
    Pool now;
    now.key = key;
    now.label = call.run.label;
    now.sizes = call.run.sizes;
    now.values = call.run.values;
    now.layout = task::layout(*tensor, call.run.sizes).value_or(task::TensorLayout{});
    now.storing = StoringLines(call.log, tensor->name);
    if (call.run.values.starts_with(task::kLowBits)) see_pair(*tensor, call, output, now.layout);
    if (now.layout.elements >= kPooledBelow) {
      now.moves = std::move(moves);
      const std::string wrong = judge(*tensor, {Draw{output.bytes, output.reference, {}, inputs}}, now, candidate, &report, findings);
      if (why.empty()) why = wrong;
      continue;
    }
    if (pools_[tensor->name].key != key) {
      const std::string earlier = finish(*tensor, candidate, findings);
      if (why.empty()) why = earlier;
      pools_[tensor->name] = now;
    }
    keep(pools_[tensor->name], output, inputs);
    if (call.call + 1 < call.run.calls) continue;
    pools_[tensor->name].further = output.further_references;
    pools_[tensor->name].moves = std::move(moves);
    const std::string wrong = finish(*tensor, candidate, findings);
    if (why.empty()) why = wrong;
  }
  return why;
}

void NumericsJudge::see_pair(const task::Tensor& tensor, const trial::CallEvidence& call, const trial::Output& output, const task::TensorLayout& layout) {
  auto options = numerics_options(task_, tensor, call.run.sizes);
  if (!options || !task::is_float(tensor.dtype) || static_cast<std::int64_t>(output.reference.size()) != layout.elements) return;
  options->abs.reset();
  options->rel.reset();
  const Draw draw{output.bytes, output.reference, {}, {}};
  const double allowed = compare({&draw, 1}, layout, *options).norm_bound;
  const Elements elements(output.bytes, layout, tensor.dtype);
  std::vector<double> out(output.reference.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = elements[i];
  operand_use_.see(call.run.values.substr(task::kLowBits.size()), tensor.name, call.run.label, call.call % 2 == 1, std::move(out), {output.reference.begin(), output.reference.end()}, allowed);
}

// An input of another number of elements cannot be what was copied: it is not kept.
void NumericsJudge::keep(Pool& pool, const trial::Output& output, const std::vector<InputView>& inputs) const {
  pool.out.push_back(output.bytes);
  pool.reference.push_back(output.reference);
  auto& kept = pool.inputs.emplace_back();
  const bool first = pool.inputs.size() == 1;
  std::size_t view = 0;
  for (const task::Tensor& tensor : task_.tensors) {
    if (tensor.role == task::Role::out || view >= inputs.size()) continue;
    const InputView& input = inputs[view++];
    if (input.layout->elements != pool.layout.elements) continue;
    kept.emplace_back(input.bytes.begin(), input.bytes.end());
    if (first) pool.input_tensors.push_back(&tensor), pool.input_layouts.push_back(*input.layout);
  }
}

std::string NumericsJudge::finish(const task::Tensor& tensor, const std::string& candidate, FindingSet& findings) {
  const auto entry = pools_.find(tensor.name);
  if (entry == pools_.end() || entry->second.out.empty()) return {};
  const Pool pool = std::move(entry->second);
  pools_.erase(entry);
  std::vector<std::vector<InputView>> views(pool.out.size());
  std::vector<Draw> draws;
  for (std::size_t i = 0; i < pool.out.size(); ++i) {
    for (std::size_t j = 0; j < pool.inputs[i].size(); ++j)
      views[i].push_back({pool.input_tensors[j]->dtype, pool.inputs[i][j], &pool.input_layouts[j]});
    draws.push_back({pool.out[i], pool.reference[i], {}, views[i]});
  }
  for (const std::vector<double>& reference : pool.further) draws.push_back({{}, reference, {}, {}});
  return judge(tensor, draws, pool, candidate, nullptr, findings);
}

std::string NumericsJudge::finish(const std::string& candidate, FindingSet& findings) {
  std::string why;
  for (const task::Tensor& tensor : task_.tensors) {
    const std::string wrong = finish(tensor, candidate, findings);
    if (why.empty()) why = wrong;
  }
  return why;
}

std::string NumericsJudge::why_blind(const std::string& output) const {
  return infinite_.contains(output) ? "its reference is infinite, as a division by zero or an overflow makes it, and nothing can be told from an infinity" : "its reference is zero, constant or a copy of an input";
}

std::optional<std::string> NumericsJudge::blind_output() const {
  for (const task::Tensor& tensor : task_.tensors) {
    if (tensor.role == task::Role::in) continue;
    const auto entry = could_fail_.find(tensor.name);
    if (entry == could_fail_.end() || !entry->second) return tensor.name;
  }
  return std::nullopt;
}

}  // namespace kforge::judge
