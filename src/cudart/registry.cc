#include "cudart/registry.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cudart/abi.h"
#include "ptx/fatbin.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace kforge::cudart {
namespace {

std::span<const std::byte> bytes_of(const void* wrapper_pointer) {
  const auto* wrapper = static_cast<const FatbinWrapper*>(wrapper_pointer);
  if (wrapper == nullptr || wrapper->magic != ptx::kFatbinWrapperMagic || wrapper->fatbin == nullptr) return {};
  return {static_cast<const std::byte*>(wrapper->fatbin), ptx::fatbin_size(wrapper->fatbin)};
}

// What the program loaded itself, as if it came in a fatbin.
ptx::Fatbin fatbin_of(const std::string& data) {
  const auto bytes = std::as_bytes(std::span(data.data(), data.size()));
  if (data.find(".version") != std::string::npos && !data.starts_with("\x7f" "ELF") && ptx::fatbin_size(bytes.data()) == 0)
    return {{{ptx::FatbinEntry::Kind::ptx, ptx::ptx_target(data).sm, data}}, {}};
  if (!data.starts_with("\x7f" "ELF")) return ptx::read_fatbin(bytes);
  const auto section = ptx::fatbin_section(bytes);
  if (!section.empty()) return ptx::read_fatbin(section);
  return {{{ptx::FatbinEntry::Kind::cubin, 0, data}}, {}};
}

// The parts of a program of separate compilation (nvcc -rdc=true): the wrapper of what nvlink made lists their fatbins.
std::vector<ptx::Fatbin> parts_of(const void* wrapper_pointer) {
  constexpr std::uint32_t kLinked = 2;
  const auto* wrapper = static_cast<const FatbinWrapper*>(wrapper_pointer);
  std::vector<ptx::Fatbin> parts;
  if (wrapper == nullptr || wrapper->magic != ptx::kFatbinWrapperMagic || wrapper->version != kLinked) return parts;
  for (const auto* part = static_cast<const void* const*>(wrapper->more); part != nullptr && *part != nullptr; ++part)
    if (const std::uint64_t bytes = ptx::fatbin_size(*part); bytes != 0) parts.push_back(ptx::read_fatbin({static_cast<const std::byte*>(*part), bytes}));
  return parts;
}

// Null PTX, without an error, when a part has none for the GPU.
Expected<std::shared_ptr<const ptx::Module>> link_parts(const std::vector<ptx::Fatbin>& parts, std::uint32_t sm) {
  std::vector<ptx::Module> modules;
  for (const ptx::Fatbin& part : parts) {
    const ptx::FatbinEntry* entry = ptx::best_ptx(part, sm);
    if (entry == nullptr) return nullptr;
    auto module = ptx::parse(entry->data, "<embedded PTX>");
    if (!module) return Unexpected(module.error());
    modules.push_back(std::move(*module));
  }
  return ptx::link(std::move(modules)).map([](ptx::Module linked) { return std::make_shared<const ptx::Module>(std::move(linked)); });
}

// Launches from the device call what only machine code in libcudadevrt.a has.
bool launches_from_device(const std::vector<ptx::Fatbin>& parts) {
  return std::ranges::any_of(parts, [](const ptx::Fatbin& part) {
    return std::ranges::any_of(part.entries, [](const ptx::FatbinEntry& entry) { return entry.kind == ptx::FatbinEntry::Kind::ptx && entry.data.find("__cudaCDP") != std::string::npos; });
  });
}

std::string targets_of(const ptx::Fatbin& fatbin) {
  std::string text;
  for (const ptx::FatbinEntry& entry : fatbin.entries) {
    if (entry.kind != ptx::FatbinEntry::Kind::ptx) continue;
    const ptx::PtxTarget target = ptx::ptx_target(entry.data);
    text += fmt::format("{}sm_{}{}", text.empty() ? "" : ", ", target.sm, target.suffix ? std::string(1, target.suffix) : "");
  }
  return text.empty() ? "none (only machine code)" : text;
}

Status refuse(Image& image, Status status, std::string error) {
  image.error = std::move(error);
  return image.status = status;
}

void resolve(Image& image, emulator::Device& device, const ptx::FatbinEntry* cubin) {
  const auto resources = cubin == nullptr ? decltype(read_cubin({})){} : read_cubin(cubin->data);
  for (auto& kernel : image.kernels) {
    kernel->kernel = device.find_kernel(image.module, kernel->name);
    const auto found = resources.find(kernel->name);
    kernel->registers = found == resources.end() ? 0 : found->second.registers;
  }
  for (auto& variable : image.variables) {
    variable->allocation = device.find_variable(image.module, variable->name);
    if (variable->managed_pointer != nullptr && variable->allocation != nullptr) *variable->managed_pointer = variable->allocation->data;
  }
}

}  // namespace

Image* Registry::add(const void* wrapper) {
  images_.push_back(std::make_unique<Image>());
  images_.back()->wrapper = wrapper;
  return images_.back().get();
}

Image* Registry::add_data(std::string data) {
  images_.push_back(std::make_unique<Image>());
  images_.back()->data = std::move(data);
  return images_.back().get();
}

