#include "trial/prepared_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "trial/sealed_inputs.h"

namespace kforge::trial {
namespace {

std::string key_of(const Job& job, bool quick) {
  std::string key = fmt::format("{} {} {} {} {}", job.run.values, job.run.seed, job.call, job.run.calls, quick);
  for (const auto& [name, value] : job.run.sizes) key += fmt::format(" {}={}", name, value);
  return key;
}

std::uint64_t bytes_of(const Prepared& prepared) {
  std::uint64_t sum = 256 + (prepared.sealed ? prepared.sealed->held() : 0);
  for (const SharedBytes& input : prepared.inputs) sum += input.size();
  for (const auto& output : prepared.outputs) sum += output.size() * sizeof(double);
  for (const auto& draw : prepared.further)
    for (const auto& output : draw) sum += output.size() * sizeof(double);
  return sum;
}

}  // namespace

std::optional<Prepared> PreparedStore::find(const Job& job, bool quick) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key_of(job, quick));
  if (found == entries_.end()) return std::nullopt;
  found->second.used = ++uses_;
  return found->second.prepared;
}

void PreparedStore::keep(const Job& job, bool quick, const Prepared& prepared) {
  const std::uint64_t bytes = bytes_of(prepared);
  if (prepared.error || bytes > max_bytes_ / 4) return;
  const std::lock_guard lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(key_of(job, quick), Entry{prepared, bytes, ++uses_});
  if (!fresh) return;
  bytes_ += bytes;
  while (bytes_ > max_bytes_) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
  }
}

}  // namespace kforge::trial
