// `sweep`: points of a source's own parameters, judged like any candidate.
#include "kforge/sweep.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "forge/point_sweep.h"

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

// The choices of one parameter as a dimension: whole numbers as they are, in order; words by their places.
struct Choices {
  propose::Dimension dimension;
  std::vector<std::string> words;   // of each choice

  Choices(const std::string& name, std::vector<std::string> values) : dimension{name, {}} {
    std::map<std::int64_t, std::string> numbers;
    for (const std::string& value : values)
      if (const auto number = parse_integer(value)) numbers.emplace(*number, value);
    const std::set<std::string> distinct(values.begin(), values.end());
    if (numbers.size() == distinct.size()) {
      for (auto& [number, word] : numbers) dimension.choices.push_back(number), words.push_back(std::move(word));
      return;
    }
    words.assign(distinct.begin(), distinct.end());
    dimension.choices.resize(words.size());
    std::iota(dimension.choices.begin(), dimension.choices.end(), 0);
  }
};

class Sweep {
 public:
  Sweep(const SweepOptions& options, std::string source, std::string folder) : options_(options), source_(std::move(source)), folder_(std::move(folder)) {
    for (const auto& [name, values] : options.parameters) choices_.emplace_back(name, values);
  }

  Expected<std::vector<SweepPoint>> run() {
    std::vector<propose::Dimension> dimensions;
    for (const Choices& c : choices_) dimensions.push_back(c.dimension);
    const propose::Space space(std::move(dimensions), [](const propose::Values&) { return true; });
    wanted_ = std::min<std::size_t>(options_.points, space.size());
    const std::size_t jobs = options_.jobs > 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    const auto swept = forge::sweep_points(space, {options_.check.seed, 0, wanted_, jobs}, [&](std::span<const std::size_t> points) { return judge(space, points); });
    if (!swept) return Unexpected(swept.error());
    const auto rank = [](const SweepPoint& p) { return std::pair(p.status == "accepted" ? 0 : p.status == "rejected" ? 1 : 2, p.us > 0 ? p.us : 1e300); };
    std::stable_sort(points_.begin(), points_.end(), [&](const SweepPoint& a, const SweepPoint& b) { return rank(a) < rank(b); });
    return std::move(points_);
  }

 private:
  bool interrupted() const { return options_.check.interrupted && options_.check.interrupted(); }

  Expected<SweepPoint> made(const std::vector<std::uint16_t>& point) const {
    SweepPoint out{{}, source_, "", "", 0, ""};
    for (std::size_t d = 0; d < choices_.size(); ++d) {
      out.values.emplace_back(choices_[d].dimension.name, choices_[d].words[point[d]]);
      auto changed = with_parameter(out.source, out.values.back().first, out.values.back().second);
      if (!changed) return Unexpected(changed.error());
      out.source = std::move(*changed);
    }
    return out;
  }

  // Side by side.
  Expected<std::vector<double>> judge(const propose::Space& space, std::span<const std::size_t> which) {
    const std::size_t first = points_.size();
    for (const std::size_t point : which) {
      auto one = made(space.choices(point));
      if (!one) return Unexpected(one.error());
      points_.push_back(std::move(*one));
    }
    std::vector<std::thread> threads;
    for (std::size_t i = first + 1; i < points_.size(); ++i) threads.emplace_back([this, i] { judge(i); });
    judge(first);
    for (std::thread& thread : threads) thread.join();
    if (interrupted()) return fail(ErrorCode::limit, "the sweep was cancelled");
    if (error_) return Unexpected(*error_);
    std::vector<double> times;
    for (std::size_t i = first; i < points_.size(); ++i) times.push_back(points_[i].status == "accepted" ? points_[i].us : 0);
    return times;
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
    if (options_.check.progress) options_.check.progress(fmt::format("{} of {} points: {}", ++done_, wanted_, point.status));
  }

  const SweepOptions& options_;
  const std::string source_, folder_;
  std::vector<Choices> choices_;
  std::vector<SweepPoint> points_;
  std::mutex mutex_;
  std::size_t done_ = 0, wanted_ = 0;
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
  for (const auto& [name, values] : options.parameters)   // before anything is judged
    for (const std::string& value : values)
      if (auto changed = with_parameter(*source, name, value); !changed) return Unexpected(changed.error());
  auto folder = TemporaryDirectory::create("kforge-sweep");
  if (!folder) return Unexpected(folder.error());
  return Sweep(options, *source, folder->path().string()).run();
}

}  // namespace kforge
