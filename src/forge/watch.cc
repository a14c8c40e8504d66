#include "kforge/watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr std::size_t kMaxFiles = 1'000;   // beside task and candidate
constexpr std::array<std::string_view, 10> kSources{".cu", ".cuh", ".h", ".hpp", ".hh", ".inl", ".cpp", ".cc", ".py", ".toml"};

bool is_source(const std::string& name) {
  return std::any_of(kSources.begin(), kSources.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

class Files {
 public:
  Files(std::string task, std::string candidate) : task_(std::move(task)), candidate_(std::move(candidate)) {}

  // Of each file what an editor changes: which file it is, its size and its time.
  std::string stamps() const {
    std::string out;
    for (const std::string& path : paths()) {
      struct stat s {};
      if (::stat(path.c_str(), &s) == 0) out += fmt::format("{}:{}:{}:{}.{};", path, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    }
    return out;
  }

  std::string content() const {
    Hasher hasher;
    for (const std::string& path : paths()) {
      const auto hash = hash_file(path);
      hasher.field(path).field(hash ? *hash : "");
    }
    return hasher.hex();
  }

  // The one that is not there; "": both are.
  std::string missing() const {
    std::error_code ignored;
    for (const std::string& path : {candidate_, task_})
      if (!fs::is_regular_file(path, ignored)) return path;
    return {};
  }

 private:
  // Other kernels in the candidate's folder are no part of it: of .cu files only the candidate counts.
  std::set<std::string> paths() const {
    std::set<std::string> out{task_, candidate_};
    for (const std::string& file : {task_, candidate_}) {
      const fs::path folder = fs::path(file).parent_path().empty() ? fs::path(".") : fs::path(file).parent_path();
      const auto names = list_directory(folder);
      if (!names) continue;
      for (const std::string& name : *names)
        if (is_source(name) && !name.ends_with(".cu") && out.size() < kMaxFiles) out.insert((folder / name).string());
    }
    return out;
  }

  std::string task_, candidate_;
};

class Watch {
 public:
  explicit Watch(const WatchOptions& options, std::string candidate) : options_(options), files_(options.check.task, std::move(candidate)) {}

  void run() {
    std::string judged = "none yet", reported_missing;
    while (settle()) {
      const std::string gone = files_.missing();
      if (!gone.empty()) {
        if (gone != reported_missing) options_.answer(fail(ErrorCode::bad_input, "the file is gone", {gone, 0, 0}, "it is judged when it is back"));
        reported_missing = gone;
        judged = "none";
      } else if (const std::string content = files_.content(); content != judged) {
        reported_missing.clear();
        judged = judge() ? content : "overtaken";
        continue;
      }
      wait_for_change();
    }
  }

 private:
  bool interrupted() const { return options_.check.interrupted && options_.check.interrupted(); }

  // Waits until the files have been still; false: interrupted.
  bool settle() {
    auto still_since = Clock::now();
    for (std::string before = files_.stamps(); !interrupted();) {
      if (std::chrono::duration<double>(Clock::now() - still_since).count() >= options_.settle_seconds) {
        stamps_ = before;
        return true;
      }
      std::this_thread::sleep_for(std::min<Clock::duration>(kLookEvery, std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.settle_seconds / 2))));
      if (std::string now = files_.stamps(); now != before) {
        before = std::move(now);
        still_since = Clock::now();
      }
    }
    return false;
  }

  void wait_for_change() {
    while (!interrupted() && files_.stamps() == stamps_) std::this_thread::sleep_for(kLookEvery);
  }

  // False: the files changed meanwhile, and the judgement was broken off.
  bool judge() {
    std::atomic<bool> changed{false}, done{false};
    CheckOptions check = options_.check;
    check.interrupted = [&] { return changed.load() || interrupted(); };
    std::thread looker([&] {
      while (!done && !changed) {
        std::this_thread::sleep_for(kLookEvery);
        if (files_.stamps() != stamps_) changed = true;
      }
    });
    const auto verdict = kforge::check(check);
    done = true;
    looker.join();
    if (check.interrupted()) return false;
    options_.answer(verdict);
    return true;
  }

  const WatchOptions& options_;
  Files files_;
  std::string stamps_;
};

}  // namespace

Expected<void> watch(const WatchOptions& options) {
  WatchOptions wanted = options;
  std::error_code ignored;
  if (wanted.check.candidate.empty()) wanted.check.candidate = (fs::path(wanted.check.task).parent_path() / "naive.cu").string();
  if (!fs::is_regular_file(wanted.check.task, ignored)) return fail(ErrorCode::bad_input, "there is no such task file", {wanted.check.task, 0, 0});
  if (options.check.candidate.empty() && !fs::exists(wanted.check.candidate, ignored))
    return fail(ErrorCode::bad_input, "--watch needs a candidate", {wanted.check.task, 0, 0}, "kforge check TASK.toml CANDIDATE.cu --watch");
  Watch(wanted, wanted.check.candidate).run();
  return {};
}

}  // namespace kforge
