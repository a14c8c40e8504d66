// Records a template's whole space: record_space TASK TEMPLATE FOLDER OUT.csv [COMPILERS at once]
//
// Of every point the one kernel that this size launches is compiled, for the device alone (NVRTC, ptxas -v): about a tenth of a whole build. Some blocks of the task's first
// measure size run on the emulated GPU, and what they counted goes through the time model and the performance contracts as a candidate's
// counts do. `value` is the modelled time in us, empty where a required contract fails or the kernel cannot run; `cost` is what compiling it
// takes (the size of its PTX). PTX and reports stay in FOLDER, so that a second call, of a changed model say, compiles nothing.
//
// Launch shapes are stated here, since the launcher is host code: one row a template.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "build/builder.h"
#include "emulator/device.h"
#include "judge/modelled_time.h"
#include "kforge/version.h"
#include "propose/template_proposer.h"
#include "ptx/parser.h"
#include "task/cases.h"
#include "task/expression.h"

using namespace kforge;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSampledBlocks = 8;

// One way in which a launcher launches. Of the mangled name, {parameter} is its value.
struct Launch {
  const char* when;                      // condition; the first that holds is taken
  const char *mangled, *kernel;          // what its mangled name holds, and the kernel as the launcher names it
  const char *grid_x, *grid_y, *block, *shared_bytes;
};
struct LaunchRow {
  const char* made;
  std::vector<const char*> extra;        // whole numbers after the task's own arguments; those of `terms`, too
  std::vector<std::pair<const char*, const char*>> terms;   // further names and what they stand for, each of the ones before it
  std::vector<Launch> launches;
};
const LaunchRow kLaunches[] = {
    {"gemm_simt", {"rows", "columns", "depth"}, {},
     {{"1 == 1", "gemm_kernelILb1E", "gemm_kernel<true>", "ceil_div(columns, tile_n)", "ceil_div(rows, tile_m)", "tile_m / thread_m * (tile_n / thread_n)", "0"}}},
    {"row_fused", {"rows", "columns"},
     {{"stage_bytes", "packs * threads * vector * inputs * element_bytes"}, {"blocks", "ceil_div(rows * group, threads)"},
      {"staying_blocks", "sheet_multiprocessors * min(16, min(sheet_registers_per_sm / (64 * threads), sheet_shared_bytes_per_sm / (max(stages, 1) * stage_bytes + 1536)))"}},
     {{"stages > 1 && staying_blocks > 0 && blocks > staying_blocks", "row_kernelILi{vector}ELi{packs}ELb1ELi{stages}E", "row_kernel<kVector, kPacks, true, kStages>",
       "staying_blocks", "1", "threads", "stages * stage_bytes"},
      {"group * vector * packs >= columns", "row_kernelILi{vector}ELi{packs}ELb1ELi0E", "row_kernel<kVector, kPacks, true, 0>", "blocks", "1", "threads", "0"},
      {"1 == 1", "row_kernelILi{vector}ELi1ELb0ELi0E", "row_kernel<kVector, 1, false, 0>", "blocks", "1", "threads", "0"}}},
    {"reduce_all", {"columns"}, {{"wanted", "max(1, ceil_div(columns, threads * unroll * vector))"}},
     {{"1 == 1", "reduce_kernelILi{vector}E", "reduce_kernel<kVector>", "min(wanted, sheet_multiprocessors * blocks_per_sm)", "1", "threads", "0"}}},
    {"reduce_columns", {"rows", "columns", "parts"},
     {{"width", "max(lanes, (1 - min(1, lanes)) * rows)"}, {"strips", "ceil_div(rows, width)"},
      {"parts", "max(1, min(sheet_multiprocessors * blocks_per_sm / strips, ceil_div(columns, threads / width * unroll)))"}},
     {{"lanes == 0", "column_kernelILb1E", "column_kernel<true>", "strips * parts", "1", "threads", "0"},
      {"1 == 1", "column_kernelILb0E", "column_kernel<false>", "strips * parts", "1", "threads", "0"}}},
    {"transpose", {"rows", "columns", "row_tiles", "column_tiles"}, {{"row_tiles", "ceil_div(rows, tile)"}, {"column_tiles", "ceil_div(columns, tile)"}},
     {{"1 == 1", "transpose_kernelILi{vector}E", "transpose_kernel<kVector>", "batches * row_tiles * column_tiles", "1", "threads", "0"}}},
};

