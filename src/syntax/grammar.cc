#include "syntax/grammar.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <tree_sitter/api.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/paths.h"

namespace kforge::syntax {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHowToGet = "run tools/setup.sh grammar (./forge does), or set KFORGE_GRAMMAR to the shared object of the PyPI wheel tree-sitter-cuda 0.21.0";

std::vector<fs::path> places() {
  std::vector<fs::path> out;
  if (const auto root = project_root()) {
    out.push_back(*root / ".kforge" / "grammar" / "tree_sitter_cuda" / "_binding.abi3.so");
    out.push_back(*root / "grammar" / "libtree-sitter-cuda.so");
  }
  out.push_back(executable_folder() / "libtree-sitter-cuda.so");
  return out;
}

Expected<const void*> open_grammar() {
  const auto path = find_grammar();
  if (!path) return Unexpected(path.error());
  // Lazily: the wheel's object also holds a Python entry point, whose symbols are never bound because it is never called.
  void* object = dlopen(path->c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!object) return fail(ErrorCode::missing, fmt::format("the CUDA grammar cannot be opened: {}", dlerror()), {*path}, kHowToGet);
  using Entry = const TSLanguage* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(object, "tree_sitter_cuda"));
  if (!entry) return fail(ErrorCode::missing, "this is no CUDA grammar: it has no symbol tree_sitter_cuda", {*path}, kHowToGet);
  const TSLanguage* language = entry();
  const auto version = ts_language_version(language);
  if (version > TREE_SITTER_LANGUAGE_VERSION || version < TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION) {
    return fail(ErrorCode::unsupported, fmt::format("the CUDA grammar has version {}; {} to {} is understood", version,
                TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION, TREE_SITTER_LANGUAGE_VERSION), {*path}, kHowToGet);
  }
  return language;
}

}  // namespace

Expected<std::string> find_grammar() {
  if (const char* named = std::getenv("KFORGE_GRAMMAR"); named && *named) return std::string(named);
  std::error_code ignored;
  for (const fs::path& place : places()) {
    if (fs::exists(place, ignored)) return place.string();
  }
  return fail(ErrorCode::missing, "the CUDA grammar was not found (looked at $KFORGE_GRAMMAR, the project's .kforge/grammar and beside the program)", {}, kHowToGet);
}

Expected<const void*> load_grammar() {
  static const Expected<const void*> opened = open_grammar();
  return opened;
}

}  // namespace kforge::syntax