KernelRecord* Registry::kernel_named(const Image& image, std::string_view name) const {
  const auto found = std::find_if(image.kernels.begin(), image.kernels.end(), [&](const auto& kernel) { return kernel->name == name; });
  return found == image.kernels.end() ? nullptr : found->get();
}

bool Registry::known(const Image* image) const {
  return std::any_of(images_.begin(), images_.end(), [&](const auto& known) { return known.get() == image; });
}

void Registry::remove(Image* image, emulator::Device* device) {
  if (image->module != nullptr && device != nullptr) device->unload(image->module);
  std::erase_if(kernels_, [&](const auto& entry) { return entry.second->image == image; });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second->image == image; });
  for (const auto& kernel : image->kernels) kernel_records_.erase(kernel.get());
  std::erase_if(images_, [&](const auto& known) { return known.get() == image; });
}

void Registry::add_kernel(Image* image, const void* host, std::string name) {
  auto record = std::make_unique<KernelRecord>();
  record->image = image;
  record->name = std::move(name);
  if (host != nullptr) kernels_[host] = record.get();
  kernel_records_.insert(record.get());
  image->kernels.push_back(std::move(record));
}

void Registry::add_variable(Image* image, const void* host, VariableRecord variable) {
  variable.image = image;
  image->variables.push_back(std::make_unique<VariableRecord>(std::move(variable)));
  variables_[host] = image->variables.back().get();
}

KernelRecord* Registry::find_kernel(const void* host_or_record) const {
  if (const auto found = kernels_.find(host_or_record); found != kernels_.end()) return found->second;
  if (kernel_records_.count(host_or_record) == 0) return nullptr;
  return static_cast<KernelRecord*>(const_cast<void*>(host_or_record));
}

VariableRecord* Registry::find_variable(const void* host) const {
  const auto found = variables_.find(host);
  return found == variables_.end() ? nullptr : found->second;
}

Status Registry::load(Image& image, emulator::Device& device) {
  if (std::exchange(image.tried, true)) return image.status;
  const auto sm = static_cast<std::uint32_t>(device.sheet().sm());
  const ptx::Fatbin fatbin = image.wrapper != nullptr ? ptx::read_fatbin(bytes_of(image.wrapper)) : fatbin_of(image.data);
  const std::vector<ptx::Fatbin> parts = parts_of(image.wrapper);
  if (fatbin.entries.empty() && fatbin.error.empty() && !parts.empty())
    return refuse(image, cudaErrorInvalidKernelImage, fmt::format("device code that was compiled apart (-rdc=true) was linked for no GPU: the linker takes none from PTX alone. Build it with -arch=sm_{}", sm));
  if (fatbin.entries.empty()) return refuse(image, cudaErrorInvalidKernelImage, "the image is neither PTX nor a fatbin" + (fatbin.error.empty() ? "" : ": " + fatbin.error));
  if (!parts.empty()) {
    auto linked = link_parts(parts, sm);
    if (!linked) return refuse(image, cudaErrorInvalidPtx, to_string(linked.error()));
    image.ptx = std::move(*linked);
  } else if (const ptx::FatbinEntry* entry = ptx::best_ptx(fatbin, sm); entry != nullptr) {
    auto module = ptx::parse(entry->data, "<embedded PTX>");
    if (!module) return refuse(image, cudaErrorInvalidPtx, to_string(module.error()));
    image.ptx = std::make_shared<const ptx::Module>(std::move(*module));
  }
  if (image.ptx == nullptr && launches_from_device(parts))
    return refuse(image, cudaErrorNotSupported, "kernels that launch kernels (dynamic parallelism) are not supported by the emulated GPU: launch them from the host");
  if (image.ptx == nullptr) {
    std::string why = fmt::format("no PTX in the program can run on sm_{} ({}); it holds: {}. Build it with -arch=sm_{} or lower",
                                  sm, device.sheet().name, targets_of(parts.empty() ? fatbin : parts.front()), sm);
    if (!fatbin.error.empty()) why += fmt::format(" (the fatbin was read in part: {})", fatbin.error);
    return refuse(image, cudaErrorNoKernelImageForDevice, std::move(why));
  }
  auto loaded = device.load(image.ptx);
  if (!loaded) return refuse(image, cudaErrorInvalidPtx, to_string(loaded.error()));
  image.module = *loaded;
  if (image.wrapper == nullptr && image.kernels.empty())
    for (const ptx::Function& function : image.ptx->functions)
      if (function.is_entry) add_kernel(&image, nullptr, function.name);
  resolve(image, device, ptx::best_cubin(fatbin, sm));
  return image.status = cudaSuccess;
}

void Registry::forget_device() {
  for (auto& image : images_) {
    image->tried = false;
    image->status = cudaSuccess;
    image->module = nullptr;
    for (auto& kernel : image->kernels) kernel->kernel = nullptr, kernel->dynamic_shared_limit = -1;
    for (auto& variable : image->variables) variable->allocation = nullptr;
  }
}

}  // namespace kforge::cudart
