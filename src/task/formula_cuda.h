// Formulas as text of a program: the value of a node at one index, in CUDA (float, or double where an operand is) or in C++ (double).
// Templates say how an element is loaded and where the results of reductions are; the text between is made here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "task/formula.h"

namespace kforge::task::formula {

enum class Language : std::uint8_t { cuda, cpp };

// The type in which a value is computed. Half and 8-bit floats compute in f32; i8, u8, i32 in i32; u32 and i64 in i64. C++: i64, f64.
enum class Number : std::uint8_t { boolean, i32, i64, f32, f64 };
std::string_view type_name(Number number);                  // "float", "long long"
Number number_of(Dtype dtype);
Number number_of(const Formula& formula, const Task& task, NodeId id, Language language = Language::cuda);

// How a tensor's element becomes a number and the reverse, in CUDA: "__half2float(x[i])", "__float2half(v)". `from`: the value's type.
std::string load_text(Dtype dtype, const std::string& element);
std::string store_text(Dtype dtype, const std::string& value, Number from);
// "#include <cuda_fp16.h>\n" and the like for the dtypes of a task.
std::string headers(const Task& task);

// A size expression as C or C++ text: its functions become size_min, size_max and size_ceil_div (size_functions gives them).
std::string size_text(const std::string& expression);
// Their definitions, as far as `source` calls them; `qualifiers`: "__host__ __device__ inline".
std::string size_functions(std::string_view source, std::string_view qualifiers);

// "i * cols + j": the offset of an element, by the tensor's strides. One index text an axis; they should be 64-bit where the tensor may be large.
std::string offset_text(const Tensor& tensor, const std::vector<std::string>& index);

struct EmitOptions {
  Language language = Language::cuda;
  std::vector<std::string> index;      // text of the index in each dimension of the node's own space, outermost first
  // Text of the element of a tensor as a number (of its number_of type). Empty: load_text of name[offset_text].
  std::function<std::string(const Tensor& tensor, const std::vector<std::string>& index)> load;
  // Text of a reduction's, scan's or product's value at an index of its own shape. REQUIRED where the expression has one.
  std::function<std::string(NodeId id, const std::vector<std::string>& index)> value;
  std::string prefix = "v";            // of temporaries: v0, v1, ...
  int first = 0;                       // number of the first one
};

struct Emitted {
  std::vector<std::string> statements; // "const float v0 = expf(x[i]);", in order
  std::string value;                   // an expression over them
  Number type = Number::f32;           // of `value`
  int next = 0;                        // number of the next temporary
};

// The value of `root` at options.index. Nodes used more than once become temporaries. Layout operations (permute, expand) change the
// index only. REQUIRES: options.index has one text per axis of root's shape.
Emitted emit_cuda(const Formula& formula, const Task& task, NodeId root, const EmitOptions& options);

// `value` of type `from` as `to`.
std::string cast_text(const std::string& value, Number from, Number to);

}  // namespace kforge::task::formula
