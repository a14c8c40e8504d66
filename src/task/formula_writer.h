// What the two generators of whole sources share: lines with indentation, parameters, names that clash with nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "task/formula_cuda.h"

namespace kforge::task::formula {

class Writer {
 public:
  explicit Writer(int depth = 0) : depth_(depth) {}
  void line(std::string_view text);          // at the present depth
  void open(std::string_view head);          // "for (...)" -> "for (...) {", one deeper
  void close(std::string_view end = "}");
  void loop(const std::string& variable, const std::string& extent);   // for (long long i = 0; i < extent; ++i) {
  void append(const std::string& text) { text_ += text; }              // whole lines
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_;
};

// `wanted`, or `wanted` with underscores after it: no tensor, scalar or size of the task, nor any of `taken`.
std::string fresh(const Task& task, std::string wanted, const std::vector<std::string>& taken = {});
// `stem` followed by a number is no name of the task, whatever the number: "i", or "i_".
std::string fresh_stem(const Task& task, std::string stem);

// "const float* x, float* y, int rows, float scale": the parameters of a launcher (CUDA) or reference (C++). Sizes are called
// `size_prefix` + their name; `wide_sizes`: long long whatever the task says.
std::string parameters(const Task& task, Language language, const std::string& size_prefix, bool wide_sizes);

const Tensor& tensor_of(const Task& task, const std::string& name);
// A dense row-major array of this shape, for offset_text.
Tensor dense(std::string name, Shape shape);
// "rows * cols", "1" for a single number; 64-bit when the sizes are.
std::string element_count(const Shape& shape);
std::string extent_text(const std::string& extent);   // "rows", "(rows + 1)"

// What a reduction starts from, as a literal of the type: "0.0f", "-INFINITY".
std::string neutral(Op op, Number number);
// {0} gathered, {1} next: as the table has it for this type.
std::string combined(Op op, Number number, Language language, const std::string& gathered, const std::string& next);

// `source` in the cache, under a name that depends on its text; the path. Passes an error of `source` on.
Expected<std::string> write_source(const Expected<std::string>& source, const Task& task, std::string_view extension);

}  // namespace kforge::task::formula
