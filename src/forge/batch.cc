// `check` on a folder of candidates.
#include "kforge/check.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "build/compile_server.h"
#include "forge/fingerprint.h"
#include "forge/judge_call.h"
#include "forge/target.h"
#include "kforge/report.h"
#include "task/task.h"
#include "trial/gpu_watch.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

// Equal keys, equal verdicts; "" where the candidate's text does not say what it is.
std::string key_of(const CheckOptions& o, const forge::Surroundings& around, const std::string& source) {
  if (forge::includes_own_files(source)) return {};
  Hasher hasher;
  hasher.field("batch").field(source).field(around.task_text).field(around.reference).field(around.toolkit).field(around.program);
  hasher.field(o.gpu).field(o.device).field(fmt::format("{} {} {} {} {} {} {} {} {} {}", o.only_correctness, o.seed, o.fresh_seed, o.call_seconds, o.call_instructions, o.measure_instructions, o.time_seconds, o.warm, o.sanitize, o.counters));
  const char* off = std::getenv("KFORGE_DEFENCES_OFF");
  hasher.field(off ? off : "");
  return hasher.hex();
}

BatchRow row_of(const std::string& name, const Verdict& verdict, bool kept) {
  return {name, std::string(kforge::name(verdict.status)), verdict.why, verdict.time ? verdict.time->us : 0, verdict.time ? verdict.time->source : "", kept};
}

class Batch {
 public:
  explicit Batch(const BatchOptions& options) : options_(options) {}

  Expected<std::vector<BatchRow>> run() {
    const auto task = task::read_task(options_.check.task);
    if (!task) return Unexpected(task.error());
    auto around = forge::surroundings_of(*task);
    if (!around) return Unexpected(around.error());
    around_ = std::move(*around);
    const auto names = list_directory(options_.folder);
    if (!names) return fail(ErrorCode::bad_input, names.error().message, {options_.folder, 0, 0});
    for (const std::string& name : *names)
      if (name.ends_with(".cu")) names_.push_back(name);
    if (names_.empty())
      return fail(ErrorCode::bad_input, "there are no candidates in this folder: files named *.cu that lie in it, not below it", {options_.folder, 0, 0},
                  "name the folder in which they lie, or one candidate: kforge check TASK.toml CANDIDATE.cu");
    if (options_.out.empty()) return fail(ErrorCode::bad_input, "many candidates need a folder for their verdicts", {}, "add --out FOLDER");
    if (auto made = make_directories(options_.out); !made) return Unexpected(made.error());
    auto devices = forge::device_words(options_.check.device);
    if (!devices) return Unexpected(devices.error());
    devices_ = std::move(*devices);
    rows_.resize(names_.size());
    compile_server_.emplace(nullptr, names_.size() > 1);
    work();
    if (error_) return Unexpected(*error_);
    return rows_;
  }

 private:
  void work() {
    const std::size_t jobs = std::max<std::size_t>(options_.jobs > 0 ? options_.jobs : std::thread::hardware_concurrency(), devices_.size());
    std::atomic<std::size_t> next{0};
    const auto turn = [&](std::size_t thread) {
      for (std::size_t i = next++; i < names_.size(); i = next++)
        if (auto done = judge(i, devices_[thread % devices_.size()]); !done) {
          const std::lock_guard lock(mutex_);
          if (!error_) error_ = done.error();
          next = names_.size();
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < std::min(jobs, names_.size()); ++t) threads.emplace_back(turn, t);
    turn(0);
    for (std::thread& thread : threads) thread.join();
  }

  Expected<void> judge(std::size_t i, const std::string& device) {
    const std::string& name = names_[i];
    const fs::path source = fs::path(options_.folder) / name, verdict_file = fs::path(options_.out) / (name + ".json"), key_file = fs::path(options_.out) / (name + ".key");
    const auto text = read_file(source, 64ull << 20);
    const std::string key = text ? key_of(options_.check, around_, *text) : "";
    if (const auto known = read_file(key_file, 4096); known && !key.empty() && *known == key)
      if (const auto json = read_file(verdict_file))
        if (const auto verdict = read_verdict(*json, verdict_file.string())) {
          rows_[i] = row_of(name, *verdict, true);
          say(name, "kept: " + rows_[i].status);
          return {};
        }
    CheckOptions options = options_.check;
    options.candidate = source.string();
    options.device = device;
    options.progress = [&](std::string_view what) { say(name, what); };
    const auto judged = forge::judge_call(options, &*compile_server_);
    if (!judged && trial::says_not_well(judged.error())) return Unexpected(judged.error());
    if (!judged) {   // of the machine or the task: the next call tries again
      rows_[i] = {name, "failed", to_string(judged.error()), 0, "", false};
      say(name, rows_[i].why);
      return {};
    }
    const Verdict& verdict = judged->verdict;
    rows_[i] = row_of(name, verdict, false);
    if (auto written = write_file_atomic(verdict_file, to_json(verdict)); !written) return written;
    // After the verdict: what was cut off has no key. Nor has what could not be established: that may be the machine's doing.
    if (!key.empty() && verdict.status != VerdictStatus::error)
      if (auto written = write_file_atomic(key_file, key); !written) return written;
    say(name, rows_[i].status + ": " + rows_[i].why);
    return {};
  }

  void say(const std::string& name, std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (options_.progress) options_.progress(name, text);
  }

  const BatchOptions& options_;
  forge::Surroundings around_;
  std::optional<build::CompileServer> compile_server_;
  std::vector<std::string> names_, devices_;   // a thread judges on one of them; a GPU times one candidate at a time (trial/time.h)
  std::vector<BatchRow> rows_;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Expected<std::vector<BatchRow>> check_folder(const BatchOptions& options) { return Batch(options).run(); }

}  // namespace kforge
