#include "trial/gpu_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::trial {
namespace {

constexpr std::string_view kNotWell = " is not well: ";
constexpr unsigned kWaitMs = 200;   // the log's line can come after the process has seen its error

}  // namespace

GpuWatch::GpuWatch(const GpuOptions& gpu) : gpu_(gpu) {
  if (!gpu.nvml) return;
  device_ = gpu.nvml->device(gpu.device.uuid, gpu.device.index);
  pci_ = gpu.nvml->pci(device_);
  events_ = gpu.nvml->watch_xids(device_);
  errors_before_ = gpu.nvml->health(device_).uncorrected_errors;
}

// The log has more to say of an Xid than NVML; what both tell is told once.
std::vector<gpu::Xid> GpuWatch::read(bool after_fault) {
  std::vector<gpu::Xid> out;
  const auto events = events_ ? events_->take(after_fault ? kWaitMs : 0) : std::vector<unsigned>{};
  if (!pci_.empty()) out = log_.take(pci_);   // without its address a line of the log may be another device's
  for (const unsigned number : events)
    if (std::none_of(out.begin(), out.end(), [&](const gpu::Xid& xid) { return xid.number == number; })) out.push_back({number, {}});
  return out;
}

std::string GpuWatch::take(bool after_fault) {
  std::vector<std::string> told;
  for (const gpu::Xid& xid : read(after_fault)) {
    if (std::string words = gpu::describe(xid); std::find(told.begin(), told.end(), words) == told.end()) told.push_back(std::move(words));
    if (gpu::is_not_well(xid) && not_well_.empty()) not_well_ = gpu::describe(xid);
  }
  return told.empty() ? "" : "; the driver logs " + join(told, ", ");
}

Expected<void> GpuWatch::well() {
  (void)take(false);
  std::string why = not_well_;
  if (gpu_.nvml && why.empty()) {
    const gpu::Health health = gpu_.nvml->health(device_);
    if (health.lost) why = "it does not answer the driver any more";
    else if (health.remap_failed) why = "a row of its memory is broken and could not be replaced";
    else if (health.uncorrected_errors > errors_before_) why = fmt::format("its memory had {} uncorrected errors meanwhile", health.uncorrected_errors - errors_before_);
  }
  if (why.empty()) return {};
  return fail(ErrorCode::failed, fmt::format("GPU {} ({}){}{}", gpu_.device.index, gpu_.device.name, kNotWell, why), {},
              "this says nothing about the candidate; nvidia-smi -q says more, and the GPU must be reset or looked at before anything is judged on it");
}

bool says_not_well(const Error& error) { return error.message.find(kNotWell) != std::string::npos; }

}  // namespace kforge::trial
