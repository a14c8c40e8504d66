// The library's own texts: headers, dispatch, CMake, README, licence note.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "export/parcel.h"
#include "report/figures.h"

namespace kforge::exporting {
namespace {

// Text of a task or run inside a comment: one line, no end of comment.
std::string comment(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return replace_all(replace_all(out, "*/", "* /"), "\\", "/");
}

std::string shape(const task::Tensor& tensor) { return tensor.shape.empty() ? "one element" : "[" + join(tensor.shape, ", ") + "]"; }

std::string doc_comment(const Parcel& parcel) {
  const task::Task& task = parcel.task;
  std::string out = fmt::format("// {}\n//\n", comment(task.summary.empty() ? task.name : task.summary));
  for (const task::Tensor& tensor : task.tensors) {
    const std::string_view role = tensor.role == task::Role::in ? "in" : tensor.role == task::Role::out ? "out" : "in and out";
    out += fmt::format("//   {:<12} {} {}, device pointer, {}{}\n", tensor.name, task::name(tensor.dtype), shape(tensor), role,
                       tensor.strides.empty() ? ", row-major" : ", strides in elements [" + join(tensor.strides, ", ") + "]");
  }
  for (const task::Scalar& scalar : task.scalars) out += fmt::format("//   {:<12} {}, by value; verified at {:g}\n", scalar.name, task::name(scalar.dtype), scalar.value);
  for (const std::string& where : task.where) out += fmt::format("//   requires     {}\n", comment(where));
  out += fmt::format("//   stream       all work is ordered on it; the call does not wait\n//\n// Verified for sm_{} ({}). Returns the error of the launch.\n", parcel.sm, comment(parcel.winners.front().run->gpu));
  return out;
}

std::string declaration(const Parcel& parcel, const std::string& symbol) {
  return fmt::format("cudaError_t {}({}, cudaStream_t stream)", symbol, parameters(parcel.task));
}

std::string guard(const Parcel& parcel) {
  std::string out = parcel.name + "_H";
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

// Conditions and expressions of a task are C++ over size names, min, max and ceil_div.
constexpr std::string_view kExpressionFunctions =
    "inline long long min(long long a, long long b) { return a < b ? a : b; }\n"
    "inline long long max(long long a, long long b) { return a > b ? a : b; }\n"
    "inline long long ceil_div(long long a, long long b) { return (a + b - 1) / b; }\n";

}  // namespace

std::string header_text(const Parcel& parcel) {
  return fmt::format("{0}#ifndef {1}\n#define {1}\n\n{2}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{3};\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n", doc_comment(parcel), guard(parcel),
                     include_lines(parcel.task), declaration(parcel, parcel.task.function));
}

std::string cpp_header_text(const Parcel& parcel) {
  const task::Task& task = parcel.task;
  std::string checks, sizes;
  for (const task::Tensor& tensor : task.tensors) checks += fmt::format("  if ({} == nullptr) return cudaErrorInvalidDevicePointer;\n", tensor.name);
  for (const std::string& size : task.size_names()) checks += fmt::format("  if ({} < 0) return cudaErrorInvalidValue;\n", size);
  for (const std::string& where : task.where) sizes += fmt::format("  if (!({})) return false;\n", comment(where));
  std::string names, unused;
  for (const std::string& size : task.size_names()) {
    names += fmt::format("{}long long {}", names.empty() ? "" : ", ", size);
    unused += fmt::format("  static_cast<void>({});\n", size);
  }
  const std::string size_arguments = join(task.size_names(), ", ");
  return fmt::format(
      "{0}#pragma once\n\n#include \"{1}.h\"\n\nnamespace {1}_library {{\nnamespace detail {{\n{2}}}\n\n"
      "// Whether the sizes are ones that the kernel was made for.\ninline bool takes({3}) {{\n  using namespace detail;\n{4}{5}  return true;\n}}\n\n"
      "// As the function of {1}.h, with its arguments checked: null pointers are cudaErrorInvalidDevicePointer, sizes outside the\n// task's conditions cudaErrorInvalidValue.\n"
      "inline cudaError_t {6}({7}, cudaStream_t stream = nullptr) {{\n{8}  if (!takes({9})) return cudaErrorInvalidValue;\n  return ::{6}({10}, stream);\n}}\n\n}}  // namespace {1}_library\n",
      doc_comment(parcel), parcel.name, kExpressionFunctions, names, unused, sizes, task.function, parameters(task), checks, size_arguments, arguments(task));
}

std::string dispatch_text(const Parcel& parcel) {
  const task::Task& task = parcel.task;
  const auto names = task.size_names();
  std::string out = fmt::format("// Takes the kernel that was tuned for the nearest sizes: least sum of squared differences of the logarithms.\n#include \"{}.h\"\n\n#include <cmath>\n\n", parcel.name);
  for (const Winner& winner : parcel.winners) out += fmt::format("extern \"C\" {};\n", declaration(parcel, winner.symbol));
  out += "\nnamespace {\n\n// Rows: the sizes at which each kernel was timed.\nconstexpr double kTuned[][" + std::to_string(std::max<std::size_t>(names.size(), 1)) + "] = {\n";
  for (const Winner& winner : parcel.winners) {
    std::string row;
    for (const std::string& name : names) row += fmt::format("{}{}.0", row.empty() ? "" : ", ", winner.sizes.contains(name) ? winner.sizes.at(name) : 1);
    out += "    {" + (row.empty() ? "0.0" : row) + "},\n";
  }
  out += fmt::format("}};\nconstexpr int kKernels = {};\n\n}}  // namespace\n\nextern \"C\" {} {{\n  const double sizes[] = {{", parcel.winners.size(), declaration(parcel, task.function));
  for (std::size_t i = 0; i < names.size(); ++i) out += fmt::format("{}static_cast<double>({})", i == 0 ? "" : ", ", names[i]);
  out += names.empty() ? "0.0};\n" : "};\n";
  out += "  int nearest = 0;\n  double least = INFINITY;\n  for (int k = 0; k < kKernels; ++k) {\n    double distance = 0;\n    for (unsigned d = 0; d < sizeof sizes / sizeof *sizes; ++d) {\n"
         "      const double factor = std::log((sizes[d] < 1 ? 1 : sizes[d]) / (kTuned[k][d] < 1 ? 1 : kTuned[k][d]));\n      distance += factor * factor;\n    }\n"
         "    if (distance < least) least = distance, nearest = k;\n  }\n  switch (nearest) {\n";
  for (std::size_t k = 1; k < parcel.winners.size(); ++k) out += fmt::format("    case {}: return {}({}, stream);\n", k, parcel.winners[k].symbol, arguments(task));
  return out + fmt::format("    default: return {}({}, stream);\n  }}\n}}\n", parcel.winners.front().symbol, arguments(task));
}

namespace {

std::string quoted_flags(const std::vector<std::string>& flags) {
  std::string out;
  for (const std::string& flag : flags) out += " \"" + replace_all(replace_all(flag, "\\", "\\\\"), "\"", "\\\"") + "\"";
  return replace_all(out, "$", "\\$");
}

std::string kernel_flags(const Parcel& parcel, const Winner& winner) { return quoted_flags(parcel.task.flags) + quoted_flags(winner.tried->candidate.flags); }

// Each kernel of several is a library of its own that shows its renamed launcher alone: their kernels may have equal names.
std::string several_kernels(const Parcel& parcel) {
  std::string out;
  for (const Winner& winner : parcel.winners) {
    const std::string target = parcel.name + "_" + winner.file.substr(0, winner.file.find('.'));
    out += fmt::format("file(WRITE ${{CMAKE_CURRENT_BINARY_DIR}}/{1}.map \"{{ global: {1}; local: *; }};\\n\")\nadd_library({0} SHARED {2})\ntarget_compile_definitions({0} PRIVATE {3}={1})\n"
                       "target_link_options({0} PRIVATE LINKER:--version-script=${{CMAKE_CURRENT_BINARY_DIR}}/{1}.map)\nkernel_options({0}{4})\n",
                       target, winner.symbol, winner.file, parcel.task.function, kernel_flags(parcel, winner));
  }
  out += fmt::format("add_library({} SHARED dispatch.cpp)\n", parcel.name);
  for (const Winner& winner : parcel.winners) out += fmt::format("target_link_libraries({0} PRIVATE {0}_{1})\n", parcel.name, winner.file.substr(0, winner.file.find('.')));
  return out;
}

std::string kernel_targets(const Parcel& parcel) {
  if (parcel.winners.size() > 1) return several_kernels(parcel);
  return fmt::format("add_library({0} {1})\nkernel_options({0}{2})\n", parcel.name, parcel.winners.front().file, kernel_flags(parcel, parcel.winners.front()));
}

std::string install_rules(const Parcel& parcel) {
  std::string targets = parcel.name;
  if (parcel.winners.size() > 1)
    for (const Winner& winner : parcel.winners) targets += " " + parcel.name + "_" + winner.file.substr(0, winner.file.find('.'));
  return fmt::format("\ninclude(GNUInstallDirs)\ninstall(TARGETS {1} EXPORT {0}-targets)\ninstall(FILES {0}.h {0}.hpp DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})\n"
                     "install(EXPORT {0}-targets NAMESPACE {0}:: FILE {0}-targets.cmake DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{0})\n"
                     "file(WRITE ${{CMAKE_CURRENT_BINARY_DIR}}/{0}-config.cmake \"include(CMakeFindDependencyMacro)\\nfind_dependency(CUDAToolkit)\\ninclude(\\${{CMAKE_CURRENT_LIST_DIR}}/{0}-targets.cmake)\\n\")\n"
                     "install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{0}-config.cmake DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{0})\n", parcel.name, targets);
}

}  // namespace

std::string cmake_text(const Parcel& parcel, ExportForm form) {
  std::string out = fmt::format(
      "# cmake -S . -B build && cmake --build build && ctest --test-dir build\ncmake_minimum_required(VERSION 3.18)\nif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES {1})  # the one it was verified for\nendif()\n"
      "if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\nproject({0} LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit REQUIRED)\nset(CMAKE_CXX_STANDARD 17)\nset(CMAKE_CXX_STANDARD_REQUIRED ON)\n\n"
      "# The flags under which the kernel was verified.\nfunction(kernel_options target)\n  target_compile_options(${{target}} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-O3> $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo> ${{ARGN}})\n"
      "  set_target_properties(${{target}} PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Shared POSITION_INDEPENDENT_CODE ON)\nendfunction()\n\n{2}"
      "target_include_directories({0} PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}> $<INSTALL_INTERFACE:include>)\ntarget_link_libraries({0} PUBLIC CUDA::cudart)\nset_target_properties({0} PROPERTIES LINKER_LANGUAGE CXX)\n",
      parcel.name, parcel.sm, kernel_targets(parcel));
  if (parcel.reference)
    out += fmt::format("\nenable_testing()\nadd_executable({0}_test test.cpp reference.cpp)\n# The reference has the launcher's name.\nset_source_files_properties(reference.cpp PROPERTIES COMPILE_DEFINITIONS {1}={1}_reference)\n"
                       "target_link_libraries({0}_test PRIVATE {0})\nadd_test(NAME {0} COMMAND {0}_test)\n", parcel.name, parcel.task.function);
  if (form == ExportForm::cpp) out += install_rules(parcel);
  return out;
}

std::string readme_text(const Parcel& parcel, ExportForm form) {
  const RunRecord& run = *parcel.winners.front().run;
  std::string out = fmt::format("# {}\n\n{}\n\n", parcel.task.name, comment(parcel.task.summary.empty() ? "A CUDA kernel forged by Kernel Forge." : parcel.task.summary));
  out += "| file | what it is |\n|---|---|\n";
  for (const Winner& winner : parcel.winners) out += fmt::format("| `{}` | the kernel, byte for byte as it was verified (id {}) |\n", winner.file, winner.tried->candidate.id);
  out += fmt::format("| `{}.h` | the launcher's declaration |\n", parcel.name);
  if (form == ExportForm::cpp) out += fmt::format("| `{}.hpp` | the same for C++, with checked arguments |\n", parcel.name);
  if (parcel.winners.size() > 1) out += "| `dispatch.cpp` | takes the kernel that was tuned for the nearest sizes |\n";
  if (parcel.reference) out += "| `test.cpp`, `kforge_test.h`, `reference.cpp` | the test against the reference |\n";
  out += "| `verdict.json` | the judge's answer (schema kforge.verdict/1) |\n\n## Build and test\n\n```\ncmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure\n```\n\n";
  out += fmt::format("The target architecture is sm_{}; `-DCMAKE_CUDA_ARCHITECTURES=` sets another one, for which nothing was verified. {}\n\n", parcel.sm,
                     parcel.reference ? "The test needs a GPU, or Kernel Forge's emulated runtime in `LD_LIBRARY_PATH`." : "There is no test: " + comment(parcel.no_reference) + ".");
  out += "## What was verified\n\n";
  for (const Winner& winner : parcel.winners) {
    const Verdict& v = winner.tried->verdict;
    out += fmt::format("- `{}` on {}: {}", winner.file, comment(v.device), comment(v.why));
    if (v.time) out += fmt::format("; {} ({})", report::time_text(v.time->us), comment(v.time->source));
    out += "\n";
    for (const std::string& item : v.unproven) out += fmt::format("  - unproven: {}\n", comment(item));
  }
  return out + fmt::format("\nKernel Forge {}, CUDA {}, run {} of {}.\n", comment(run.version), comment(run.toolkit), comment(run.id), comment(run.started));
}

std::string licence_text(const Parcel& parcel) {
  std::string out = "# Licence\n\nThe files that Kernel Forge wrote around the kernel (headers, dispatch, CMakeLists.txt, test.cpp, kforge_test.h) may be used under the\nApache License 2.0 or the MIT licence, as you choose.\n\n";
  for (const Winner& winner : parcel.winners) {
    const std::string& by = winner.tried->candidate.proposer;
    const bool own = by.starts_with("template:");
    out += fmt::format("`{}` was proposed by `{}`: {}\n", winner.file, comment(by), own ? "a template of Kernel Forge, under the same terms." : "it is subject to the terms of the source that it was made from.");
  }
  return out + "`reference.cpp`, where it is there, is the task's own.\n";
}

}  // namespace kforge::exporting
