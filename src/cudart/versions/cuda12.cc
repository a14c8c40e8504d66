// Of libcudart.so.12 alone.
#include "cudart/versions/cuda12.h"

#include <cstring>

#include "cudart/api_macros.h"
#include "cudart/unsupported.h"

using namespace kforge;
using namespace kforge::cudart;

namespace kforge::cudart {
namespace {

// Every field that both versions have; those of 12 alone come from attributes.
Status device_properties_12(Context& context, DeviceProp12* to, int device) {
  DeviceProp from;
  if (to == nullptr) return cudaErrorInvalidValue;
  if (const Status status = device_properties(context, &from, device); status != cudaSuccess) return status;
  *to = {};
#define KFORGE_FIELD(name) std::memcpy(&to->name, &from.name, sizeof to->name);
#include "cudart/versions/device_fields.def"
#undef KFORGE_FIELD
  struct Row { int DeviceProp12::*field; int attribute; };
  constexpr Row kRows[] = {{&DeviceProp12::clockRate, 13}, {&DeviceProp12::deviceOverlap, 15}, {&DeviceProp12::memoryClockRate, 36}, {&DeviceProp12::computeMode, 20},
                           {&DeviceProp12::singleToDoublePrecisionPerfRatio, 87}};
  for (const Row& row : kRows) device_attribute(context, &(to->*row.field), row.attribute, device);
  return cudaSuccess;
}

}  // namespace
}  // namespace kforge::cudart

#include "cudart/versions/cuda12.def"
