// What ncu is asked for: the metrics that contracts need, and those that tell more of what is suspected to bound the kernel. Each further metric may cost
// another run of the kernel (a pass), so that not everything is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::gpu {

enum class Suspect : std::uint8_t { memory, compute, latency, shared, tensor };

struct CounterHint {
  std::string_view metric;   // by ncu's name
  std::string_view unit;     // as `--print-units base` has it: "%", "byte", "inst"
  std::string_view words;    // "of the DRAM's peak rate"
};

struct CounterSet {
  Suspect suspect;
  std::string_view name;     // "memory"
  std::string_view words;    // "memory traffic"
  std::span<const CounterHint> metrics;
};
std::span<const CounterSet> counter_sets();
const CounterSet& counter_set(Suspect suspect);

// Those of contracts, which are asked for always.
std::span<const CounterHint> contract_counters();
// Null where it is in no set.
const CounterHint* find_counter(std::string_view metric);

// By ncu's names, each once; without a suspect those of contracts alone.
std::vector<std::string> ncu_metrics(std::optional<Suspect> suspect);

}  // namespace kforge::gpu
