#include "evidence/source.h"

#include <algorithm>

#include "evidence/plain_path.h"

namespace kforge::evidence {
namespace {

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("/._-+=@~%: ").find(c) != std::string_view::npos; }

}  // namespace

bool is_plain_path(std::string_view path) { return std::all_of(path.begin(), path.end(), is_plain); }

std::string plain_source_name(std::string_view path) {
  std::string name(file_name(path));
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_plain(c); }, '_');
  return "/kforge-source/" + name;
}

SourceFrame SourcePosition::line_in(std::string_view file) const {
  for (const SourceFrame& frame : frames)
    if (frame.file == file) return frame;
  for (const SourceFrame& frame : frames)
    if (file_name(frame.file) == file_name(file)) return frame;
  for (const SourceFrame& frame : frames)
    if (frame.file == plain_source_name(file)) return frame;
  return frames.empty() ? SourceFrame{} : frames.front();
}

}  // namespace kforge::evidence
