#include "propose/template_estimate.h"

#include <algorithm>
#include <cmath>

#include "hardware/occupancy.h"
#include "propose/planner.h"

namespace kforge::propose {
namespace {

constexpr double kSectorBytes = 32, kSectorsOfALine = 4;
constexpr std::int64_t kUsualRegisters = 32;   // of a thread, where the template states none

struct EstimateField {
  std::string_view name;
  double hardware::KernelWork::*field;
};
constexpr EstimateField kFields[] = {
    {"blocks", &hardware::KernelWork::blocks},
    {"threads", &hardware::KernelWork::threads_per_block},
    {"shared_bytes", &hardware::KernelWork::shared_bytes_per_block},
    {"instructions", &hardware::KernelWork::warp_instructions},
    {"requests", &hardware::KernelWork::global_requests},
    {"sectors", &hardware::KernelWork::global_sectors},
    {"load_bytes", &hardware::KernelWork::load_bytes},
    {"store_bytes", &hardware::KernelWork::store_bytes},
    {"shared_requests", &hardware::KernelWork::shared_requests},
    {"shared_wavefronts", &hardware::KernelWork::shared_wavefronts},
    {"barriers", &hardware::KernelWork::barriers},
    {"atomics", &hardware::KernelWork::atomic_passes},
    {"fp32_ops", &hardware::KernelWork::fp32_ops},
    {"special_ops", &hardware::KernelWork::special_ops},
    {"int_ops", &hardware::KernelWork::int_ops},
    {"loads_in_flight", &hardware::KernelWork::loads_in_flight},
};

hardware::KernelWork planned_work(const SizeWork& planned) {
  hardware::KernelWork out;
  out.load_bytes = out.compulsory_read_bytes = planned.read_bytes;
  out.store_bytes = out.compulsory_write_bytes = planned.write_bytes;
  out.fp32_ops = planned.work.fp32_ops;
  out.fp64_ops = planned.work.fp64_ops;
  out.fp16_ops = planned.work.fp16_ops;
  out.int_ops = planned.work.int_ops;
  out.special_ops = planned.work.special_ops;
  return out;
}

}  // namespace

Estimator::Estimator(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern) : sheet_(sheet) {
  for (const auto& [name, text] : applied.made.estimate)
    if (auto expression = task::Expression::parse(text)) rows_.emplace_back(name, std::move(*expression));
  auto known = known_numbers(applied, task, sheet);
  for (std::size_t i = 0; i < task.measure.size(); ++i) {
    task::Sizes& numbers = known[i];
    const auto planned = work_of(task, pattern, task.measure[i]);
    if (!planned) {
      rows_.clear();
      return;
    }
    numbers["read_bytes"] = std::llround(planned->read_bytes);
    numbers["write_bytes"] = std::llround(planned->write_bytes);
    numbers["operations"] = std::llround(planned->operations);
    sizes_.push_back({std::move(numbers), planned_work(*planned)});
  }
}

std::optional<double> Estimator::us_at(const Size& size, const Values& values) const {
  task::Sizes numbers = size.numbers;
  for (const auto& [name, value] : values) numbers[name] = value;
  hardware::KernelWork work = size.start;
  for (const auto& [name, expression] : rows_) {
    const auto value = expression.value(numbers);
    if (!value) return std::nullopt;
    numbers[name] = *value;
  }
  // A parameter of such a name ("threads") counts too.
  for (const EstimateField& row : kFields)
    if (const auto known = numbers.find(std::string(row.name)); known != numbers.end()) work.*row.field = static_cast<double>(known->second);
  const auto registers = static_cast<int>(std::min<std::int64_t>(numbers.contains("registers") ? numbers["registers"] : kUsualRegisters, 255));   // more are spilled
  work.global_sectors_ideal = (work.load_bytes + work.store_bytes) / kSectorBytes;
  work.global_sectors = std::max(work.global_sectors, work.global_sectors_ideal);
  work.store_sectors = work.store_bytes / kSectorBytes;
  work.store_requests = work.global_sectors_ideal > 0 ? work.global_requests * work.store_sectors / work.global_sectors_ideal : 0;
  work.l1_cycles = std::max(work.global_requests, work.global_sectors / kSectorsOfALine);
  work.thread_instructions = 32 * work.warp_instructions;
  work.loads_in_flight = std::max(1.0, work.loads_in_flight);
  hardware::KernelResources resources;
  resources.registers_per_thread = registers;
  resources.static_shared_bytes = static_cast<int>(work.shared_bytes_per_block);
  resources.threads_per_block = static_cast<int>(work.threads_per_block);
  work.blocks_per_sm = hardware::occupancy(sheet_, resources).blocks_per_sm;
  if (work.blocks_per_sm == 0) return INFINITY;
  return hardware::model_time(sheet_, work).us;
}

std::optional<double> Estimator::us(const Values& values) const {
  if (rows_.empty() || sizes_.empty()) return std::nullopt;
  double sum = 0;
  for (const Size& size : sizes_) {
    const auto own = us_at(size, values);
    if (!own) return std::nullopt;
    sum += *own;
  }
  return sum;
}

std::vector<double> Estimator::of(const Space& space) const {
  std::vector<double> out;
  double slowest = 1;
  for (std::size_t point = 0; point < space.size(); ++point) {
    const auto own = us(space.values(point));
    if (!own) return {};
    out.push_back(*own);
    if (std::isfinite(*own)) slowest = std::max(slowest, *own);
  }
  for (double& us : out)
    if (!std::isfinite(us)) us = 10 * slowest;
  return out;
}

}  // namespace kforge::propose
