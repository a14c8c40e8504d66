#include "forge/target.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"
#include "build/builder.h"
#include "gpu/library.h"
#include "gpu/this_sheet.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAllGpus = "gpu:all";

struct DeviceWord { bool gpu = false; unsigned index = 0; };

Expected<DeviceWord> read_device_word(const std::string& word) {
  if (word.empty() || word == "emulator") return DeviceWord{};
  if (word == "gpu") return DeviceWord{true, 0};
  if (word.starts_with("gpu:"))
    if (const auto index = parse_unsigned(std::string_view(word).substr(4)); index && *index < 1024) return DeviceWord{true, static_cast<unsigned>(*index)};
  if (word == kAllGpus) return fail(ErrorCode::bad_input, "gpu:all spreads many candidates over the GPUs; here one is meant", {}, "--device gpu:N");
  return fail(ErrorCode::bad_input, fmt::format("'{}' is no device", word), {}, "--device takes emulator, gpu, gpu:N, or gpu:all for a folder of candidates");
}

// The sheet lies where the worker's runtime finds it.
Expected<std::string> keep_sheet(const gpu::Device& device, const hardware::DataSheet& sheet) {
  const auto folder = cache_folder();
  if (!folder) return Unexpected(folder.error());
  const fs::path path = *folder / fmt::format("{}.toml", device.uuid.empty() ? fmt::format("gpu-{}", device.index) : device.uuid);
  if (auto written = write_file_atomic(path, hardware::sheet_text(sheet)); !written) return Unexpected(written.error());
  return path.string();
}

Expected<void> read_sheet(Target& target, const std::string& name, const std::optional<gpu::Device>& device) {
  if (to_lower(trim(name)) != "this") {
    auto sheet = hardware::find_sheet(name);
    if (!sheet) return Unexpected(sheet.error());
    target.sheet = std::move(*sheet);
    std::error_code ignored;
    target.sheet_name = fs::is_regular_file(name, ignored) ? fs::absolute(name, ignored).string() : name;
    return {};
  }
  auto made = gpu::sheet_of(*device);
  if (!made) return Unexpected(made.error());
  target.sheet = std::move(made->sheet);
  target.warnings = std::move(made->warnings);
  auto path = keep_sheet(*device, target.sheet);
  if (!path) return Unexpected(path.error());
  target.sheet_name = std::move(*path);
  return {};
}

Expected<void> read_defences(Target& target) {
  const char* value = std::getenv("KFORGE_DEFENCES_OFF");
  auto defences = trial::Defences::without(value ? value : "");
  if (!defences) return Unexpected(defences.error());
  target.defences = std::move(*defences);
  for (const std::string& name : target.defences.names_off()) target.warnings.push_back(fmt::format("the defence '{}' is switched off (KFORGE_DEFENCES_OFF): a candidate may cheat", name));
  return {};
}

Expected<trial::GpuOptions> open_gpu(const gpu::Driver& driver, const gpu::Device& device) {
  if (const std::string old = gpu::too_old(driver); !old.empty()) return fail(ErrorCode::missing, old, {}, "install a driver of the branch 580 or later; without one use --device emulator");
  trial::GpuOptions out;
  out.device = device;
  out.driver = driver.library;
  out.driver_version = driver.version;
  auto runtime = gpu::find_cuda_runtime();
  if (!runtime) return Unexpected(runtime.error());
  out.runtime = std::move(*runtime);
  if (auto nvml = gpu::Nvml::open()) out.nvml = std::move(*nvml);
  return out;
}

}  // namespace

std::string Target::device_key() const {
  std::string out = gpu ? fmt::format("{} {}", gpu->device.uuid, gpu->driver_version) : "emulator";
  for (const trial::GpuOptions& other : others) out += " " + other.device.uuid;
  for (const std::string& name : defences.names_off()) out += " without " + name;
  return out;
}
std::string Target::device_name() const { return gpu ? gpu->device.name : "emulated " + sheet.name; }

Expected<Target> open_target(const std::string& gpu, const std::string& device, bool several) {
  const bool all = several && device == kAllGpus;
  const auto word = read_device_word(all ? "gpu" : device);
  if (!word) return Unexpected(word.error());
  const bool reads = word->gpu || to_lower(trim(gpu)) == "this";
  std::optional<gpu::Driver> driver;
  std::optional<gpu::Device> here;
  if (reads) {
    auto read = gpu::read_driver();
    if (!read) return Unexpected(read.error());
    auto found = gpu::find_device(*read, word->index);
    if (!found) return Unexpected(found.error());
    driver = std::move(*read);
    here = std::move(*found);
  }
  Target out;
  if (auto sheet = read_sheet(out, gpu, here); !sheet) return Unexpected(sheet.error());
  if (const std::string reason = hardware::untargetable_reason(out.sheet); !reason.empty()) return fail(ErrorCode::unsupported, reason, {}, "kforge gpus lists the GPUs that check can target");
  if (!word->gpu) {
    if (auto read = read_defences(out); !read) return Unexpected(read.error());
    return out;
  }
  if (here->sm() != out.sheet.sm())
    return fail(ErrorCode::bad_input, fmt::format("{} is sm_{} and the target {} is sm_{}: what is built for one does not run on the other", here->name, here->sm(), out.sheet.name, out.sheet.sm()), {},
                "--gpu this builds for the GPU at hand");
  if (out.warnings.empty() && to_lower(trim(gpu)) != "this")
    for (const std::string& difference : gpu::differences(*here, out.sheet)) out.warnings.push_back(fmt::format("{} differs from the data sheet {}: {}", here->name, out.sheet.name, difference));
  auto options = open_gpu(*driver, *here);
  if (!options) return Unexpected(options.error());
  out.gpu = std::move(*options);
  for (const gpu::Device& other : driver->devices) {
    if (!all || other.index == here->index || other.name != here->name || other.sm() != here->sm()) continue;
    auto opened = open_gpu(*driver, other);
    if (!opened) return Unexpected(opened.error());
    out.others.push_back(std::move(*opened));
  }
  const auto tools = build::find_toolchain();
  if (!tools) return Unexpected(tools.error());
  out.toolkit = tools->version;
  if (auto read = read_defences(out); !read) return Unexpected(read.error());
  return out;
}

Expected<std::vector<std::string>> device_words(const std::string& word) {
  if (word != kAllGpus) return std::vector<std::string>{word};
  const auto driver = gpu::read_driver();
  if (!driver) return Unexpected(driver.error());
  std::vector<std::string> out;
  for (const gpu::Device& device : driver->devices) out.push_back(fmt::format("gpu:{}", device.index));
  return out;
}

void aim(JudgeRequest& request, const Target& target) {
  request.sheet = &target.sheet;
  request.sheet_name = target.sheet_name;
  request.gpu = target.gpu;
  request.toolkit = target.toolkit;
  request.warnings = target.warnings;
  request.defences = target.defences;
}

}  // namespace kforge::forge
