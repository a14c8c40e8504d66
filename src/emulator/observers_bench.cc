// What the observers cost alone, per warp instruction, on the requests of a register-tiled SGEMM (128 x 128 x 8 tiles, 8 x 8 per
// thread) and on the shapes around it.
#include <benchmark/benchmark.h>

#include <memory>

#include "emulator/race.h"
#include "emulator/request.h"
#include "emulator/shadow.h"

namespace kforge::emulator {
namespace {

enum Shape { kConsecutive, kBroadcast, kTileRow, kTileColumn, kScattered };

LaneAddresses make(Shape shape, std::uint64_t bytes) {
  LaneAddresses result;
  for (std::uint64_t lane = 0; lane < 32; ++lane) {
    switch (shape) {
      case kConsecutive: result[lane] = lane * bytes; break;
      case kBroadcast: result[lane] = 64; break;
      case kTileRow: result[lane] = lane / 16 * 8 * bytes; break;     // A: two addresses a warp
      case kTileColumn: result[lane] = lane % 16 * 32; break;         // B: 16 addresses, each twice
      case kScattered: result[lane] = lane * 37 % 64 * bytes; break;
    }
  }
  return result;
}

void sectors(benchmark::State& state) {
  const LaneAddresses addresses = make(static_cast<Shape>(state.range(0)), 4);
  for (auto _ : state) benchmark::DoNotOptimize(count_sectors(addresses, ~0u, 4));
}
void wavefronts(benchmark::State& state) {
  const auto bytes = static_cast<std::uint32_t>(state.range(1));
  const LaneAddresses addresses = make(static_cast<Shape>(state.range(0)), bytes);
  for (auto _ : state) benchmark::DoNotOptimize(count_wavefronts(addresses, ~0u, bytes));
}
void wavefronts_remembered(benchmark::State& state) {
  WavefrontMemo memo;
  LaneAddresses addresses = make(static_cast<Shape>(state.range(0)), 4);
  for (auto _ : state) {
    benchmark::DoNotOptimize(memo.count(addresses, ~0u, 4));
    benchmark::DoNotOptimize(addresses);
  }
}
void shadow_lookup(benchmark::State& state) {
  ByteShadow shadow(8192);
  shadow.mark_range(0, 4096, true);   // never complete
  const LaneAddresses addresses = make(static_cast<Shape>(state.range(0)), 4);
  for (auto _ : state) benchmark::DoNotOptimize(shadow.all_written(addresses, ~0u, 4));
}

// 8 warps read the tile 8 times between two barriers, after one store each.
void race_shared_loads(benchmark::State& state) {
  RaceDetector detector;
  detector.begin_launch({}, 256);
  BlockRaces* block = detector.begin_block(0, 16384);
  const auto bytes = static_cast<std::uint32_t>(state.range(1));
  const LaneAddresses shape = make(static_cast<Shape>(state.range(0)), bytes);
  RaceAccess access;
  access.block = block;
  access.mask = ~0u;
  access.bytes = bytes;
  access.location = 7;
  std::uint64_t count = 0;
  std::array<LaneAddresses, 8> rows;
  for (std::uint64_t k = 0; k < 8; ++k) {
    rows[k] = shape;
    for (std::uint64_t& address : rows[k]) address += k * 1024;
  }
  while (state.KeepRunningBatch(64)) {
    for (access.warp = 0; access.warp < 8; ++access.warp)
      for (const LaneAddresses& row : rows) {
        access.addresses = &row;
        detector.access(access);
      }
    if (++count % 4 == 0) detector.block_barrier(block);
  }
}
void race_global(benchmark::State& state) {
  RaceDetector detector;
  auto allocation = std::make_unique<Allocation>();
  allocation->base = kDeviceOffset;
  allocation->size = 1 << 22;
  RaceMode mode;
  mode.fences = state.range(1) != 0;
  detector.begin_launch(mode, 256);
  LaneAddresses addresses;
  RaceAccess access;
  access.mask = ~0u;
  access.bytes = 4;
  access.addresses = &addresses;
  access.allocation = allocation.get();
  std::uint32_t number = 0;
  const std::uint64_t skew = static_cast<std::uint64_t>(state.range(0));
  while (state.KeepRunningBatch(256 * 8)) {
    BlockRaces* block = detector.begin_block(number++, 0);
    access.block = block;
    for (std::uint64_t i = 0; i < 256; ++i)
      for (access.warp = 0; access.warp < 8; ++access.warp) {
        for (std::uint64_t lane = 0; lane < 32; ++lane) addresses[lane] = kDeviceOffset + skew + (i * 256 + access.warp * 32 + lane) * 4;
        detector.access(access);
      }
    detector.end_block(block);
  }
  detector.end_launch();
}

BENCHMARK(sectors)->DenseRange(kConsecutive, kScattered)->ArgName("shape");
BENCHMARK(wavefronts)->ArgsProduct({{kConsecutive, kBroadcast, kTileRow, kTileColumn, kScattered}, {4, 16}})->ArgNames({"shape", "bytes"});
BENCHMARK(wavefronts_remembered)->DenseRange(kConsecutive, kScattered)->ArgName("shape");
BENCHMARK(shadow_lookup)->DenseRange(kConsecutive, kScattered)->ArgName("shape");
BENCHMARK(race_shared_loads)->ArgsProduct({{kConsecutive, kBroadcast, kTileRow, kTileColumn, kScattered}, {4, 16}})->ArgNames({"shape", "bytes"});
BENCHMARK(race_global)->ArgsProduct({{0, 4}, {0, 1}})->ArgNames({"skew", "clocks"});

}  // namespace
}  // namespace kforge::emulator

BENCHMARK_MAIN();
