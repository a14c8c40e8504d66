#include "forge/ceilings.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "base/paths.h"
#include "forge/baselines.h"
#include "trial/tensors.h"
#include "trial/time_candidates.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

Expected<fs::path> place_of(const trial::GpuOptions& gpu) {
  const auto cache = cache_folder();
  if (!cache) return Unexpected(cache.error());
  const fs::path folder = *cache / "ceilings";
  if (auto made = make_directories(folder); !made) return Unexpected(made.error());
  return folder / (hash_hex(gpu.device.uuid + " " + gpu.device.name + " " + gpu.driver_version).substr(0, 16) + ".json");
}

double figure(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::max(0.0, found->get<double>()) : 0;
}

// Those of another day are measured anew: a card ages, and its cooling changes.
Ceilings kept(const fs::path& place, const std::string& day) {
  const auto text = read_file(place, 4096);
  const json read = text ? json::parse(*text, nullptr, false) : json();
  if (!read.is_object() || read.value("day", json()) != json(day)) return {0, 0, day};
  return {figure(read, "copy_bytes_per_s"), figure(read, "matrix_flops"), day};
}

}  // namespace

double measure_matrix_flops(trial::TrialRequest request) {
  const auto root = project_root();
  if (!root) return 0;
  const auto task = task::read_task((*root / "data" / "baselines" / "ceiling.toml").string());
  if (!task) return 0;
  auto product = library_baseline("cublaslt", *task, "gemm");
  if (!product) return 0;
  request.task = &*task;
  request.baselines = {std::move(*product)};
  return trial::measure_product(request).value_or(0);
}

Ceilings ceilings_of(const trial::TrialRequest& request, bool product) {
  const auto place = place_of(*request.gpu);
  Ceilings out = place ? kept(*place, today()) : Ceilings{0, 0, today()};
  const Ceilings before = out;
  if (out.copy_bytes_per_s <= 0) {
    if (request.progress) request.progress("ceilings: copy");
    out.copy_bytes_per_s = trial::measure_copy_rate(request).value_or(0);
  }
  if (product && out.matrix_flops <= 0) {
    if (request.progress) request.progress("ceilings: matrix product");
    out.matrix_flops = measure_matrix_flops(request);
  }
  const bool fresh = out.copy_bytes_per_s != before.copy_bytes_per_s || out.matrix_flops != before.matrix_flops;
  if (place && fresh) (void)write_file_atomic(*place, json{{"day", out.day}, {"gpu", request.gpu->device.name}, {"copy_bytes_per_s", out.copy_bytes_per_s}, {"matrix_flops", out.matrix_flops}}.dump() + "\n");
  if (!product) out.matrix_flops = 0;
  return out;
}

bool bound_by_matrix_rate(const task::Task& task, const std::string& pattern) {
  return pattern == "gemm" &&
      std::any_of(task.tensors.begin(), task.tensors.end(), [](const task::Tensor& t) { return t.dtype == task::Dtype::f16 || t.dtype == task::Dtype::bf16; });
}

std::string describe(const Ceilings& ceilings, const hardware::DataSheet& sheet, double ceiling_us, const TimeReport& time) {
  std::string out = fmt::format("a copy moves {:.2f} TB/s (data sheet {:.2f})", ceilings.copy_bytes_per_s / 1e12, sheet.dram_bytes_per_s / 1e12);
  if (ceilings.matrix_flops > 0) out += fmt::format(", cuBLASLt does {:.0f} TFLOP/s in f16 (data sheet {:.0f})", ceilings.matrix_flops / 1e12, sheet.quoted_f16_tensor_tflops);
  out += fmt::format(", seen {}: they need {:.4g} us", ceilings.day, ceiling_us);
  if (time.us > 0) out += fmt::format(", {:.0f}% reached", 100 * ceiling_us / time.us);
  if (time.floor_us > 0 && time.us > 0) out += fmt::format("; by the data sheet {:.4g} us, {:.0f}%", time.floor_us, 100 * time.floor_us / time.us);
  return out;
}

double ceiling_us(const task::Task& task, const task::Sizes& sizes, const Ceilings& ceilings, bool product) {
  const auto layout = trial::lay_out(task, sizes, false);
  if (!layout || ceilings.copy_bytes_per_s <= 0) return 0;
  double bytes = 0, operations = 2;
  for (const trial::TensorPlace& place : layout->places) bytes += static_cast<double>(place.bytes) * (place.has_input() && place.has_output() ? 2 : 1);
  for (const auto& [name, extent] : sizes) operations *= static_cast<double>(extent);
  const double memory_us = bytes / ceilings.copy_bytes_per_s * 1e6;
  return product && ceilings.matrix_flops > 0 ? std::max(memory_us, operations / ceilings.matrix_flops * 1e6) : memory_us;
}

}  // namespace kforge::forge
