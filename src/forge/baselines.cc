#include "forge/baselines.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/library.h"
#include "trial/time_candidates.h"

namespace kforge::forge {
namespace {

using task::Dtype;
using task::Role;
using task::Tensor;
using Words = std::map<std::string, std::string>;

Expected<std::string> find_cublas() { return gpu::find_toolkit_library("KFORGE_LIBCUBLAS", {"libcublas.so.13"}); }
Expected<std::string> find_cublaslt() { return gpu::find_toolkit_library("KFORGE_LIBCUBLASLT", {"libcublasLt.so.13"}); }

struct LibraryRow { const char *word, *pattern, *source; Expected<std::string> (*find)(); };
constexpr LibraryRow kRows[] = {{"cublas", "gemm", "cublas_gemm.cu", find_cublas},
                                {"cublaslt", "gemm", "cublaslt_gemm.cu", find_cublaslt},
                                {"cudnn", "softmax", "cudnn_softmax.cu", gpu::find_cudnn},
                                {"cub", "reduction", "cub_sum.cu", nullptr},
                                {"cub", "scan", "cub_scan.cu", nullptr},
                                {"cub", "sort", "cub_sort.cu", nullptr}};

const char* matrix_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return "CUDA_R_32F";
    case Dtype::f16: return "CUDA_R_16F";
    case Dtype::bf16: return "CUDA_R_16BF";
    default: return nullptr;
  }
}

// "const float* a, const float* b, float* c, int m, int k, int n"
std::string parameters(const task::Task& task) {
  std::vector<std::string> out;
  for (const Tensor& t : task.tensors) out.push_back(fmt::format("{}{}* {}", t.role == Role::in ? "const " : "", task::cuda_type(t.dtype), t.name));
  for (const std::string& name : task.size_names()) out.push_back(fmt::format("{} {}", task.sizes_are_64_bit ? "long long" : "int", name));
  return join(out, ", ");
}

Unexpected not_done(const std::string& word, const std::string& why) { return fail(ErrorCode::unsupported, fmt::format("{} has no such computation: {}", word, why), {}, "take it out of the baselines"); }

// a[m,k] b[k,n] c[m,n], the inputs either way round, plain row-major.
Expected<Words> product_words(const task::Task& task, const std::string& word) {
  std::vector<const Tensor*> in, out;
  for (const Tensor& t : task.tensors) (t.role == Role::in ? in : out).push_back(&t);
  if (in.size() != 2 || out.size() != 1 || out[0]->role != Role::out || !task.scalars.empty()) return not_done(word, "it multiplies two matrices into a third, and nothing else");
  const Tensor &a = *in[0], &b = *in[1], &c = *out[0];
  for (const Tensor* t : {&a, &b, &c})
    if (t->shape.size() != 2 || !t->strides.empty()) return not_done(word, fmt::format("'{}' is no plain matrix", t->name));
  const char* type = matrix_type(a.dtype);
  const char* type_c = matrix_type(c.dtype);
  if (!type || !type_c || a.dtype != b.dtype || (c.dtype != a.dtype && c.dtype != Dtype::f32)) return not_done(word, "its types here are f32, f16 and bf16");
  const std::string &m = c.shape[0], &n = c.shape[1];
  const bool a_plain = a.shape[0] == m, b_plain = b.shape[1] == n;
  const std::string k = a_plain ? a.shape[1] : a.shape[0];
  if ((!a_plain && a.shape[1] != m) || (!b_plain && b.shape[0] != n) || (b_plain ? b.shape[0] : b.shape[1]) != k) return not_done(word, "the shapes are not those of a product");
  return Words{{"A", a.name}, {"B", b.name}, {"C", c.name}, {"M", m}, {"N", n}, {"K", k}, {"TYPE", type}, {"TYPE_C", type_c}, {"OP_A", a_plain ? "CUBLAS_OP_N" : "CUBLAS_OP_T"},
               {"OP_B", b_plain ? "CUBLAS_OP_N" : "CUBLAS_OP_T"}, {"LD_A", a_plain ? k : m}, {"LD_B", b_plain ? n : k}};
}

// One list in; its sum, or a list of the same length, out.
Expected<Words> list_words(const task::Task& task, const std::string& word, const std::string& pattern) {
  if (task.tensors.size() != 2 || !task.scalars.empty()) return not_done(word, "one list goes in and one comes out");
  const Tensor &a = task.tensors[0], &c = task.tensors[1];
  if (a.role != Role::in || c.role != Role::out || a.shape.size() != 1 || c.shape.size() != 1 || a.dtype != c.dtype) return not_done(word, "one list goes in and one of its type comes out");
  if (pattern == "reduction" ? c.shape[0] != "1" : c.shape != a.shape) return not_done(word, "the shapes are not those of a sum, of prefix sums or of a sorted list");
  if (pattern != "sort" && (a.dtype == Dtype::f16 || a.dtype == Dtype::bf16)) return not_done(word, "it would add in the type of the list");
  return Words{{"A", a.name}, {"C", c.name}, {"K", a.shape[0]}};
}

