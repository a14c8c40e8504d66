// Speed of the fast executor on unmodified nvcc PTX (bench/data), in thread-instructions per second, by observers.
//   emulator_bench [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "emulator/device.h"
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

  Allocation* floats(std::size_t count) {
    Allocation* allocation = device.memory().allocate(4 * count, MemoryKind::device);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(i % 17) * 0.125f;
      std::memcpy(allocation->data + 4 * i, &value, 4);
    }
    allocation->all_initialised = true;
    return allocation;
  }
};

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  while (bytes.size() % sizeof(T) != 0) bytes.push_back(std::byte{0});
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

emulator::Checks checks_of(std::int64_t level) { return {level >= 1, level >= 2}; }

void run(benchmark::State& state, Program& program, const emulator::LaunchRequest& request) {
  program.device.set_checks(checks_of(state.range(0)));
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const emulator::LaunchResult result = program.device.launch(request);
    if (result.status != emulator::LaunchStatus::ok) state.SkipWithError(result.detail.c_str());
    instructions += result.thread_instructions;
    program.device.take_log();
  }
  state.counters["thread_inst/s"] = benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void sgemm(benchmark::State& state, const char* name, std::uint32_t tile) {
  constexpr std::uint32_t n = 512;
  Program program(name);
  std::vector<std::byte> parameters;
  for (int i = 0; i < 3; ++i) append(parameters, program.floats(n * n)->base);
  append(parameters, static_cast<int>(n));
  emulator::LaunchRequest request;
  request.kernel = program.kernel;
  request.grid = {n / tile, n / tile, 1};
  request.block = {16, 16, 1};
  request.parameters = parameters;
  run(state, program, request);
}

void BM_SgemmTiled(benchmark::State& state) { sgemm(state, "sgemm_tiled", 64); }
void BM_SgemmNaive(benchmark::State& state) { sgemm(state, "sgemm_naive", 16); }

void BM_Softmax(benchmark::State& state) {
  constexpr int rows = 256, cols = 4096;
  Program program("softmax");
  std::vector<std::byte> parameters;
  for (int i = 0; i < 2; ++i) append(parameters, program.floats(rows * cols)->base);
  append(parameters, rows);
  append(parameters, cols);
  emulator::LaunchRequest request;
  request.kernel = program.kernel;
  request.grid = {rows, 1, 1};
  request.block = {256, 1, 1};
  request.parameters = parameters;
  run(state, program, request);
}

// 0: no checks, 1: safety, 2: safety and profile.
BENCHMARK(BM_SgemmTiled)->ArgName("checks")->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SgemmNaive)->ArgName("checks")->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Softmax)->ArgName("checks")->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
