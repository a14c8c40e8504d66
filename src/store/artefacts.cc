#include "store/artefacts.h"

#include "base/files.h"
#include "base/hash.h"

namespace kforge::store {

std::filesystem::path Artefacts::path(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

Expected<std::string> Artefacts::put(std::string_view content) const {
  if (content.empty()) return std::string();
  const std::string key = hash_hex(content);
  const auto file = path(key);
  std::error_code ignored;
  if (std::filesystem::file_size(file, ignored) == content.size() && !ignored) return key;
  if (auto made = make_directories(file.parent_path()); !made) return Unexpected(made.error());
  if (auto written = write_file_atomic(file, content); !written) return Unexpected(written.error());
  return key;
}

Expected<std::string> Artefacts::get(const std::string& key) const {
  if (key.empty()) return std::string();
  const auto file = path(key);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return fail(ErrorCode::missing, "an artefact of the store is gone", {file.string(), 0, 0}, "the store was edited; start the run anew");
  auto content = read_file(file);
  if (!content) return content;
  if (hash_hex(*content) != key) return fail(ErrorCode::failed, "an artefact of the store was changed", {file.string(), 0, 0}, "remove it; its run must be started anew");
  return content;
}

}  // namespace kforge::store