struct Space {
  task::Task task;
  hardware::DataSheet sheet;
  std::vector<propose::Applied> applied;   // one
  const LaunchRow* launch = nullptr;
  task::Sizes numbers;                     // that expressions may name, but for the point's
};

template <class T>
T need(Expected<T> value) {
  if (value) return std::move(*value);
  std::fprintf(stderr, "%s\n", to_string(value.error()).c_str());
  std::exit(2);
}

std::int64_t number(const char* text, const task::Sizes& numbers) { return need(need(task::Expression::parse(text)).value(numbers)); }

std::string filled(std::string text, const propose::Values& values) {
  for (const auto& [name, value] : values)
    if (const std::size_t at = text.find("{" + name + "}"); at != std::string::npos) text.replace(at, name.size() + 2, std::to_string(value));
  return text;
}

task::Sizes numbers_at(const Space& space, const propose::Values& values) {
  task::Sizes numbers = space.numbers;
  for (const auto& [name, value] : values) numbers[name] = value;
  for (const auto& [name, term] : space.launch->terms) numbers[name] = number(term, numbers);
  return numbers;
}

const Launch& launch_at(const Space& space, const propose::Values& values) {
  const task::Sizes numbers = numbers_at(space, values);
  for (const Launch& launch : space.launch->launches)
    if (need(need(task::Expression::parse_condition(launch.when)).value(numbers)) != 0) return launch;
  return space.launch->launches.back();
}

// The source up to its launcher, with the one kernel that this point launches. NVRTC has no <type_traits>: what templates use of it stands here.
std::string with_one_kernel(const std::string& source, const char* kernel) {
  constexpr std::string_view kHeader = "#include <type_traits>";
  constexpr std::string_view kUsed =
      "namespace std { template <class T, T v> struct integral_constant { static constexpr T value = v; }; template <class T> struct bare { using type = T; }; "
      "template <class T> struct bare<T&> : bare<T> {}; template <class T> struct bare<const T> : bare<T> {}; template <class T> struct bare<const T&> : bare<T> {}; template <class T> using decay_t = typename bare<T>::type; }";
  std::string out = source.substr(0, source.find("extern \"C\""));
  if (const std::size_t at = out.find(kHeader); at != std::string::npos) out.replace(at, kHeader.size(), kUsed);
  return out + fmt::format("__device__ auto kforge_kernel = {};\n", kernel);
}

struct Compiled { std::string ptx, report; };

// Nothing: the compiler refuses it.
std::optional<Compiled> compile(const Space& space, const propose::Values& values, const fs::path& stem) {
  const fs::path source = stem.string() + ".cu", ptx = stem.string() + ".ptx", report = stem.string() + ".txt";
  const auto candidate = need(propose::candidate_at(space.applied[0], values));
  const auto known = read_file(source);
  if (!known || *known != candidate.source || !fs::exists(report)) {
    const fs::path cut = stem.string() + ".one.cu";
    need(write_file_atomic(cut, with_one_kernel(candidate.source, launch_at(space, values).kernel)).map([] { return 0; }));
    const auto tools = need(build::find_toolchain());
    const auto made = need(build::compile_device_code(cut.string(), space.sheet.sm(), {"-default-device"}));
    if (!made.ok) {
      for (const build::Diagnostic& said : made.diagnostics)
        if (said.severity == build::Severity::error) std::fprintf(stderr, "%s:%d: %s\n", cut.c_str(), said.line, said.message.c_str());
      return std::nullopt;
    }
    need(write_file_atomic(ptx, made.ptx).map([] { return 0; }));
    ProcessRequest request;
    request.arguments = {(fs::path(tools.nvcc).parent_path() / "ptxas").string(), "-v", fmt::format("-arch=sm_{}", space.sheet.sm()), ptx.string(), "-o", "/dev/null"};
    const auto assembled = need(run_process(request));
    if (!assembled.succeeded()) return std::nullopt;
    need(write_file_atomic(report, assembled.err + assembled.out).map([] { return 0; }));
    need(write_file_atomic(source, candidate.source).map([] { return 0; }));
  }
  return Compiled{need(read_file(ptx)), need(read_file(report))};
}

