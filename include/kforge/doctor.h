// What this machine has of the things Kernel Forge uses, and how to get what is missing.
#pragma once

#include <string>
#include <vector>

namespace kforge {

struct DoctorRow {
  std::string name;       // "nvcc"
  bool needed = false;    // `check` cannot work without it
  bool found = false;
  std::string detail;     // path and version, or what is missing
  std::string how_to_get; // empty when found
};
std::vector<DoctorRow> doctor();

}  // namespace kforge
