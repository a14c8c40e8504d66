// Recorded pairs: written, read, judged again, compared.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "kforge/export.h"
#include "kforge/report.h"
#include "report/json_parts.h"
#include "report/json_reader.h"
#include "report/read_parts.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kSuffix = ".ci.json";

std::string safe_name(std::string_view text) {
  std::string out;
  for (const char c : text) out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ? c : '_';
  return out;
}

// A path that still holds when the project is cloned elsewhere.
std::string from_folder(const std::string& path, const fs::path& folder) {
  std::error_code error;
  const fs::path relative = fs::relative(path, folder, error);
  return error || relative.empty() ? fs::absolute(path, error).string() : relative.string();
}

std::string in_folder(const std::string& path, const fs::path& folder) { return fs::path(path).is_absolute() ? path : (folder / path).lexically_normal().string(); }

std::string record_text(const RecordedPair& pair) {
  return report::dump(Json{{"schema", "kforge.ci/1"}, {"name", pair.name}, {"task", pair.task}, {"candidate", pair.candidate}, {"gpu", pair.gpu}, {"only_correctness", pair.only_correctness}, {"sources", pair.sources},
                           {"expected", report::verdict_json(pair.expected)}});
}

Expected<RecordedPair> read_record(const fs::path& path) {
  const auto text = read_file(path, 64 << 20);
  if (!text) return Unexpected(text.error());
  const auto json = report::parse_json(*text, path.string());
  if (!json) return Unexpected(json.error());
  report::JsonReader reader(**json, path.string());
  RecordedPair pair;
  reader.require("schema", "kforge.ci/1");
  reader.read("name", pair.name);
  reader.read("task", pair.task);
  reader.read("candidate", pair.candidate);
  reader.read("gpu", pair.gpu);
  reader.read("only_correctness", pair.only_correctness);
  reader.read("sources", pair.sources);
  reader.in_object("expected", [&](report::JsonReader& verdict) { report::read_into(verdict, pair.expected); });
  if (auto done = reader.done(); !done) return Unexpected(done.error());
  if (pair.task.empty() || pair.candidate.empty() || pair.expected.contracts.empty())
    return fail(ErrorCode::bad_input, "the record lacks its task, candidate or verdict", {path.string(), 0, 0}, "kforge ci FOLDER --record TASK CANDIDATE writes it anew");
  return pair;
}

// passed and off are best, unknown lies between, failed is worst.
int rank(Status status) { return status == Status::failed ? 2 : status == Status::unknown || status == Status::skipped ? 1 : 0; }
int rank(VerdictStatus status) { return status == VerdictStatus::accepted ? 0 : status == VerdictStatus::error ? 1 : 2; }

double us_of(const Verdict& verdict) { return verdict.time && verdict.time->us > 0 ? verdict.time->us : 0; }

// "" when one cannot be read.
std::string sources_of(const CheckOptions& options) {
  const auto task = hash_file(options.task), candidate = hash_file(options.candidate);
  return task && candidate ? *task + *candidate : "";
}

// A pair that was rejected and is accepted now, with the same sources, may be a wrong accept: the worst regression.
void compare(PairResult& result, const Verdict& now, double slower, bool same_sources) {
  const Verdict& then = result.pair.expected;
  const bool accepts_the_same = same_sources && then.status == VerdictStatus::rejected && now.status == VerdictStatus::accepted;
  bool worse = rank(now.status) > rank(then.status) || accepts_the_same, better = rank(now.status) < rank(then.status);
  if (accepts_the_same) result.reasons.push_back("the same sources were rejected: the judge has changed, and it may accept what is wrong");
  if (now.status != then.status) result.reasons.push_back(fmt::format("the verdict was {} and is {}: {}", name(then.status), name(now.status), now.why));
  for (const ContractReport& was : then.contracts) {
    const auto is = std::find_if(now.contracts.begin(), now.contracts.end(), [&](const ContractReport& c) { return c.id == was.id; });
    const Status status = is == now.contracts.end() ? Status::unknown : is->status;
    if (rank(status) == rank(was.status)) continue;
    const bool counts = was.level == Level::required || (is != now.contracts.end() && is->level == Level::required);
    result.reasons.push_back(fmt::format("{} ({}) was {} and is {}{}", was.id, name(was.level), name(was.status), name(status), is == now.contracts.end() || is->measured.empty() ? "" : ": " + is->measured));
    worse |= counts && rank(status) > rank(was.status);
    better |= counts && rank(status) < rank(was.status);
  }
  result.us = us_of(now);
  result.expected_us = us_of(then);
  if (result.us > 0 && result.expected_us > 0 && now.time->source == then.time->source) {
    const double factor = result.us / result.expected_us;
    if (factor > 1 + slower) worse = true, result.reasons.push_back(fmt::format("{} {:.4g} us took {:.4g} us: {:.0f}% slower", then.time->source, result.expected_us, result.us, 100 * (factor - 1)));
    if (factor < 1 / (1 + slower)) better = true, result.reasons.push_back(fmt::format("{} {:.4g} us took {:.4g} us: {:.0f}% faster", then.time->source, result.expected_us, result.us, 100 * (1 - factor)));
  } else if (result.expected_us > 0) {
    worse = true;
    result.reasons.push_back(fmt::format("the record has a {} time and there is none now", then.time->source));
  }
  result.outcome = worse ? PairOutcome::regressed : better ? PairOutcome::better : PairOutcome::same;
}

