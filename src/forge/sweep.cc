// `sweep`: points of a source's own parameters, judged like any candidate.
#include "kforge/sweep.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_value(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) { return is_name_char(c) || c == '-' || c == '.'; });
}

struct Span { std::size_t begin, length; };

// Where the value stands in a line that defines the parameter.
std::optional<Span> value_in(std::string_view line, std::string_view name) {
  const auto words = split_words(line);
  if (words.size() >= 3 && words[0] == "#define" && words[1] == name) return Span{static_cast<std::size_t>(words[2].data() - line.data()), words[2].size()};
  if (std::none_of(words.begin(), words.end(), [](std::string_view word) { return word == "constexpr" || word == "const"; })) return std::nullopt;
  for (std::size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at > 0 && is_name_char(line[at - 1])) || (end < line.size() && is_name_char(line[end]))) continue;
    const std::size_t equals = line.find_first_not_of(' ', end);
    if (equals == std::string_view::npos || line[equals] != '=' || line.substr(equals).starts_with("==")) continue;
    const std::size_t begin = line.find_first_not_of(' ', equals + 1), stop = line.find_first_of(";,", equals);
    if (begin != std::string_view::npos && stop != std::string_view::npos && begin < stop) return Span{begin, trim(line.substr(begin, stop - begin)).size()};
  }
  return std::nullopt;
}

using Values = std::vector<std::pair<std::string, std::string>>;

// All points, or a seeded choice of them; none twice.
std::vector<Values> points_of(const SweepOptions& options) {
  std::uint64_t all = 1;
  for (const auto& [name, values] : options.parameters) all = std::min<std::uint64_t>(all * values.size(), 1'000'000);
  std::vector<std::uint64_t> order(all);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(options.check.seed);
  if (all > options.points) std::shuffle(order.begin(), order.end(), random);
  order.resize(std::min<std::uint64_t>(all, options.points));
  std::vector<Values> out;
  for (std::uint64_t index : order) {
    Values& point = out.emplace_back();
    for (const auto& [name, values] : options.parameters) {
      point.emplace_back(name, values[index % values.size()]);
      index /= values.size();
    }
  }
  return out;
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, std::string folder) : options_(options), folder_(std::move(folder)) {}

  Expected<std::vector<SweepPoint>> run(std::vector<SweepPoint> points) {
    points_ = std::move(points);
    const std::size_t jobs = options_.jobs > 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < std::min(jobs, points_.size()); ++t) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    if (interrupted()) return fail(ErrorCode::limit, "the sweep was cancelled");
    if (error_) return Unexpected(*error_);
    const auto rank = [](const SweepPoint& p) { return std::pair(p.status == "accepted" ? 0 : p.status == "rejected" ? 1 : 2, p.us > 0 ? p.us : 1e300); };
    std::stable_sort(points_.begin(), points_.end(), [&](const SweepPoint& a, const SweepPoint& b) { return rank(a) < rank(b); });
    return std::move(points_);
  }

 private:
  bool interrupted() const { return options_.check.interrupted && options_.check.interrupted(); }

  void work() {
    for (std::size_t i = next_++; i < points_.size() && !interrupted(); i = next_++) judge(i);
  }

  void judge(std::size_t i) {
    SweepPoint& point = points_[i];
    CheckOptions check = options_.check;
    check.progress = nullptr;
    const fs::path home = fs::path(folder_) / std::to_string(i);
    check.candidate = (home / fs::path(options_.check.candidate).filename()).string();
    auto ready = make_directories(home);
    if (ready) ready = write_file_atomic(check.candidate, point.source);
    const auto verdict = ready ? kforge::check(check) : Expected<Verdict>(Unexpected(ready.error()));
    if (verdict) {
      point.status = name(verdict->status);
      point.why = verdict->why;
      if (verdict->time) point.us = verdict->time->us, point.time_source = verdict->time->source;
    } else {
      point.status = "failed";
      point.why = to_string(verdict.error());
    }
    const std::lock_guard lock(mutex_);
    if (!verdict && verdict.error().code == ErrorCode::bad_input) error_ = verdict.error();   // of the call: every point's
    if (options_.check.progress) options_.check.progress(fmt::format("{} of {} points: {}", ++done_, points_.size(), point.status));
  }

  const SweepOptions& options_;
  std::string folder_;
  std::vector<SweepPoint> points_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Expected<std::string> with_parameter(std::string_view source, const std::string& name, const std::string& value) {
  if (!is_value(value)) return fail(ErrorCode::bad_input, fmt::format("the parameter {} cannot be \"{}\"", name, value.substr(0, 64)), {}, "a value is one integer or word");
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_char)) return fail(ErrorCode::bad_input, "this is no parameter's name: \"" + name.substr(0, 64) + "\"");
  std::optional<Span> found;
  for (const std::string_view line : split_lines(source))
    if (const auto span = value_in(line, name)) {
      if (found) return fail(ErrorCode::bad_input, "the source defines the parameter " + name + " more than once");
      found = Span{static_cast<std::size_t>(line.data() - source.data()) + span->begin, span->length};
    }
  if (!found) return fail(ErrorCode::bad_input, "the source does not define the parameter " + name, {}, fmt::format("one line \"constexpr int {} = 16;\" or \"#define {} 16\"", name, name));
  std::string out(source);
  return out.replace(found->begin, found->length, value);
}

Expected<std::vector<SweepPoint>> sweep(const SweepOptions& options) {
  const auto source = read_file(options.check.candidate, 4 << 20);
  if (!source) return Unexpected(source.error());
  if (options.parameters.empty() || options.points == 0) return fail(ErrorCode::bad_input, "a sweep needs parameters with values, and points to judge");
  std::vector<SweepPoint> points;
  for (Values& values : points_of(options)) {
    std::string text = *source;
    for (const auto& [name, value] : values) {
      auto changed = with_parameter(text, name, value);
      if (!changed) return Unexpected(changed.error());
      text = std::move(*changed);
    }
    points.push_back({std::move(values), std::move(text), "", "", 0, ""});
  }
  auto folder = TemporaryDirectory::create("kforge-sweep");
  if (!folder) return Unexpected(folder.error());
  return Sweep(options, folder->path().string()).run(std::move(points));
}

}  // namespace kforge
