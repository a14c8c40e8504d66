// A temporary folder that is known for what it is: marked and locked as long as its owner lives, so that what a killed process left behind can be
// told from what another one is using, and removed.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/unique_fd.h"

namespace kforge {

class HeldDirectory {
 public:
  // As TemporaryDirectory::create.
  static Expected<HeldDirectory> create(std::string_view prefix = "kforge", const std::filesystem::path& parent = {});
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  HeldDirectory(TemporaryDirectory folder, UniqueFd lock) : lock_(std::move(lock)), folder_(std::move(folder)) {}
  UniqueFd lock_;              // outlives the folder
  TemporaryDirectory folder_;
};

// Removes the folders of HeldDirectory under `parent` (as there) with this prefix whose processes are gone: ours alone, and not one that is held or being made.
void sweep_held_directories(std::string_view prefix = "kforge", const std::filesystem::path& parent = {});

}  // namespace kforge