// A matrix of rows in, one of the same shape out, and no factor: what cudnnSoftmaxForward computes.
Expected<Words> softmax_words(const task::Task& task, const std::string& word) {
  if (task.tensors.size() != 2 || std::any_of(task.scalars.begin(), task.scalars.end(), [](const task::Scalar& s) { return s.value != 1; })) return not_done(word, "one matrix goes in and one comes out, and no factor");
  const Tensor &a = task.tensors[0], &c = task.tensors[1];
  if (a.role != Role::in || c.role != Role::out || a.shape.size() != 2 || a.shape != c.shape || a.dtype != c.dtype || !a.strides.empty() || !c.strides.empty()) return not_done(word, "one plain matrix goes in and one of its shape and type comes out");
  struct Row { Dtype dtype; const char* type; };
  constexpr Row kTypes[] = {{Dtype::f32, "0"}, {Dtype::f64, "1"}, {Dtype::f16, "2"}, {Dtype::bf16, "9"}};   // cudnnDataType_t
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Row& row) { return row.dtype == a.dtype; });
  if (type == std::end(kTypes)) return not_done(word, "its types here are f64, f32, f16 and bf16");
  return Words{{"A", a.name}, {"C", c.name}, {"ROWS", a.shape[0]}, {"K", a.shape[1]}, {"TYPE", type->type}, {"SCALE", a.dtype == Dtype::f64 ? "double" : "float"}};
}

// PyTorch has causal attention as an operator of its own: what the task's words say is believed, and its outputs are compared.
std::string operator_of(const task::Task& task, const std::string& pattern) {
  const bool causal = to_lower(task.name + " " + task.summary).find("causal") != std::string::npos;
  return pattern == "attention" && causal ? "attention_causal" : pattern;
}

}  // namespace

std::vector<std::string> library_baselines() { return {"cublas", "cublaslt", "cub", "cudnn", "pytorch", "pytorch-compile"}; }

Expected<trial::Baseline> library_baseline(const std::string& word, const task::Task& task, const std::string& pattern) {
  if (word.starts_with("pytorch")) return trial::Baseline{word, {}, true, word == "pytorch" ? "eager" : "compile", operator_of(task, pattern)};
  if (word == trial::kCudnn && pattern == "attention") return trial::Baseline{word, {}, true, "cudnn", operator_of(task, pattern)};   // its attention is reached through PyTorch
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const LibraryRow& r) { return r.word == word && r.pattern == pattern; });
  if (row == std::end(kRows)) return not_done(word, fmt::format("the pattern is {}", pattern));
  auto words = pattern == "gemm" ? product_words(task, word) : pattern == "softmax" ? softmax_words(task, word) : list_words(task, word, pattern);
  if (!words) return Unexpected(words.error());
  if (row->find) {
    const auto library = row->find();
    if (!library) return Unexpected(library.error());
    (*words)["LIBRARY"] = *library;
  }
  (*words)["FUNCTION"] = task.function;
  (*words)["PARAMETERS"] = parameters(task);
  const auto root = project_root();
  if (!root) return Unexpected(root.error());
  auto text = read_file(*root / "data" / "baselines" / row->source);
  if (!text) return Unexpected(text.error());
  for (const auto& [name, value] : *words) *text = replace_all(*text, "@" + name + "@", value);
  const auto cache = cache_folder();
  if (!cache) return Unexpected(cache.error());
  const std::filesystem::path folder = *cache / "baselines";
  if (auto made = make_directories(folder); !made) return Unexpected(made.error());
  const std::filesystem::path path = folder / fmt::format("{}-{}.cu", word, hash_hex(*text).substr(0, 16));
  if (auto written = write_file_atomic(path, *text); !written) return Unexpected(written.error());
  return trial::Baseline{word, path.string(), true, {}, {}};
}

std::vector<trial::Baseline> goal_baselines(const task::Task& task, const std::string& pattern) {
  std::vector<trial::Baseline> out;
  if (!task.goal) return out;
  const auto known = library_baselines();
  for (const std::string& versus : task.goal->versus) {
    if (versus.ends_with(".cu")) out.push_back({versus, versus, false, {}, {}});
    else if (std::find(known.begin(), known.end(), versus) == known.end()) continue;
    else if (auto made = library_baseline(versus, task, pattern)) out.push_back(std::move(*made));   // without it the goal says that its time is not known
  }
  return out;
}

}  // namespace kforge::forge
