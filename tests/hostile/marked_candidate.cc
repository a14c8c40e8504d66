#include "marked_candidate.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <ostream>

namespace kforge::tests {
namespace fs = std::filesystem;

std::string MarkedCandidate::mark(const std::string& key) const {
  const auto found = marks.find(key);
  return found == marks.end() ? "" : found->second;
}

std::string MarkedCandidate::name() const {
  std::string out = source.parent_path().filename().string() + "_" + source.filename().string();
  out.resize(out.find('.'));
  std::replace_if(out.begin(), out.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return out;
}

fs::path MarkedCandidate::task() const {
  const fs::path free = source.parent_path() / "free.toml";
  return source.filename().string().starts_with("honest") && fs::exists(free) ? free : source.parent_path() / "task.toml";
}

void PrintTo(const MarkedCandidate& candidate, std::ostream* out) { *out << candidate.source.string(); }

std::vector<MarkedCandidate> marked_candidates(const std::string& start) {
  std::vector<MarkedCandidate> found;
  for (const auto& folder : fs::directory_iterator(fs::path(KFORGE_SOURCE_DIR) / "tests" / "hostile")) {
    if (!folder.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(start) || (!file.ends_with(".cu") && !file.ends_with(".cu.in"))) continue;
      MarkedCandidate& one = found.emplace_back();
      one.source = entry.path();
      std::ifstream in(one.source);
      for (std::string line; std::getline(in, line) && line.starts_with("// ");)
        if (const auto colon = line.find(": "); colon != std::string::npos && line.find(' ', 3) == colon + 1) one.marks[line.substr(3, colon - 3)] = line.substr(colon + 2);
    }
  }
  std::sort(found.begin(), found.end(), [](const MarkedCandidate& a, const MarkedCandidate& b) { return a.source < b.source; });
  return found;
}

}  // namespace kforge::tests
