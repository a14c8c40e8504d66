// Where a file can be written, asked before long work whose result goes there.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace kforge {

// Whether write_file_atomic could write `path` now, as far as can be seen. Makes nothing. Errors: bad_input.
Expected<void> can_be_written(const std::filesystem::path& path);

// The file that a link leads to, which is what is replaced when the link is written to (it may be /dev/stdout); any other path as it is.
std::filesystem::path behind_links(const std::filesystem::path& path);

// For EFBIG, of files in memory too. Our programs ignore SIGXFSZ, so that it is an error like others.
inline constexpr const char* kFileLimitHint = "files may not grow beyond `ulimit -f` here: raise that limit and run again";

}  // namespace kforge
