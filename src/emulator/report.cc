// How handlers say that something is wrong.
#include <fmt/format.h>

#include <bit>

#include "emulator/launch.h"

namespace kforge::emulator {

evidence::Violation* ViolationLog::add(std::string_view contract, std::string_view kind, const std::string& kernel, std::uint32_t location) {
  auto [entry, is_new] = index_.try_emplace({std::string(contract), std::string(kind), kernel, location}, violations_.size());
  if (!is_new) {
    ++violations_[entry->second].count;
    return nullptr;
  }
  evidence::Violation& violation = violations_.emplace_back();
  violation.contract = contract;
  violation.kind = kind;
  violation.kernel = kernel;
  return &violation;
}

void ViolationLog::adopt(ViolationLog& other) {
  for (const auto& [key, index] : other.index_) {
    const auto [entry, is_new] = index_.try_emplace(key, violations_.size());
    if (is_new) violations_.push_back(std::move(other.violations_[index]));
    else violations_[entry->second].count += other.violations_[index].count;
  }
  other.take();
}

std::vector<evidence::Violation> ViolationLog::take() {
  index_.clear();
  return std::exchange(violations_, {});
}

evidence::Dim3 thread_index(const evidence::Dim3& block, std::uint32_t linear) {
  return {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
}

std::string place(const Launch& launch, const Op& op) {
  const evidence::SourcePosition& position = launch.where(op.location);
  if (position.frames.empty()) return fmt::format("PTX line {}", op.source->line);
  return fmt::format("{}:{}", position.frames.front().file, position.frames.front().line);
}

void report(Warp& warp, const Op& op, std::uint32_t lanes, std::string_view contract, std::string_view kind,
            const std::function<void(evidence::Violation&)>& describe) {
  Launch& launch = *warp.launch;
  evidence::Violation* violation = launch.violations->add(contract, kind, launch.kernel->info.name, op.location);
  if (violation == nullptr) return;
  violation->where = launch.where(op.location);
  violation->block = warp.block->index;
  const auto lane = lanes == 0 ? 0u : static_cast<std::uint32_t>(std::countr_zero(lanes));
  violation->thread = thread_index(launch.block_size, warp.index * 32 + lane);
  describe(*violation);
}

Flow stop(Warp& warp, const Op& op, std::uint32_t lanes, LaunchStatus status, std::string what) {
  Launch& launch = *warp.launch;
  if (launch.failed()) return Flow::regroup;
  launch.status = status;
  if (status == LaunchStatus::trap || status == LaunchStatus::assert_failed)
    report(warp, op, lanes, "run.crash", status == LaunchStatus::trap ? "trap" : "assert", [&](evidence::Violation& v) {
      v.message = what;
      v.measured = status == LaunchStatus::trap ? "a trap" : "a failed assertion";
      v.required = "every thread ends without a fault";
    });
  const auto lane = lanes == 0 ? 0u : static_cast<std::uint32_t>(std::countr_zero(lanes));
  const evidence::Dim3 thread = thread_index(launch.block_size, warp.index * 32 + lane);
  const evidence::Dim3& block = warp.block->index;
  launch.detail = fmt::format("{} in {} at {}, block ({},{},{}), thread ({},{},{})", what, launch.kernel->info.name,
                              place(launch, op), block.x, block.y, block.z, thread.x, thread.y, thread.z);
  return Flow::regroup;
}

}  // namespace kforge::emulator
