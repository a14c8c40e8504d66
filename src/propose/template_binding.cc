#include "propose/template_binding.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "base/files.h"
#include "propose/template_emit.h"
#include "propose/template_formula.h"
#include "propose/template_render.h"

namespace kforge::propose {

using Kind = Term::Kind;

namespace {

struct BinderRow {
  std::string_view name;
  Binder bind;
};
constexpr std::array<BinderRow, 13> kBinders{{{"elementwise", bind_elementwise}, {"rows", bind_rows}, {"columns", bind_columns}, {"all", bind_all},
                                              {"transpose", bind_transpose}, {"scan", bind_scan}, {"histogram", bind_histogram}, {"gemm", bind_gemm}, {"stencil", bind_stencil},
                                              {"march", bind_march}, {"gemm_mma", bind_gemm_mma}, {"gemm_wgmma", bind_gemm_wgmma}, {"attention", bind_attention}}};

// Words that generated text uses besides those of the template.
constexpr std::array<std::string_view, 44> kTextWords{
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "erf", "erfc", "pow", "fabs", "abs", "floor", "ceil", "round", "trunc", "fmod", "hypot", "fma", "max", "min", "fmax", "fmin", "copysign", "clamp", "Real", "INFINITY",
    "stream", "blockIdx", "threadIdx", "gridDim"};

bool is_text_word(const std::string& name) {
  if (std::find(kTextWords.begin(), kTextWords.end(), name) != kTextWords.end()) return true;
  // Locals: t0, r12, line3.
  const std::size_t digits = name.find_first_of("0123456789");
  constexpr std::array<std::string_view, 6> kPrefixes{"t", "r", "e", "s", "f", "line"};
  return digits != std::string::npos && std::find(kPrefixes.begin(), kPrefixes.end(), std::string_view(name).substr(0, digits)) != kPrefixes.end() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(digits), name.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
}

std::string headers_of(const task::Task& task) {
  std::set<std::string> names{"<cuda_runtime.h>"};
  for (const auto& tensor : task.tensors) {
    const std::string_view type = task::cuda_type(tensor.dtype);
    if (tensor.dtype == task::Dtype::f16) names.insert("<cuda_fp16.h>");
    if (tensor.dtype == task::Dtype::bf16) names.insert("<cuda_bf16.h>");
    if (tensor.dtype == task::Dtype::e4m3 || tensor.dtype == task::Dtype::e5m2) names.insert("<cuda_fp8.h>");
    if (type.find("int") != std::string_view::npos) names.insert("<cstdint>");
  }
  std::string out;
  for (const std::string& name : names) out += "#include " + name + "\n";
  out.pop_back();
  return out;
}

}  // namespace

Binder find_binder(std::string_view name) {
  const auto found = std::find_if(kBinders.begin(), kBinders.end(), [&](const BinderRow& row) { return row.name == name; });
  return found == kBinders.end() ? nullptr : found->bind;
}

Computation computation_of(const task::Task& task, const std::string& pattern) {
  Computation out{task, pattern, std::nullopt, ""};
  std::string text;
  if (!task.formula.empty()) {
    const auto formula = task::formula::of(task);
    if (formula) out.lifted = lift_formula(*formula, task, out.why);
    else out.why = formula.error().message;
  } else if (task.reference.ends_with(".py")) {
    out.why = "the reference is no C++";
  } else if (auto source = read_file(task.reference)) {
    text = *source;
  } else {
    out.why = source.error().message;
  }
  if (!text.empty()) out.lifted = lift_reference(task, text, out.why);
  return out;
}

std::optional<std::int64_t> value_of(const TermPtr& term, const task::Sizes& sizes) {
  if (term->kind == Kind::number) return integer_of(term);
  if (term->kind == Kind::size) {
    const auto found = sizes.find(term->text);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  }
  if (term->kind == Kind::to_integer) return value_of(term->args[0], sizes);
  if (term->args.size() != 2) return std::nullopt;
  const auto a = value_of(term->args[0], sizes), b = value_of(term->args[1], sizes);
  if (!a || !b) return std::nullopt;
  if (term->text == "+") return *a + *b;
  if (term->text == "-") return *a - *b;
  if (term->text == "*") return *a * *b;
  if (term->text == "min") return std::min(*a, *b);
  if (term->text == "max") return std::max(*a, *b);
  if (*b == 0) return std::nullopt;
  if (term->text == "/") return *a / *b;
  if (term->text == "%") return *a % *b;
  if (term->text == "ceil_div") return (*a + *b - 1) / *b;
  return std::nullopt;
}

std::optional<Binding> bind_template(const Template& made, const Computation& computation, const hardware::DataSheet& sheet, std::string& why) {
  const task::Task& task = computation.task;
  if (sheet.sm() < made.min_sm) {
    why = fmt::format("needs sm_{}", made.min_sm);
    return std::nullopt;
  }
  if (sheet.sm() > made.max_sm) {
    why = fmt::format("sm_{} lacks its instructions", sheet.sm());
    return std::nullopt;
  }
  if (!made.dtypes.empty())
    for (const auto& tensor : task.tensors)
      if (std::find(made.dtypes.begin(), made.dtypes.end(), task::name(tensor.dtype)) == made.dtypes.end()) {
        why = fmt::format("{} is {}", tensor.name, task::name(tensor.dtype));
        return std::nullopt;
      }
  const Binder binder = find_binder(made.binder);
  if (!binder) {
    why = "unknown binder " + made.binder;
    return std::nullopt;
  }
  const std::vector<std::string> taken = identifiers_of(made);
  auto bound = binder(computation, taken);
  if (!bound) why = computation.lifted ? "the computation is of another kind" : computation.why;
  else for (const auto& [name, value] : sheet_numbers(sheet)) bound->texts[name] = std::to_string(value);
  return bound;
}

FileNames::FileNames(const task::Task& task, const std::vector<std::string>& taken) {
  std::set<std::string> used(taken.begin(), taken.end());
  const auto add = [&](const std::string& name) {
    std::string own = name;
    while (used.contains(own) || is_text_word(own)) own += "_";
    used.insert(own);
    names_[name] = own;
  };
  for (const auto& tensor : task.tensors) add(tensor.name);
  for (const auto& size : task.size_names()) add(size);
  for (const auto& scalar : task.scalars) add(scalar.name);
}
const std::string& FileNames::operator()(const std::string& name) const { return names_.at(name); }

Binding common_binding(const task::Task& task, const FileNames& names) {
  Binding out;
  std::vector<std::string> parameters, kernel_parameters, arguments, aligned;
  bool is_double = false;
  for (const auto& tensor : task.tensors) {
    const std::string type = (tensor.role == task::Role::in ? "const " : "") + std::string(task::cuda_type(tensor.dtype));
    parameters.push_back(type + "* " + names(tensor.name));
    kernel_parameters.push_back(type + "* __restrict__ " + names(tensor.name));
    arguments.push_back(names(tensor.name));
    is_double = is_double || tensor.dtype == task::Dtype::f64;
  }
  const auto value = [&](std::string_view type, const std::string& name) {
    parameters.push_back(fmt::format("{} {}", type, name));
    kernel_parameters.push_back(parameters.back());
    arguments.push_back(name);
  };
  for (const auto& size : task.size_names()) value(task.sizes_are_64_bit ? "long long" : "int", names(size));
  for (const auto& scalar : task.scalars) value(task::cuda_type(scalar.dtype), names(scalar.name));
  out.texts["function"] = task.function;
  out.texts["parameters"] = join(parameters, ", ");
  out.texts["kernel_parameters"] = join(kernel_parameters, ", ");
  out.texts["arguments"] = join(arguments, ", ");
  out.texts["real"] = is_double ? "double" : "float";
  out.texts["headers"] = headers_of(task);
  std::uint32_t widest = 1, narrowest = 8;
  for (const auto& tensor : task.tensors) {
    widest = std::max(widest, task::size_bytes(tensor.dtype));
    narrowest = std::min(narrowest, task::size_bytes(tensor.dtype));
  }
  out.numbers["element_bytes"] = number_term(widest);
  out.numbers["narrowest_bytes"] = number_term(narrowest);
  return out;
}

TermPtr product_of(const std::vector<TermPtr>& extents) {
  TermPtr product = number_term(1);
  for (const TermPtr& extent : extents) product = binary_term("*", product, extent);
  return product;
}

std::string extent_text(const TermPtr& extent, const task::Task& task, const FileNames& names) {
  const EmitNames emit_names{[&](const std::string& name) { return "static_cast<long long>(" + names(name) + ")"; }, [](const TermPtr&) { return std::string(); }, "t"};
  const std::string text = emit({extent}, task, emit_names).values[0];
  return text;
}

const task::Tensor& tensor_of(const task::Task& task, const std::string& name) {
  return *std::find_if(task.tensors.begin(), task.tensors.end(), [&](const auto& t) { return t.name == name; });
}

std::vector<TermPtr> extents_of(const task::Tensor& tensor) {
  std::vector<TermPtr> extents;
  for (const std::string& extent : tensor.shape) extents.push_back(extent_term(extent));
  return extents;
}

bool same_extent(const TermPtr& a, const TermPtr& b) {
  if (!a || !b) return false;
  std::map<std::string, TermPtr> atoms;
  const syntax::Polynomial left = polynomial_of(a, atoms);
  return left.is_known() && left == polynomial_of(b, atoms);
}

bool is_row_major(const task::Tensor& tensor) {
  if (tensor.strides.empty()) return true;
  task::Tensor plain = tensor;
  plain.strides.clear();
  std::map<std::string, TermPtr> atoms;
  return strides_of(tensor, atoms) == strides_of(plain, atoms);
}

std::vector<std::string> loads_of(const std::vector<TermPtr>& terms) {
  std::vector<std::string> found;
  const std::function<void(const TermPtr&)> visit = [&](const TermPtr& t) {
    if (t->kind == Kind::load && std::find(found.begin(), found.end(), t->text) == found.end()) found.push_back(t->text);
    for (const TermPtr& arg : t->args) visit(arg);
  };
  for (const TermPtr& term : terms) visit(term);
  return found;
}

TermPtr without_casts(const TermPtr& term) {
  return rewrite(term, [](const TermPtr& t) -> TermPtr { return t->kind == Kind::to_real ? without_casts(t->args[0]) : nullptr; });
}

std::string lines(const std::vector<std::string>& statements, int indent) {
  std::string out;
  for (const std::string& s : statements) out += (out.empty() ? "" : "\n" + std::string(static_cast<std::size_t>(indent), ' ')) + s;
  return out;
}

}  // namespace kforge::propose
