// `gpu = "this"`: the GPU at hand as a data sheet, and how a GPU differs from a sheet.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "hardware/data_sheet.h"

namespace kforge::gpu {

// A difference in words: "multiprocessors: 114 here, 132 in the sheet".
std::vector<std::string> differences(const Device& device, const hardware::DataSheet& sheet);

struct ThisSheet {
  hardware::DataSheet sheet;
  std::string base;                     // the stored sheet that gave what a driver does not tell
  bool known = false;                   // the base is of this very product
  std::vector<std::string> warnings;    // differences from a known product's sheet; what was taken from a neighbour
};
// What the driver tells, completed from the stored sheet of the product, or of the nearest one of its compute capability.
// Errors: unsupported when no stored sheet has that capability.
Expected<ThisSheet> sheet_of(const Device& device);

}  // namespace kforge::gpu
