// `doctor`: what this machine has. One row a tool; each says how to get it.
#include "kforge/doctor.h"

#include <fmt/format.h>

#include "base/paths.h"
#include "base/process.h"
#include "build/builder.h"
#include "syntax/grammar.h"

namespace kforge {
namespace {

// First line of `program --version` that names a version; empty when it does not run.
std::string version_line(const std::string& program, const std::string& flag) {
  ProcessRequest request;
  request.arguments = {program, flag};
  request.merge_output = true;
  request.limits.wall_seconds = 10;
  const auto result = run_process(request);
  if (!result || !result->succeeded()) return {};
  return result->out.substr(0, result->out.find('\n'));
}

DoctorRow program_row(const std::string& name, const std::string& flag, bool needed, const std::string& how_to_get) {
  DoctorRow row{name, needed, false, "not on PATH", how_to_get};
  const auto path = find_program(name);
  if (!path) return row;
  row.found = true;
  row.detail = fmt::format("{}  {}", path->string(), version_line(path->string(), flag));
  row.how_to_get.clear();
  return row;
}

void add_toolchain(std::vector<DoctorRow>& rows) {
  const auto tools = build::find_toolchain();
  if (!tools) {
    rows.push_back({"nvcc", true, false, tools.error().message, tools.error().hint});
    return;
  }
  rows.push_back({"nvcc", true, true, fmt::format("{}  {}", tools->nvcc, tools->version), ""});
  rows.push_back({"host compiler", true, !tools->host_compiler.empty(), tools->host_compiler, tools->host_compiler.empty() ? "apt-get install g++" : ""});
  rows.push_back({"NVRTC", false, !tools->nvrtc.empty(), tools->nvrtc.empty() ? "not found" : tools->nvrtc,
                  tools->nvrtc.empty() ? "it comes with the CUDA toolkit, or the nvidia-cuda-nvrtc wheel; check works without it" : ""});
}

DoctorRow grammar_row() {
  const auto path = syntax::find_grammar();
  const auto opened = syntax::load_grammar();
  if (!opened) return {"CUDA grammar", false, false, opened.error().message, opened.error().hint + "; without it optimize transforms no given kernel and reads no reference"};
  return {"CUDA grammar", false, true, *path, ""};
}

DoctorRow companion_row(const std::string& name, const std::string& file) {
  const auto path = executable_folder() / file;
  std::error_code ignored;
  const bool found = std::filesystem::exists(path, ignored);
  return {name, true, found, path.string(), found ? "" : "build the whole project: ./forge does"};
}

}  // namespace

std::vector<DoctorRow> doctor() {
  std::vector<DoctorRow> rows;
  add_toolchain(rows);
  rows.push_back(companion_row("worker", "kforge-worker"));
  rows.push_back(companion_row("emulated runtime", "libkforge_cudart.so"));
  rows.push_back(grammar_row());
  rows.push_back(program_row("nvidia-smi", "--version", false, "a GPU and its driver; check works without"));
  rows.push_back(program_row("ncu", "--version", false, "Nsight Compute, for profiles on a real GPU"));
  rows.push_back(program_row("compute-sanitizer", "--version", false, "comes with the CUDA toolkit"));
  return rows;
}

}  // namespace kforge
