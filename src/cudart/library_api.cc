#include "cudart/library_api.h"

#include <cstdio>
#include <cstring>

#include "base/files.h"
#include "cudart/abi.h"
#include "ptx/fatbin.h"

namespace kforge::cudart {
namespace {

std::uint32_t magic_of(const void* code) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, code, sizeof magic);
  return magic;
}

// Bytes of an ELF file that is only a pointer in this process: up to the end of its section table.
std::size_t elf_size(const void* code) {
  const auto* bytes = static_cast<const char*>(code);
  std::uint64_t table = 0;
  std::uint16_t row_bytes = 0, rows = 0;
  std::memcpy(&table, bytes + 0x28, sizeof table);
  std::memcpy(&row_bytes, bytes + 0x3a, sizeof row_bytes);
  std::memcpy(&rows, bytes + 0x3c, sizeof rows);
  return table + std::size_t{row_bytes} * rows;
}

std::string bytes_of(const void* code) {
  const auto* bytes = static_cast<const char*>(code);
  if (magic_of(code) == ptx::kFatbinWrapperMagic) return bytes_of(static_cast<const FatbinWrapper*>(code)->fatbin);
  if (magic_of(code) == ptx::kFatbinMagic) return {bytes, ptx::fatbin_size(code)};
  if (std::memcmp(bytes, "\x7f" "ELF", 4) == 0) return {bytes, elf_size(code)};
  return bytes;
}

Status load(Context& context, Image** library, std::string code) {
  if (context.device() == nullptr) return cudaErrorInitializationError;
  Image* image = context.registry.add_data(std::move(code));
  const Status status = context.registry.load(*image, *context.device());
  if (status != cudaSuccess) {
    std::fprintf(stderr, "kforge: %s\n", image->error.c_str());
    context.violate("portability", "no-image", {}, image->error);
    context.registry.remove(image, context.device());
    return status;
  }
  *library = image;
  return cudaSuccess;
}

}  // namespace

Status load_library(Context& context, Image** library, const void* code) {
  return library == nullptr || code == nullptr ? cudaErrorInvalidValue : load(context, library, bytes_of(code));
}

Status load_library_file(Context& context, Image** library, const char* file) {
  if (library == nullptr || file == nullptr) return cudaErrorInvalidValue;
  auto code = read_file(file);
  if (!code) return cudaErrorFileNotFound;
  return load(context, library, std::move(*code));
}

Status unload_library(Context& context, Image* library) {
  if (!context.registry.known(library)) return cudaErrorInvalidResourceHandle;
  context.registry.remove(library, context.device_if_any());
  return cudaSuccess;
}

Status library_kernel(Context& context, void** kernel, Image* library, const char* name) {
  if (kernel == nullptr || name == nullptr) return cudaErrorInvalidValue;
  if (!context.registry.known(library)) return cudaErrorInvalidResourceHandle;
  *kernel = context.registry.kernel_named(*library, name);
  return *kernel != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}

Status library_variable(Context& context, void** pointer, std::size_t* bytes, Image* library, const char* name) {
  if (name == nullptr || (pointer == nullptr && bytes == nullptr)) return cudaErrorInvalidValue;
  if (!context.registry.known(library)) return cudaErrorInvalidResourceHandle;
  const emulator::Allocation* variable = context.device()->find_variable(library->module, name);
  if (variable == nullptr) return cudaErrorSymbolNotFound;
  if (pointer != nullptr) *pointer = reinterpret_cast<void*>(variable->base);
  if (bytes != nullptr) *bytes = variable->size;
  return cudaSuccess;
}

Status library_kernels(Context& context, void** kernels, unsigned most, unsigned* count, Image* library) {
  if (!context.registry.known(library)) return cudaErrorInvalidResourceHandle;
  if (count != nullptr) *count = static_cast<unsigned>(library->kernels.size());
  for (unsigned i = 0; kernels != nullptr && i < most; ++i) kernels[i] = i < library->kernels.size() ? library->kernels[i].get() : nullptr;
  return cudaSuccess;
}

}  // namespace kforge::cudart