// Pointers, sizes, scalars as the launcher has them, then the row's extra numbers.
std::vector<std::byte> parameters_of(const Space& space, const task::Sizes& numbers, emulator::Device& device, const emulator::KernelInfo& kernel) {
  std::vector<std::byte> out(kernel.parameter_bytes);
  std::size_t at = 0;
  const auto add = [&](const auto& value) { std::memcpy(out.data() + kernel.parameter_offsets.at(at++), &value, sizeof value); };
  const task::Sizes& sizes = space.task.measure.at(0);
  for (const task::Tensor& tensor : space.task.tensors) {
    emulator::Allocation* memory = device.memory().allocate(need(task::layout(tensor, sizes)).bytes, emulator::MemoryKind::device);
    memory->all_initialised = true;
    add(memory->base);
  }
  for (const std::string& name : space.task.size_names()) add(static_cast<int>(sizes.at(name)));
  for (const task::Scalar& scalar : space.task.scalars) add(static_cast<float>(scalar.value));
  for (const char* name : space.launch->extra) {
    const bool is_last = at + 1 == kernel.parameter_offsets.size();
    const std::size_t bytes = (is_last ? kernel.parameter_bytes : kernel.parameter_offsets.at(at + 1)) - kernel.parameter_offsets.at(at);
    if (bytes == sizeof(int)) add(static_cast<int>(numbers.at(name)));
    else add(static_cast<long long>(numbers.at(name)));
  }
  return out;
}

// Of compiling the point's kernel, in units of what compilers do before its first byte of PTX.
double cost_of(const std::string& ptx, const std::string& kernel) {
  constexpr double kBytesOfOneUnit = 64 << 10;
  const std::size_t start = ptx.find(kernel), end = ptx.find("\n}", start);
  return start == std::string::npos ? 1 : 1 + static_cast<double>(std::min(end, ptx.size()) - start) / kBytesOfOneUnit;
}

std::string kernel_of(const Space& space, const propose::Values& values) { return filled(launch_at(space, values).mangled, values); }

