#include "knowledge/context_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace kforge::knowledge {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTextBytes = 8ull << 20, kMaxPdfBytes = 64ull << 20, kMaxAllBytes = 512ull << 20;
constexpr std::size_t kMaxFiles = 20'000, kMaxNotes = 50;

struct Ending {
  std::string_view ending;
  ContextKind kind;
};
constexpr std::array kEndings{
    Ending{".md", ContextKind::markdown}, Ending{".markdown", ContextKind::markdown}, Ending{".txt", ContextKind::text}, Ending{".rst", ContextKind::text},
    Ending{".html", ContextKind::html},   Ending{".htm", ContextKind::html},          Ending{".xhtml", ContextKind::html}, Ending{".pdf", ContextKind::pdf},
    Ending{".cu", ContextKind::code},     Ending{".cuh", ContextKind::code},          Ending{".ptx", ContextKind::code}, Ending{".inl", ContextKind::code},
    Ending{".h", ContextKind::code},      Ending{".hh", ContextKind::code},           Ending{".hpp", ContextKind::code}, Ending{".hxx", ContextKind::code},
    Ending{".c", ContextKind::code},      Ending{".cc", ContextKind::code},           Ending{".cpp", ContextKind::code}, Ending{".cxx", ContextKind::code},
};

std::optional<ContextKind> kind_of(const std::string& name) {
  const std::string lower = to_lower(name);
  for (const Ending& row : kEndings)
    if (lower.ends_with(row.ending)) return row.kind;
  return std::nullopt;
}

class Walker {
 public:
  explicit Walker(const std::vector<std::string>& roots) : roots_(roots) {}

  ContextWalk walk() {
    for (const std::string& root : roots_) folder(root);
    while (!waiting_.empty()) {
      const std::string next = std::move(waiting_.back());
      waiting_.pop_back();
      look_into(next);
    }
    std::sort(out_.files.begin(), out_.files.end(), [](const ContextFile& a, const ContextFile& b) { return a.path < b.path; });
    if (unnamed_ > 0) out_.notes.push_back(fmt::format("{} more were left out", unnamed_));
    return std::move(out_);
  }

 private:
  void note(const std::string& path, std::string_view why) {
    if (out_.notes.size() < kMaxNotes) out_.notes.push_back(fmt::format("{}: {}", path, why));
    else ++unnamed_;
  }

  bool inside(const std::string& path) const {
    return std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) { return path == root || path.starts_with(root == "/" ? root : root + "/"); });
  }

  void folder(const std::string& path) {
    if (seen_.insert(path).second) waiting_.push_back(path);   // a loop of links ends here
  }

  void look_into(const std::string& path) {
    const auto names = list_directory(path);
    if (!names) return note(path, names.error().message);
    for (const std::string& name : *names)
      if (!name.starts_with('.')) entry(path == "/" ? "/" + name : path + "/" + name, name);
  }

  void entry(std::string path, const std::string& name) {
    std::error_code failed;
    if (fs::is_symlink(path, failed)) {
      const fs::path target = fs::canonical(path, failed);
      if (failed) return note(path, "a link that leads nowhere");
      if (!inside(target.string())) return note(path, "a link out of the folder");
      path = target.string();
    }
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return note(path, "it cannot be looked at");
    if (S_ISDIR(status.st_mode)) return folder(path);
    const auto kind = kind_of(name);
    if (!kind || !seen_.insert(path).second) return;
    if (!S_ISREG(status.st_mode)) return note(path, "no regular file");
    file({path, *kind, static_cast<std::uint64_t>(status.st_size), std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec});
  }

  void file(ContextFile found) {
    const std::uint64_t most = found.kind == ContextKind::pdf ? kMaxPdfBytes : kMaxTextBytes;
    if (found.bytes > most) return note(found.path, fmt::format("{} are more than {}", human_bytes(static_cast<double>(found.bytes)), human_bytes(static_cast<double>(most))));
    if (out_.files.size() == kMaxFiles || bytes_ + found.bytes > kMaxAllBytes)
      return note(found.path, fmt::format("the folders hold more than {} files or {}", kMaxFiles, human_bytes(static_cast<double>(kMaxAllBytes))));
    bytes_ += found.bytes;
    out_.files.push_back(std::move(found));
  }

  const std::vector<std::string>& roots_;
  ContextWalk out_;
  std::set<std::string> seen_;
  std::vector<std::string> waiting_;
  std::uint64_t bytes_ = 0;
  std::size_t unnamed_ = 0;
};

}  // namespace

ContextWalk walk_context(const std::vector<std::string>& folders) { return Walker(folders).walk(); }

}  // namespace kforge::knowledge
