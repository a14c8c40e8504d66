// Where things are: this program, the project around it, the cache, other programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace kforge {

// The folder of the running executable.
std::filesystem::path executable_folder();

// The folder that holds the project's data (`data/gpus`): $KFORGE_ROOT; else the nearest parent of
// the executable that has it (a build tree); else <prefix>/share/kforge beside an installed bin/.
Expected<std::filesystem::path> project_root();

// The folder of caches that may be deleted at any time: $KFORGE_CACHE; else $XDG_CACHE_HOME/kforge;
// else $HOME/.cache/kforge; else .kforge/cache of the project; made if it is not there. A folder that
// cannot be written is passed over, except $KFORGE_CACHE, which is then an error. Absolute, without "..", links resolved: names of files
// in it can be compared.
Expected<std::filesystem::path> cache_folder();

// The full path of an executable file: a name with a slash is taken as it is, another one is looked up in
// `search_path` (colon-separated; by default $PATH).
std::optional<std::filesystem::path> find_program(std::string_view name);
std::optional<std::filesystem::path> find_program(std::string_view name, std::string_view search_path);

}  // namespace kforge
