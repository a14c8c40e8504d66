// `doctor`: what this machine has. One row a tool; each says how to get it.
#include "kforge/doctor.h"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/disassembler.h"
#include "gpu/library.h"
#include "gpu/nvml.h"
#include "gpu/this_sheet.h"
#include "llm/http.h"
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

DoctorRow disassembler_row() {
  const auto path = build::find_disassembler();
  return {"nvdisasm", false, path.has_value(), path.value_or("not found"),
          path ? "" : "tools/setup.sh disassembler; without it models and agents are shown PTX, and no machine code"};
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

DoctorRow missing_row(const std::string& name, const Error& error, const std::string& how_to_get) {
  return {name, false, false, error.message, error.hint.empty() ? how_to_get : error.hint};
}

// The driver and each GPU: what `--device gpu:N` can use.
void add_gpus(std::vector<DoctorRow>& rows) {
  const auto driver = gpu::read_driver();
  if (!driver) {
    rows.push_back(missing_row("GPU", driver.error(), "a GPU and NVIDIA's driver; check works on the emulated GPU without"));
    return;
  }
  const std::string old = gpu::too_old(*driver);
  rows.push_back({"driver", false, old.empty(), old.empty() ? fmt::format("{}  {}, serves CUDA {}.{}", driver->library, driver->version, driver->cuda / 1000, driver->cuda % 1000 / 10) : old,
                  old.empty() ? "" : "install a driver of the branch 580 or later"});
  for (const gpu::Device& device : driver->devices) {
    const auto sheet = gpu::sheet_of(device);
    std::string detail = fmt::format("{}, sm_{}, {}, {}", device.name, device.sm(), human_bytes(static_cast<double>(device.memory_bytes)), device.uuid);
    if (!sheet) detail += "; " + sheet.error().message;
    else if (!sheet->warnings.empty()) detail += "; " + sheet->warnings.front();
    rows.push_back({fmt::format("gpu:{}", device.index), false, true, detail, ""});
  }
}

void add_nvml(std::vector<DoctorRow>& rows) {
  const auto nvml = gpu::Nvml::open();
  if (!nvml) {
    rows.push_back(missing_row("NVML", nvml.error(), "it comes with NVIDIA's driver; without it times are taken, but not their clocks and temperature"));
    return;
  }
  std::string detail;
  for (unsigned i = 0; i < (*nvml)->count(); ++i) {
    void* device = (*nvml)->device("", i);
    const gpu::State state = (*nvml)->state(device);
    detail += fmt::format("{}{:.0f} MHz, {:.0f} C, {:.0f} of {:.0f} W", i ? "; " : "", state.sm_mhz, state.temperature_c, state.power_w, (*nvml)->power_limit_w(device));
    for (const std::string& reason : gpu::clock_reasons(state.clock_reasons)) detail += ", " + reason;
    if ((*nvml)->mig(device)) detail += ", cut into instances (MIG)";
    if (const auto errors = (*nvml)->uncorrected_errors(device); errors > 0) detail += fmt::format(", {} uncorrected memory errors", errors);
  }
  rows.push_back({"NVML", false, true, detail.empty() ? "it finds no GPU" : detail, ""});
}

DoctorRow library_row(const std::string& name, const Expected<std::string>& found, const std::string& how_to_get) {
  return found ? DoctorRow{name, false, true, *found, ""} : missing_row(name, found.error(), how_to_get);
}

// The kernel module keeps hardware counters for administrators unless it is told otherwise.
DoctorRow counters_row() {
  const char* named = std::getenv("KFORGE_NVIDIA_PARAMS");
  const auto text = read_file(named && *named ? named : "/proc/driver/nvidia/params");
  if (!text) return {"hardware counters", false, false, "no kernel module of NVIDIA's is loaded", "a GPU and NVIDIA's driver; without counters the emulator's evidence is used"};
  const bool restricted = text->find("RmProfilingAdminOnly: 1") != std::string::npos;
  const bool administrator = ::geteuid() == 0 && !(named && *named);
  if (!restricted || administrator) return {"hardware counters", false, true, restricted ? "for administrators, as this user is" : "for every user", ""};
  return {"hardware counters", false, false, "for administrators only: ncu will end with ERR_NVGPUCTRPERM",
          "load the module with NVreg_RestrictProfilingToAdminUsers=0, or run as an administrator; without counters the emulator's evidence is used"};
}

DoctorRow pytorch_row() {
  constexpr const char* kHowToGet = "pip install torch, for the baseline pytorch";
  const auto python = find_program("python3");
  if (!python) return {"PyTorch", false, false, "no python3 on PATH", kHowToGet};
  ProcessRequest request;   // without importing it, which takes seconds
  request.arguments = {python->string(), "-c", "import importlib.metadata as m; print(m.version('torch'))"};
  request.limits.wall_seconds = 20;
  const auto result = run_process(request);
  if (!result || !result->succeeded()) return {"PyTorch", false, false, python->string() + " has no torch", kHowToGet};
  return {"PyTorch", false, true, fmt::format("{} of {}", trim(result->out), python->string()), ""};
}

}  // namespace

std::vector<DoctorRow> doctor() {
  std::vector<DoctorRow> rows;
  add_toolchain(rows);
  rows.push_back(companion_row("worker", "kforge-worker"));
  rows.push_back(companion_row("emulated runtime", "libkforge_cudart.so"));
  rows.push_back(grammar_row());
  rows.push_back(disassembler_row());
  add_gpus(rows);
  add_nvml(rows);
  rows.push_back(library_row("CUDA runtime", gpu::find_cuda_runtime(), "the CUDA toolkit 13.0; needed with --device gpu"));
  rows.push_back(library_row("cuBLAS", gpu::find_toolkit_library("KFORGE_LIBCUBLAS", {"libcublas.so.13"}), "it comes with the CUDA toolkit; for the baseline cublas"));
  rows.push_back(library_row("CUPTI", gpu::find_cupti(), "it comes with the CUDA toolkit; without it nobody counts what the GPU does in a call"));
  rows.push_back(library_row("cuDNN", gpu::find_cudnn(), "pip install nvidia-cudnn-cu13, or cuDNN 9 beside the toolkit; for the baseline cudnn"));
  rows.push_back(pytorch_row());
  rows.push_back(counters_row());
  rows.push_back(library_row("libcurl", llm::curl_version(), "apt-get install libcurl4; for language models behind a server (optimize --llm)"));
  rows.push_back(program_row("ncu", "--version", false, "Nsight Compute, for profiles on a real GPU"));
  rows.push_back(program_row("compute-sanitizer", "--version", false, "comes with the CUDA toolkit"));
  return rows;
}

}  // namespace kforge
