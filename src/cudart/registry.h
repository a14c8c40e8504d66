// What host objects register before main: fatbins with the kernels and variables in them, by the host addresses that the
// program uses as their names. Nothing is read here but pointers; PTX is parsed when something of an image is first used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cudart/cubin.h"
#include "cudart/status.h"
#include "emulator/device.h"

namespace kforge::cudart {

struct Image;

struct KernelRecord {                    // a cudaKernel_t points at one
  Image* image = nullptr;
  std::string name;                      // mangled
  const emulator::Kernel* kernel = nullptr;   // after the image was loaded
  int registers = 0;                     // 0: no machine code says
  int dynamic_shared_limit = -1;         // as set by cudaFuncSetAttribute; -1: the default
};

struct VariableRecord {
  Image* image = nullptr;
  std::string name;
  std::uint64_t size = 0;
  bool constant = false;
  void** managed_pointer = nullptr;      // host variable that must point at the bytes; null unless __managed__
  emulator::Allocation* allocation = nullptr;
};

struct Image {
  const void* wrapper = nullptr;
  std::string data;                      // in place of a wrapper: what the program loaded itself
  std::vector<std::unique_ptr<KernelRecord>> kernels;
  std::vector<std::unique_ptr<VariableRecord>> variables;
  bool tried = false;
  Status status = cudaSuccess;           // of the load
  std::string error;                     // why not, for people
  emulator::LoadedModule* module = nullptr;
  std::shared_ptr<const ptx::Module> ptx;
};

class Registry {
 public:
  Image* add(const void* wrapper);
  // A PTX text, a fatbin or an ELF file. After the load its kernels are there by name.
  Image* add_data(std::string data);
  KernelRecord* kernel_named(const Image& image, std::string_view name) const;
  void remove(Image* image, emulator::Device* device);
  // False when `handle` is not an image that is registered.
  bool known(const Image* image) const;

  void add_kernel(Image* image, const void* host, std::string name);
  void add_variable(Image* image, const void* host, VariableRecord variable);

  // By host address, or by the KernelRecord itself; null when neither.
  KernelRecord* find_kernel(const void* host_or_record) const;
  VariableRecord* find_variable(const void* host) const;

  // Reads the image's PTX for the device, once; the image's status afterwards. cudaErrorNoKernelImageForDevice when nothing
  // in it can run on that compute capability.
  Status load(Image& image, emulator::Device& device);
  // The device is gone: everything must be loaded again.
  void forget_device();
  const std::vector<std::unique_ptr<Image>>& images() const { return images_; }

 private:
  std::vector<std::unique_ptr<Image>> images_;
  std::unordered_map<const void*, KernelRecord*> kernels_;
  std::unordered_set<const void*> kernel_records_;
  std::unordered_map<const void*, VariableRecord*> variables_;
};

}  // namespace kforge::cudart
