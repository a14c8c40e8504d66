// Large texts of a run (sources, PTX, profiles, verdicts), each in a file that is named by its content's hash: equal texts are kept once, and a
// file is either absent or whole, whenever a process is killed. Rows of the database name an artefact only after it is on disk.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kforge::store {

class Artefacts {
 public:
  explicit Artefacts(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Its key, 32 hex digits. "" is kept without a file and has the key "". Errors: failed (disk).
  Expected<std::string> put(std::string_view content) const;
  // Errors: missing when it is not there, failed when its bytes are not those of its name.
  Expected<std::string> get(const std::string& key) const;
  std::filesystem::path path(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace kforge::store
