// Speed of the fast executor on unmodified nvcc PTX (bench/data), in thread-instructions per second, by observers; beside it, where
// OpenCL is installed, Oclgrind and PoCL on the same tiled matmul, and the ratios.
//   emulator_bench [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "emulator/device.h"
#include "opencl_peers.h"
#include "ptx/parser.h"

namespace {

using namespace kforge;
using emulator::Allocation;
using emulator::MemoryKind;

struct Program {
  emulator::Device device;
  const emulator::Kernel* kernel = nullptr;

  explicit Program(const std::string& name) : device(sheet()) {
    std::ifstream file(std::string(KFORGE_SOURCE_DIR) + "/bench/data/" + name + ".ptx");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto module = ptx::parse(text, name);
    if (!module) throw std::runtime_error(to_string(module.error()));
    auto loaded = device.load(std::make_shared<const ptx::Module>(std::move(*module)));
    if (!loaded) throw std::runtime_error(to_string(loaded.error()));
    kernel = device.find_kernel(*loaded, name);
  }

  static hardware::DataSheet sheet() {
    hardware::DataSheet sheet;
    sheet.name = "bench";
    sheet.multiprocessors = 132;
    sheet.max_blocks_per_sm = 32;
    sheet.max_warps_per_sm = 64;
    return sheet;
  }

  template <class T>
  Allocation* values(std::size_t count) {
    Allocation* allocation = device.memory().allocate(sizeof(T) * count, MemoryKind::device);
    for (std::size_t i = 0; i < count; ++i) {
      const T value = static_cast<T>(static_cast<double>(i % 17) * 0.125);
      std::memcpy(allocation->data + sizeof(T) * i, &value, sizeof(T));
    }
    allocation->all_initialised = true;
    return allocation;
  }
};

class Parameters {
 public:
  template <class T>
  Parameters& add(T value) {
    while (bytes_.size() % sizeof(T) != 0) bytes_.push_back(std::byte{0});
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

emulator::Checks checks_of(std::int64_t level) { return {level >= 1, level >= 2}; }

// `work`: of one launch, in `unit` (FMA, elements).
void run(benchmark::State& state, Program& program, evidence::Dim3 grid, evidence::Dim3 block, const Parameters& parameters, const char* unit, double work,
         std::int64_t workers = 1) {
  program.device.set_checks(checks_of(state.range(0)));
  program.device.set_workers(static_cast<std::uint32_t>(workers));
  emulator::LaunchRequest request;
  request.kernel = program.kernel;
  request.grid = grid;
  request.block = block;
  request.parameters = parameters.bytes();
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const emulator::LaunchResult result = program.device.launch(request);
    if (result.status != emulator::LaunchStatus::ok) state.SkipWithError(result.detail.c_str());
    instructions += result.thread_instructions;
    program.device.take_log();
  }
  state.counters["thread_inst/s"] = benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
  state.counters[unit] = benchmark::Counter(work * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void sgemm(benchmark::State& state, const char* name, std::uint32_t tile, std::int64_t workers = 1) {
  constexpr std::uint32_t n = 512;
  Program program(name);
  Parameters parameters;
  for (int i = 0; i < 3; ++i) parameters.add(program.values<float>(n * n)->base);
  run(state, program, {n / tile, n / tile, 1}, {16, 16, 1}, parameters.add(static_cast<int>(n)), "FMA/s", double{n} * n * n, workers);
}

void BM_SgemmTiled(benchmark::State& state) { sgemm(state, "sgemm_tiled", 64); }
void BM_SgemmShared(benchmark::State& state) { sgemm(state, "sgemm_shared", 16); }
void BM_SgemmNaive(benchmark::State& state) { sgemm(state, "sgemm_naive", 16); }
void BM_Cores(benchmark::State& state) { sgemm(state, "sgemm_tiled", 64, state.range(1)); }

void rows_of(benchmark::State& state, const char* name, int rows, int cols, bool give_rows) {
  Program program(name);
  Parameters parameters;
  for (int i = 0; i < 2; ++i) parameters.add(program.values<float>(static_cast<std::size_t>(rows) * cols)->base);
  if (give_rows) parameters.add(rows);
  run(state, program, {static_cast<std::uint32_t>(rows), 1, 1}, {256, 1, 1}, parameters.add(cols), "elements/s", double(rows) * cols);
}

void BM_Softmax(benchmark::State& state) { rows_of(state, "softmax", 256, 4096, true); }
void BM_Scan(benchmark::State& state) { rows_of(state, "scan", 256, 4096, false); }

void BM_Histogram(benchmark::State& state) {
  constexpr int n = 1 << 20;
  Program program("histogram");
  Parameters parameters;
  parameters.add(program.values<std::uint32_t>(n)->base).add(program.values<std::uint32_t>(256)->base).add(n);
  run(state, program, {256, 1, 1}, {256, 1, 1}, parameters, "elements/s", n);
}

void BM_Stencil(benchmark::State& state) {
  constexpr std::uint32_t n = 1024;
  Program program("stencil");
  Parameters parameters;
  for (int i = 0; i < 2; ++i) parameters.add(program.values<float>(n * n)->base);
  run(state, program, {n / 32, n / 8, 1}, {32, 8, 1}, parameters.add(static_cast<int>(n)), "elements/s", double{n} * n);
}

void BM_NBody(benchmark::State& state) {
  constexpr int n = 1024;
  Program program("nbody");
  Parameters parameters;
  for (int i = 0; i < 7; ++i) parameters.add(program.values<double>(n)->base);
  run(state, program, {n / 256, 1, 1}, {256, 1, 1}, parameters.add(n), "pairs/s", double{n} * n);
}

// 0: no checks, 1: safety, 2: safety and profile.
#define KFORGE_LEVELS ->ArgName("checks")->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)
BENCHMARK(BM_SgemmTiled) KFORGE_LEVELS;
BENCHMARK(BM_SgemmShared) KFORGE_LEVELS;
BENCHMARK(BM_SgemmNaive) KFORGE_LEVELS;
BENCHMARK(BM_Softmax) KFORGE_LEVELS;
BENCHMARK(BM_Scan) KFORGE_LEVELS;
BENCHMARK(BM_Histogram) KFORGE_LEVELS;
BENCHMARK(BM_Stencil) KFORGE_LEVELS;
BENCHMARK(BM_NBody) KFORGE_LEVELS;

// By the clock on the wall: one core, two cores.
BENCHMARK(BM_Cores)->ArgNames({"checks", "cores"})->Args({0, 1})->Args({0, 2})->Args({2, 1})->Args({2, 2})->Unit(benchmark::kMillisecond)->UseRealTime();

// Prints as usual, and keeps the FMA rates for the ratios.
class Reporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& one : runs)
      if (const auto found = one.counters.find("FMA/s"); found != one.counters.end()) rates_[one.benchmark_name()] = found->second;
    ConsoleReporter::ReportRuns(runs);
  }
  void print_ratios() {
    const auto own = rates_.find("BM_SgemmShared/checks:2");
    if (own == rates_.end()) return;
    for (const auto& [name, rate] : rates_)
      if (name.starts_with("OpenCL/")) GetOutputStream() << "tiled matmul with all checks: " << own->second / rate << " times " << name << "\n";
  }

 private:
  std::map<std::string, double> rates_;
};

}  // namespace

int main(int argc, char** argv) {
  kforge::bench::register_opencl_peers();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratios();
}
