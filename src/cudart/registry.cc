#include "cudart/registry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cudart/abi.h"
#include "ptx/fatbin.h"
#include "ptx/parser.h"

namespace kforge::cudart {
namespace {

std::span<const std::byte> bytes_of(const void* wrapper_pointer) {
  const auto* wrapper = static_cast<const FatbinWrapper*>(wrapper_pointer);
  if (wrapper == nullptr || wrapper->magic != ptx::kFatbinWrapperMagic || wrapper->fatbin == nullptr) return {};
  return {static_cast<const std::byte*>(wrapper->fatbin), ptx::fatbin_size(wrapper->fatbin)};
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
  kernels_[host] = record.get();
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
  const auto bytes = bytes_of(image.wrapper);
  if (bytes.empty()) return refuse(image, cudaErrorInvalidKernelImage, "the registered image is no fatbin");
  const ptx::Fatbin fatbin = ptx::read_fatbin(bytes);
  const ptx::FatbinEntry* entry = ptx::best_ptx(fatbin, sm);
  if (entry == nullptr) {
    std::string why = fmt::format("no PTX in the program can run on sm_{} ({}); it holds: {}. Build it with -arch=sm_{} or lower",
                                  sm, device.sheet().name, targets_of(fatbin), sm);
    if (!fatbin.error.empty()) why += fmt::format(" (the fatbin was read in part: {})", fatbin.error);
    return refuse(image, cudaErrorNoKernelImageForDevice, std::move(why));
  }
  auto module = ptx::parse(entry->data, "<embedded PTX>");
  if (!module) return refuse(image, cudaErrorInvalidPtx, to_string(module.error()));
  image.ptx = std::make_shared<const ptx::Module>(std::move(*module));
  auto loaded = device.load(image.ptx);
  if (!loaded) return refuse(image, cudaErrorInvalidPtx, to_string(loaded.error()));
  image.module = *loaded;
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
