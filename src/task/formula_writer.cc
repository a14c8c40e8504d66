#include "task/formula_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"

namespace kforge::task::formula {
namespace {

std::vector<std::string> names_of(const Task& task) {
  std::vector<std::string> out = task.size_names();
  for (const Tensor& tensor : task.tensors) out.push_back(tensor.name);
  for (const Scalar& scalar : task.scalars) out.push_back(scalar.name);
  return out;
}

// As trial/interface.cc has it: a reference takes float for f32 and narrower.
std::string element_type(Dtype dtype, Language language) {
  if (language == Language::cuda || !is_float(dtype)) return std::string(cuda_type(dtype));
  return dtype == Dtype::f64 ? "double" : "float";
}

}  // namespace

Expected<std::string> write_source(const Expected<std::string>& source, const Task& task, std::string_view extension) {
  if (!source) return Unexpected(source.error());
  const auto cache = cache_folder();
  if (!cache) return Unexpected(cache.error());
  const auto folder = *cache / "formulas";
  if (auto made = make_directories(folder); !made) return Unexpected(made.error());
  const auto path = folder / fmt::format("{}-{}{}", task.name, hash_hex(*source), extension);
  if (const auto there = read_file(path); there && *there == *source) return path.string();
  if (auto written = write_file_atomic(path, *source); !written) return Unexpected(written.error());
  return path.string();
}

void Writer::line(std::string_view text) { text_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + std::string(text) + "\n"; }

void Writer::open(std::string_view head) {
  line(std::string(head) + (head.empty() ? "{" : " {"));
  ++depth_;
}

void Writer::close(std::string_view end) {
  --depth_;
  line(end);
}

void Writer::loop(const std::string& variable, const std::string& extent) { open(fmt::format("for (long long {0} = 0; {0} < {1}; ++{0})", variable, extent)); }

std::string fresh(const Task& task, std::string wanted, const std::vector<std::string>& taken) {
  const auto names = names_of(task);
  const auto used = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end() || std::find(taken.begin(), taken.end(), name) != taken.end();
  };
  while (used(wanted)) wanted += '_';
  return wanted;
}

std::string fresh_stem(const Task& task, std::string stem) {
  const auto names = names_of(task);
  const auto clashes = [&] {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with(stem) && name.size() > stem.size() && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(stem.size()), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    });
  };
  while (clashes()) stem += '_';
  return stem;
}

std::string parameters(const Task& task, Language language, const std::string& size_prefix, bool wide_sizes) {
  std::vector<std::string> out;
  for (const Tensor& tensor : task.tensors)
    out.push_back(fmt::format("{}{}* {}", tensor.role == Role::in ? "const " : "", element_type(tensor.dtype, language), tensor.name));
  for (const std::string& size : task.size_names())
    out.push_back(fmt::format("{} {}{}", wide_sizes || task.sizes_are_64_bit ? "long long" : "int", size_prefix, size));
  for (const Scalar& scalar : task.scalars) out.push_back(fmt::format("{} {}", element_type(scalar.dtype, language), scalar.name));
  return join(out, ", ");
}

const Tensor& tensor_of(const Task& task, const std::string& name) {
  return *std::find_if(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) { return tensor.name == name; });
}

Tensor dense(std::string name, Shape shape) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  return out;
}

std::string extent_text(const std::string& extent) {
  const std::string text = size_text(extent);
  return text.find_first_of(" +-*/%") == std::string::npos ? text : "(" + text + ")";
}

std::string element_count(const Shape& shape) {
  std::string out;
  for (const std::string& extent : shape) out += (out.empty() ? "" : " * ") + extent_text(extent);
  return out.empty() ? "1" : out;
}

std::string neutral(Op op, Number number) {
  const bool real = number >= Number::f32;
  const bool lowest = op == Op::reduce_maximum || op == Op::argmax, highest = op == Op::reduce_minimum || op == Op::argmin;
  if (op == Op::any) return "false";
  if (op == Op::all) return "true";
  if (lowest || highest) {
    if (real) return lowest ? "-INFINITY" : "INFINITY";
    if (number == Number::boolean) return lowest ? "false" : "true";
    if (number == Number::i32) return lowest ? "(-2147483647 - 1)" : "2147483647";
    return lowest ? "(-9223372036854775807LL - 1)" : "9223372036854775807LL";
  }
  const std::string_view digits = op == Op::product ? "1" : "0";
  return real ? fmt::format("{}.0{}", digits, number == Number::f32 ? "f" : "") : std::string(digits);
}

std::string combined(Op op, Number number, Language language, const std::string& gathered, const std::string& next) {
  const OpRow& r = row(op);
  std::string_view text = r.cpp;
  if (number < Number::f32) text = r.integer.empty() ? r.cpp : r.integer;
  else if (language == Language::cuda) text = number == Number::f64 ? r.cuda_double : r.cuda_float;
  return replace_all(replace_all(text, "{0}", gathered), "{1}", next);
}

Expected<std::string> write_reference(const Task& task) { return write_source(to_reference_source(task), task, ".cpp"); }

}  // namespace kforge::task::formula
