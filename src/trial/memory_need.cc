#include "trial/memory_need.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/tensors.h"

namespace kforge::trial {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kRaceCells = 2ull << 30;   // the limit of emulator/race.h

std::uint64_t bytes_of(const CaseLayout& layout, bool (TensorPlace::*wanted)() const) {
  std::uint64_t sum = 0;
  for (const TensorPlace& place : layout.places)
    if ((place.*wanted)()) sum += place.bytes;
  return sum;
}

std::uint64_t all_bytes(const CaseLayout& layout) {
  std::uint64_t sum = 0;
  for (const TensorPlace& place : layout.places) sum += place.bytes;
  return sum;
}

std::uint64_t largest_output(const CaseLayout& layout) {
  std::uint64_t most = 0;
  for (const TensorPlace& place : layout.places)
    if (!place.has_input()) most = std::max(most, place.bytes);
  return most;
}

// Inputs, and the expected outputs as double.
std::uint64_t prepared_bytes(const CaseLayout& layout, bool sampled) {
  std::uint64_t sum = bytes_of(layout, &TensorPlace::has_input);
  for (const TensorPlace& place : layout.places)
    if (!sampled && place.has_output()) sum += sizeof(double) * static_cast<std::uint64_t>(place.layout.elements);
  return sum;
}

std::uint64_t figure_in(const char* path, std::string_view name, std::uint64_t unit) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto words = split_words(line);
    if (words.size() < (name.empty() ? 1u : 2u) || (!name.empty() && words[0] != name)) continue;
    const auto value = parse_unsigned(words[name.empty() ? 0 : 1]);
    return value ? *value * unit : kMost;   // "max" is no limit
  }
  return kMost;
}

}  // namespace

Expected<MemoryNeed> memory_need(const task::Task& task, std::span<const Job> jobs, RunKind kind) {
  MemoryNeed out;
  if (jobs.empty()) return out;
  const bool sampled = kind == RunKind::sampled;
  const auto own = lay_out(task, jobs.front().run.sizes, false), reference = lay_out(task, jobs.front().run.sizes, true);
  if (!own) return Unexpected(own.error());
  if (!reference) return Unexpected(reference.error());
  const std::uint64_t tensors = all_bytes(*own);
  out.candidate = own->arena_bytes + largest_output(*own);
  // Shadows of a bit a byte: what the host wrote, and of outputs also what kernels wrote and what was ever written.
  if (kind != RunKind::on_gpu) out.candidate += tensors + tensors / 8 + bytes_of(*own, &TensorPlace::has_output) / 4;
  if (kind == RunKind::whole) out.candidate += std::min(kRaceCells, 3 * tensors);
  out.machine = out.candidate;
  if (sampled) {
    out.machine -= own->arena_bytes - std::min(own->arena_bytes, bytes_of(*own, &TensorPlace::has_input));   // nothing comes back: the rest of the arena is addresses alone
    out.machine += prepared_bytes(*own, true);
    return out;
  }
  out.machine += bytes_of(*own, &TensorPlace::has_output) + reference->arena_bytes + all_bytes(*reference);   // outputs as they came; the reference's arena and its own copies
  for (const Job& job : jobs.first(std::min(jobs.size(), kPreparedAtOnce))) {
    const auto layout = lay_out(task, job.run.sizes, false);
    if (!layout) return Unexpected(layout.error());
    out.machine += prepared_bytes(*layout, false);
  }
  return out;
}

std::uint64_t available_memory() {
  std::uint64_t least = figure_in("/proc/meminfo", "MemAvailable:", 1024);
  const std::uint64_t group = figure_in("/sys/fs/cgroup/memory.max", "", 1), group_used = figure_in("/sys/fs/cgroup/memory.current", "", 1);
  if (group != kMost && group_used != kMost) least = std::min(least, group - std::min(group, group_used));
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t pages = figure_in("/proc/self/statm", "", static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    least = std::min<std::uint64_t>(least, limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, pages == kMost ? 0 : pages));
  }
  return least;
}

Expected<void> check_memory(const task::Task& task, std::span<const Job> jobs, RunKind kind, std::uint64_t process_limit, std::uint64_t available) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto need = memory_need(task, jobs.subspan(i), kind);
    if (!need) return Unexpected(need.error());
    const auto too_much = [&](std::uint64_t needed, std::string_view had) {
      return fail(ErrorCode::missing, fmt::format("the size {} needs about {} of memory, {}", jobs[i].run.label, human_bytes(static_cast<double>(needed)), had), {task.path},
                  "give the task smaller sizes ([sizes]), or take a machine with more memory");
    };
    if (need->machine > available) return too_much(need->machine, fmt::format("and this machine has {} left", human_bytes(static_cast<double>(available))));
    if (process_limit != 0 && need->candidate > process_limit) return too_much(need->candidate, fmt::format("and the process of a candidate may take {}", human_bytes(static_cast<double>(process_limit))));
  }
  return {};
}

}  // namespace kforge::trial
