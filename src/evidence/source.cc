#include "evidence/source.h"

namespace kforge::evidence {
namespace {

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

SourceFrame SourcePosition::line_in(std::string_view file) const {
  for (const SourceFrame& frame : frames)
    if (frame.file == file) return frame;
  for (const SourceFrame& frame : frames)
    if (file_name(frame.file) == file_name(file)) return frame;
  return frames.empty() ? SourceFrame{} : frames.front();
}

}  // namespace kforge::evidence
