#include "judge/modelled_time.h"

#include <algorithm>
#include <cmath>

#include "hardware/occupancy.h"
#include "task/cases.h"

namespace kforge::judge {
namespace {

using evidence::KernelProfile;
using evidence::LaunchShape;
using evidence::Metric;

const build::KernelReport* report_of(const PerformanceInput& input, const KernelProfile& kernel) {
  const auto found = std::find_if(input.reports->begin(), input.reports->end(), [&](const build::KernelReport& report) { return report.kernel == kernel.kernel; });
  return found == input.reports->end() ? nullptr : &*found;
}

struct MetricField { Metric metric; double hardware::KernelWork::*field; };
constexpr MetricField kFields[] = {
    {Metric::inst_executed, &hardware::KernelWork::warp_instructions},
    {Metric::thread_inst_executed, &hardware::KernelWork::thread_instructions},
    {Metric::flops_f32, &hardware::KernelWork::fp32_ops},
    {Metric::flops_f64, &hardware::KernelWork::fp64_ops},
    {Metric::flops_f16, &hardware::KernelWork::fp16_ops},
    {Metric::int_ops, &hardware::KernelWork::int_ops},
    {Metric::special_ops, &hardware::KernelWork::special_ops},
    {Metric::global_requests, &hardware::KernelWork::global_requests},
    {Metric::global_store_requests, &hardware::KernelWork::store_requests},
    {Metric::global_sectors, &hardware::KernelWork::global_sectors},
    {Metric::global_store_sectors, &hardware::KernelWork::store_sectors},
    {Metric::global_partial_sectors, &hardware::KernelWork::partial_sectors},
    {Metric::global_l1_cycles, &hardware::KernelWork::l1_cycles},
    {Metric::global_sectors_ideal, &hardware::KernelWork::global_sectors_ideal},
    {Metric::global_load_bytes, &hardware::KernelWork::load_bytes},
    {Metric::global_store_bytes, &hardware::KernelWork::store_bytes},
    {Metric::shared_requests, &hardware::KernelWork::shared_requests},
    {Metric::shared_wavefronts, &hardware::KernelWork::shared_wavefronts},
    {Metric::shared_atomic_repeats, &hardware::KernelWork::shared_atomic_repeats},
    {Metric::local_requests, &hardware::KernelWork::local_requests},
    {Metric::global_atomic_passes, &hardware::KernelWork::atomic_passes},
    {Metric::barriers, &hardware::KernelWork::barriers},
};

// The blocks that ran loaded and stored as much as the whole takes: they take their work from a queue, and did all of it.
bool did_it_all(const PerformanceInput& input, const KernelProfile& kernel) {
  return input.read_bytes > 0 && input.written_bytes > 0 && static_cast<double>(kernel.totals[Metric::global_load_bytes]) >= input.read_bytes &&
         static_cast<double>(kernel.totals[Metric::global_store_bytes]) >= input.written_bytes;
}

// Blocks of all shapes over those of them that ran.
double sampling_factor(const PerformanceInput& input, const KernelProfile& kernel) {
  if (!kernel.sampled || input.sampled_blocks == 0 || did_it_all(input, kernel)) return 1;
  double all = 0, ran = 0;
  for (const LaunchShape& shape : kernel.launches) {
    all += static_cast<double>(shape.grid.count());
    ran += static_cast<double>(std::min(shape.grid.count(), input.sampled_blocks));
  }
  return ran > 0 ? all / ran : 1;
}

// Lines of L1 that a block has to itself.
double lines_of_block(const hardware::DataSheet& sheet, const hardware::KernelWork& work) {
  const double resident = std::clamp(std::ceil(work.blocks / std::max(1, sheet.multiprocessors)), 1.0, static_cast<double>(std::max(1, work.blocks_per_sm)));
  return std::max(0.0, sheet.l1_bytes / resident - work.shared_bytes_per_block) / 128;
}

// Inputs once and outputs once, in the proportion in which the kernel loads and stores.
void share_compulsory_bytes(hardware::KernelWork& work, double bytes) {
  const double moved = work.load_bytes + work.store_bytes;
  if (moved <= 0 || bytes <= 0) return;
  const double written = std::min(work.store_bytes, std::max(bytes / 2, bytes - work.load_bytes));
  work.compulsory_write_bytes = written;
  work.compulsory_read_bytes = std::min(work.load_bytes, bytes - written);
}

}  // namespace

void add_tensor_bytes(PerformanceInput& input, const task::Sizes& sizes) {
  for (const task::Tensor& tensor : input.task->tensors) {
    const auto found = task::layout(tensor, sizes);
    const double bytes = found ? static_cast<double>(found->bytes) : 0;
    input.compulsory_bytes += bytes;
    if (tensor.role != task::Role::out) input.read_bytes += bytes;
    if (tensor.role != task::Role::in) input.written_bytes += bytes;
  }
}

std::optional<hardware::KernelWork> kernel_work(const PerformanceInput& input, const KernelProfile& kernel) {
  const build::KernelReport* report = report_of(input, kernel);
  if (!report || kernel.launches.empty()) return std::nullopt;
  // Counts are of all launches together; the shapes stand for them by their mean.
  hardware::KernelWork work;
  work.launches = static_cast<double>(std::max<std::uint64_t>(kernel.launch_count, 1));
  const LaunchShape& largest = *std::max_element(kernel.launches.begin(), kernel.launches.end(),
                                                 [](const LaunchShape& a, const LaunchShape& b) { return a.grid.count() < b.grid.count(); });
  for (const LaunchShape& shape : kernel.launches) work.blocks += static_cast<double>(shape.grid.count()) / static_cast<double>(kernel.launches.size());
  work.threads_per_block = static_cast<double>(largest.block.count());
  work.shared_bytes_per_block = report->static_shared_bytes + static_cast<double>(largest.dynamic_shared_bytes);
  hardware::KernelResources resources;
  resources.registers_per_thread = report->registers;
  resources.static_shared_bytes = report->static_shared_bytes;
  resources.dynamic_shared_bytes = static_cast<int>(largest.dynamic_shared_bytes);
  resources.threads_per_block = static_cast<int>(largest.block.count());
  work.blocks_per_sm = hardware::occupancy(*input.sheet, resources).blocks_per_sm;
  for (const MetricField& row : kFields) work.*row.field = static_cast<double>(kernel.totals[row.metric]);
  work.loads_in_flight = std::max(1.0, kernel.loads_in_flight);
  work.hottest_line_passes = static_cast<double>(kernel.hottest_line_passes);
  work.l1_miss = kernel.load_reuse.miss_share(lines_of_block(*input.sheet, work));
  work = hardware::scaled(std::move(work), sampling_factor(input, kernel));
  share_compulsory_bytes(work, input.compulsory_bytes);
  return work;
}

std::optional<hardware::ModelledTime> modelled_time(const PerformanceInput& input) {
  std::vector<hardware::ModelledTime> kernels;
  double unread = input.read_bytes, unwritten = input.written_bytes;
  const auto take = [](double& left, double wanted) {
    const double taken = std::min(left, wanted);
    left -= taken;
    return taken;
  };
  for (const KernelProfile& kernel : *input.kernels) {
    auto work = kernel_work(input, kernel);
    if (!work) return std::nullopt;
    work->compulsory_read_bytes = take(unread, work->load_bytes);
    work->compulsory_write_bytes = take(unwritten, work->store_bytes);
    kernels.push_back(hardware::model_time(*input.sheet, *work));
  }
  if (kernels.empty()) return std::nullopt;
  return hardware::total(kernels);
}

std::optional<TimeReport> time_report(const std::vector<std::optional<hardware::ModelledTime>>& sizes) {
  if (sizes.empty()) return std::nullopt;
  TimeReport report;
  report.source = "modelled";
  double longest = 0;
  for (const auto& size : sizes) {
    if (!size) return std::nullopt;
    if (report.us == 0 || size->us > longest) report.bottleneck = size->bottleneck;   // of the size that takes longest
    longest = std::max(longest, size->us);
    report.us += size->us;
  }
  report.p99_us = report.us;
  return report;
}

}  // namespace kforge::judge
