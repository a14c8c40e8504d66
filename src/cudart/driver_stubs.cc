// Every function of the driver API that driver.def does not implement: a weak function that says its name once on stderr and
// answers CUDA_ERROR_NOT_SUPPORTED.
#include <string>

#include "cudart/driver_entry.h"
#include "cudart/unsupported.h"

#define KFORGE_DRIVER_EXPORT(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return kforge::cudart::unsupported(#name); }
#include "cudart/driver_exports.def"
#undef KFORGE_DRIVER_EXPORT

namespace kforge::cudart {

void* find_driver_stub(const char* name) {
  struct Entry { const char* name; int (*function)(); };
  static constexpr Entry kEntries[] = {
#define KFORGE_DRIVER_EXPORT(name) {#name, &::name},
#include "cudart/driver_exports.def"
#undef KFORGE_DRIVER_EXPORT
  };
  for (const Entry& entry : kEntries)
    if (std::string_view(name) == entry.name) return reinterpret_cast<void*>(entry.function);
  return nullptr;
}

}  // namespace kforge::cudart
