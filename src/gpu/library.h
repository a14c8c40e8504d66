// NVIDIA's libraries, found at run time: nothing of CUDA is linked, so that one binary serves machines with and without a GPU.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace kforge::gpu {

// An open library. It stays open for the life of the process: the driver does not survive being unloaded.
class Library {
 public:
  // `variable`: an environment variable that names another file; it is then the only one that is tried. Errors: missing, with what was tried.
  static Expected<Library> open(const char* variable, const std::vector<std::string>& names, const std::string& hint);

  template <class F>
  bool resolve(const char* name, F& function) const {
    function = reinterpret_cast<F>(symbol(name));
    return function != nullptr;
  }
  std::string path() const;    // as the loader found it

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

Expected<Library> open_driver();     // libcuda; $KFORGE_LIBCUDA
Expected<Library> open_nvml();       // libnvidia-ml; $KFORGE_LIBNVML

// NVIDIA's libcudart, which is not opened here: the worker does that. $KFORGE_LIBCUDART; else beside nvcc, in the toolkit's usual folders,
// by the loader. Errors: missing.
Expected<std::string> find_cuda_runtime();
// CUPTI, which only workers open: what it shows is a second witness (docs/timing.md). $KFORGE_LIBCUPTI. Errors: missing.
Expected<std::string> find_cupti();
// cuDNN, of the toolkit's folders or of PyTorch's wheels beside python3. $KFORGE_LIBCUDNN. Errors: missing.
Expected<std::string> find_cudnn();
// Another library of the toolkit by its file name ("libcublas.so.13"), found likewise. Errors: missing.
Expected<std::string> find_toolkit_library(const char* variable, const std::vector<std::string>& names);

}  // namespace kforge::gpu
