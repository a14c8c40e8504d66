#include "llm/key.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace kforge::llm {
namespace {

constexpr std::uint64_t kLongestFile = 16384;
constexpr std::size_t kShortest = 8;   // a shorter "key" would be cut out of ordinary words

Expected<std::string> read_private_file(const std::string& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return fail(ErrorCode::missing, "the key's file is not there, or no regular file", {file, 0, 0}, "write the key into it, and: chmod 600 " + file);
  if ((about.st_mode & 0077) != 0 || about.st_uid != ::geteuid())
    return fail(ErrorCode::bad_input, fmt::format("the key's file can be read by others (mode {:04o})", about.st_mode & 07777), {file, 0, 0}, "chmod 600 " + file + ", as its owner");
  auto text = read_file(file, kLongestFile);
  if (!text) return Unexpected(text.error());
  return std::string(trim(std::string_view(*text).substr(0, text->find('\n'))));
}

bool fits_header(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

Expected<Key> Key::find(const std::string& file, const std::string& variable) {
  std::string value;
  if (!file.empty()) {
    auto read = read_private_file(file);
    if (!read) return Unexpected(read.error());
    value = std::move(*read);
    if (value.empty()) return fail(ErrorCode::bad_input, "the key's file is empty", {file, 0, 0}, "its first line is the key");
  } else if (!variable.empty()) {
    const char* set = std::getenv(variable.c_str());
    value = set ? std::string(trim(set)) : "";
    if (value.empty()) return fail(ErrorCode::missing, fmt::format("there is no key: ${} is not set", variable), {}, "set it, or name a file of mode 0600 that holds the key: --llm-key-file FILE");
  }
  const std::string origin = file.empty() ? "$" + variable : file;
  if (!fits_header(value)) return fail(ErrorCode::bad_input, fmt::format("the key in {} holds characters that no key has", origin), {}, "copy it again, alone in one line");
  if (!value.empty() && value.size() < kShortest) return fail(ErrorCode::bad_input, fmt::format("the key in {} is too short to be one", origin), {}, "copy it again, alone in one line");
  return Key(std::move(value));
}

std::string Key::redacted(std::string_view text) const { return value_.empty() ? std::string(text) : replace_all(text, value_, "[key]"); }

Error Key::redacted(Error error) const {
  error.message = redacted(error.message);
  error.where.file = redacted(error.where.file);
  error.hint = redacted(error.hint);
  return error;
}

}  // namespace kforge::llm