// Modelled us; 0: the point is rejected.
double value_of(const Space& space, const propose::Values& values, const Compiled& compiled) {
  const task::Sizes numbers = numbers_at(space, values);
  const Launch& launch = launch_at(space, values);
  const std::string wanted = kernel_of(space, values);
  const auto reports = build::parse_ptxas_report(compiled.report);
  const auto report = std::find_if(reports.begin(), reports.end(), [&](const build::KernelReport& r) { return r.kernel.find(wanted) != std::string::npos; });
  if (report == reports.end()) return 0;

  emulator::Device device(space.sheet);
  device.set_checks({false, true});
  device.set_workers(1);
  auto* module = need(device.load(std::make_shared<const ptx::Module>(need(ptx::parse(compiled.ptx, "point.ptx")))));
  emulator::LaunchRequest request;
  request.kernel = device.find_kernel(module, report->kernel);
  request.grid = {static_cast<std::uint32_t>(number(launch.grid_x, numbers)), static_cast<std::uint32_t>(number(launch.grid_y, numbers)), 1};
  request.block = {static_cast<std::uint32_t>(number(launch.block, numbers)), 1, 1};
  request.dynamic_shared_bytes = static_cast<std::uint32_t>(number(launch.shared_bytes, numbers));
  request.sampled_blocks = kSampledBlocks;
  const auto parameters = parameters_of(space, numbers, device, emulator::Device::info(request.kernel));
  request.parameters = parameters;
  if (const auto ran = device.launch(request); ran.status != emulator::LaunchStatus::ok) return 0;
  const evidence::LaunchLog log = device.take_log();

  judge::PerformanceInput input;
  input.task = &space.task;
  input.sheet = &space.sheet;
  input.reports = &reports;
  input.kernels = &log.kernels;
  judge::add_tensor_bytes(input, space.task.measure.at(0));
  input.sampled_blocks = kSampledBlocks;
  judge::FindingSet findings;
  for (const judge::Measurement& m : judge::judge_performance(input, findings))
    if (m.level == Level::required && m.status == Status::failed) return 0;
  const auto time = judge::modelled_time(input);
  return time ? time->us : 0;
}

Space space_of(const std::string& task, const std::string& made) {
  Space out;
  out.task = need(task::read_task(task));
  out.sheet = need(hardware::find_sheet(out.task.gpu));
  Plan plan;
  plan.guess.pattern = out.task.pattern;
  for (propose::Applied& applied : propose::applied_templates(out.task, out.sheet, plan))
    if (applied.made.name == made) out.applied.push_back(std::move(applied));
  for (const LaunchRow& row : kLaunches)
    if (row.made == made) out.launch = &row;
  if (out.applied.empty() || !out.launch) {
    std::fprintf(stderr, "template %s does not apply to %s, or its launch shape is not stated here\n", made.c_str(), task.c_str());
    std::exit(2);
  }
  out.numbers = propose::known_numbers(out.applied[0], out.task, out.sheet).at(0);
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5 && count != 6) {
    std::fprintf(stderr, "record_space TASK TEMPLATE FOLDER OUT.csv [COMPILERS]\n");
    return 2;
  }
  const Space space = space_of(arguments[1], arguments[2]);
  need(make_directories(arguments[3]).map([] { return 0; }));
  const propose::Space& points = space.applied[0].space;
  std::string out = fmt::format("# modelled us of template {} on task {}, {}, Kernel Forge {}, {} sampled blocks\n", arguments[2], space.task.name, space.sheet.name, kVersion, kSampledBlocks);
  for (const propose::Dimension& dimension : points.dimensions()) out += dimension.name + ",";
  out += "value,cost\n";
  const auto compiled_at = [&](std::size_t point) { return compile(space, points.values(point), fs::path(arguments[3]) / fmt::format("{}-{}", arguments[2], point)); };
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> compilers;
  for (int i = 0; count == 6 && i < std::atoi(arguments[5]); ++i)
    compilers.emplace_back([&] { for (std::size_t point = next++; point < points.size(); point = next++) compiled_at(point); });
  for (std::thread& compiler : compilers) compiler.join();
  for (std::size_t point = 0; point < points.size(); ++point) {
    const propose::Values values = points.values(point);
    const auto compiled = compiled_at(point);
    const double us = compiled ? value_of(space, values, *compiled) : 0;
    for (const propose::Dimension& dimension : points.dimensions()) out += fmt::format("{},", values.at(dimension.name));
    out += us > 0 ? fmt::format("{:.5g},", us) : ",";
    out += compiled ? fmt::format("{:.3g}\n", cost_of(compiled->ptx, kernel_of(space, values))) : "1\n";
    std::fprintf(stderr, "\r%zu of %zu", point + 1, points.size());
  }
  std::fprintf(stderr, "\n");
  need(write_file_atomic(arguments[4], out).map([] { return 0; }));
  return 0;
}