PairResult judge_again(RecordedPair pair, const fs::path& folder, double slower, const JudgeFunction& judge) {
  PairResult result;
  const auto start = std::chrono::steady_clock::now();
  CheckOptions options;
  options.task = in_folder(pair.task, folder);
  options.candidate = in_folder(pair.candidate, folder);
  options.gpu = pair.gpu;
  options.only_correctness = pair.only_correctness;
  result.pair = std::move(pair);
  const auto now = judge(options);
  if (now) {
    compare(result, *now, slower, !result.pair.sources.empty() && sources_of(options) == result.pair.sources);
  } else {
    result.outcome = PairOutcome::failed;
    result.reasons.push_back(to_string(now.error()));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

std::string_view name(PairOutcome outcome) {
  static constexpr std::string_view kNames[] = {"same", "better", "regressed", "failed"};
  return kNames[static_cast<int>(outcome)];
}

bool CiReport::passed() const {
  return !pairs.empty() && std::none_of(pairs.begin(), pairs.end(), [](const PairResult& p) { return p.outcome == PairOutcome::regressed || p.outcome == PairOutcome::failed; });
}

Expected<std::string> record_pair(const std::string& folder, const std::string& name, const CheckOptions& options, const JudgeFunction& judge) {
  const auto verdict = judge(options);
  if (!verdict) return Unexpected(verdict.error());
  if (auto made = make_directories(folder); !made) return Unexpected(made.error());
  RecordedPair pair;
  pair.name = safe_name(name.empty() ? verdict->task + "-" + fs::path(options.candidate).stem().string() : name);
  pair.task = from_folder(options.task, folder);
  pair.candidate = from_folder(options.candidate, folder);
  pair.gpu = verdict->gpu;
  pair.only_correctness = options.only_correctness;
  pair.sources = sources_of(options);
  pair.expected = *verdict;
  const fs::path path = fs::path(folder) / (pair.name + std::string(kSuffix));
  if (auto written = write_file_atomic(path, record_text(pair)); !written) return Unexpected(written.error());
  return path.string();
}

Expected<CiReport> run_ci(const std::string& folder, double slower, const JudgeFunction& judge, const std::function<void(std::string_view)>& progress) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return fail(ErrorCode::bad_input, "no such folder", {folder, 0, 0}, "kforge ci FOLDER --record TASK CANDIDATE makes it");
  const auto names = list_directory(folder);
  if (!names) return Unexpected(names.error());
  std::vector<RecordedPair> pairs;
  for (const std::string& file : *names) {
    if (!file.ends_with(kSuffix)) continue;
    auto pair = read_record(fs::path(folder) / file);
    if (!pair) return Unexpected(pair.error());
    pairs.push_back(std::move(*pair));
  }
  if (pairs.empty()) return fail(ErrorCode::bad_input, "the folder has no record (*.ci.json): nothing would be judged", {folder, 0, 0}, "kforge ci FOLDER --record TASK CANDIDATE writes one");
  CiReport report;
  for (RecordedPair& pair : pairs) {
    if (progress) progress(fmt::format("{} of {}: {}", report.pairs.size() + 1, pairs.size(), pair.name));
    report.pairs.push_back(judge_again(std::move(pair), folder, slower, judge));
  }
  return report;
}

}  // namespace kforge
