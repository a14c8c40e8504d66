// The store of builds. Two steps, so that a lookup needs no compiler: the *request key* (source path, wrapper, flags, target,
// tools) finds a manifest that lists the user's files which that request read last time; their contents, hashed now, and
// the request key make the *entry key*, which names a folder with the artefact. A header that changes leads to another entry.
//
// Entries are made in a private folder and renamed into place, and each use checks every byte against recorded hashes: a
// half-written, edited or foreign entry is no entry. Writers may race and may be killed anywhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/held_directory.h"
#include "base/lock.h"
#include "build/builder.h"

namespace kforge::build {

class Cache {
 public:
  // The folder "build" of cache_folder(). Errors: failed when it cannot be written.
  static Expected<Cache> open();
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  std::optional<Artefact> find(const std::string& request_key) const;

  // A folder to build in; artefacts published from it are renamed, not copied.
  Expected<HeldDirectory> workspace() const;

  // Moves the files of `artefact` (shared_object, ptx_path, cubin_path: paths in the workspace, or empty) into the entry and returns the artefact with their
  // final paths. `dependencies`: absolute paths of the user's files that were read.
  Expected<Artefact> publish(const std::string& request_key, const std::vector<std::string>& dependencies, const HeldDirectory& workspace,
                             Artefact artefact) const;

  // Held while building, so that equal requests build once. Nothing when it cannot be had in time: building twice is harmless.
  std::optional<FileLock> lock(const std::string& request_key, double timeout_seconds) const;

  // Removes the entries used least recently until at most `bytes` are left; what was used within the last hour stays.
  void shrink(std::uint64_t bytes) const;

 private:
  std::optional<Artefact> load(const std::string& entry_key) const;
  std::filesystem::path folder_;
};

}  // namespace kforge::build
