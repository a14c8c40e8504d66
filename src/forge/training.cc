// Training records (requirement E4): one JSON document a line for every candidate of a run that was judged, right but slow ones and wrong ones included.
//
// Schema kforge.training/1: run, task, task_text, gpu, pattern; candidate, parent, proposer; move {id, title, answers, rule, expected_gain};
// bottleneck (of the parent: what the move was to answer); source, parent_source, flags, ptx, profile (evidence::to_json of the kernels);
// outcome (accepted, far_from_goal, slow, unproven, wrong), why, failed (contracts), us, parent_us, observed_gain, reward
// (forge/standing.h); ptx_summary (instructions by their first word and state space), findings (of the candidate).
//
// Schema kforge.preference/1: run, task, task_text, gpu, pattern; from (source that both were made from, or the parent), findings (of it); chosen and rejected
// {candidate, source, move, outcome, us, why}.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "forge/journal.h"
#include "kforge/learn.h"

namespace kforge {
namespace {

using Json = nlohmann::ordered_json;
using namespace forge;

std::string_view name_of(Grade grade) {
  static constexpr std::string_view kNames[] = {"accepted", "far_from_goal", "slow", "unproven", "wrong"};
  return kNames[static_cast<int>(grade)];
}

Json failed_contracts(const Verdict& verdict) {
  Json out = Json::array();
  for (const ContractReport& c : verdict.contracts)
    if (c.status == Status::failed && c.level == Level::required) out.push_back(c.id);
  return out;
}

Json findings_of(const Verdict& verdict) {
  Json out = Json::array();
  for (const Finding& f : verdict.findings)
    out.push_back({{"contract", f.contract}, {"severity", name(f.severity)}, {"line", f.line}, {"message", f.message}, {"measured", f.measured}, {"required", f.required}, {"advice", f.advice}, {"rule", f.rule}});
  return out;
}

// "ld.global", "bar", "fma": of the PTX's text, how often each stands there.
Json ptx_summary(std::string_view ptx) {
  std::map<std::string, std::uint64_t> counts;
  for (std::string_view line : split_lines(ptx)) {
    line = trim(line);
    if (line.starts_with('@')) line = trim(line.substr(std::min(line.find(' '), line.size())));   // a predicate
    if (line.empty() || !line.ends_with(';') || line.front() < 'a' || line.front() > 'z') continue;
    const auto words = split(line.substr(0, line.find_first_of(" \t;")), '.');
    std::string word(words.front());
    for (std::size_t i = 1; i < words.size(); ++i)
      if (words[i] == "global" || words[i] == "shared" || words[i] == "local" || words[i] == "param") word += "." + std::string(words[i]);
    ++counts[word];
  }
  return counts;
}

Json or_null(double us) { return us > 0 ? Json(us) : Json(nullptr); }

Json record(const Journal& journal, const Entry& entry, const store::VerdictRow& row, const std::string& parent_bottleneck) {
  const Entry* parent = journal.find(entry.candidate.parent);
  const Move& move = entry.candidate.move;
  Json profile = Json::parse(row.profile, nullptr, false);
  return {{"schema", "kforge.training/1"}, {"run", journal.row().id}, {"task", journal.row().task_name}, {"task_text", journal.row().task_text}, {"gpu", journal.row().gpu}, {"pattern", journal.plan().guess.pattern},
          {"candidate", entry.candidate.id}, {"parent", entry.candidate.parent}, {"proposer", entry.candidate.proposer},
          {"move", {{"id", move.id}, {"title", move.title}, {"answers", move.answers}, {"rule", move.rule}, {"expected_gain", move.expected_gain}}},
          {"bottleneck", parent_bottleneck}, {"source", entry.candidate.source}, {"parent_source", parent ? Json(parent->candidate.source) : Json(nullptr)},
          {"flags", entry.candidate.flags}, {"ptx", row.ptx}, {"ptx_summary", ptx_summary(row.ptx)}, {"findings", findings_of(entry.verdict)}, {"profile", profile.is_discarded() ? Json(nullptr) : profile.value("kernels", Json::array())},
          {"outcome", name_of(entry.standing.grade)}, {"why", entry.verdict.why}, {"failed", failed_contracts(entry.verdict)}, {"us", or_null(entry.standing.us)},
          {"parent_us", or_null(parent ? parent->standing.us : 0)}, {"observed_gain", or_null(entry.observed_gain)}, {"reward", reward_of(entry.standing, journal.baseline_us())}};
}

constexpr double kClearlyFaster = 1.05;
constexpr std::size_t kMostPairsOfOne = 8;   // that one kernel is preferred in

Expected<std::string> records_of(store::Store& store, const store::RunRow& row) {
  const auto journal = Journal::reopen(store, row);
  if (!journal) return Unexpected(journal.error());
  const auto verdicts = store.verdicts(row.id);
  if (!verdicts) return Unexpected(verdicts.error());
  std::map<std::string, const store::VerdictRow*> by_id;
  for (const store::VerdictRow& v : *verdicts) by_id[v.candidate] = &v;
  std::string out;
  for (const Entry& entry : journal->entries()) {
    const auto found = by_id.find(entry.candidate.id), parent = by_id.find(entry.candidate.parent);
    if (found == by_id.end()) continue;
    out += record(*journal, entry, *found->second, parent == by_id.end() ? "" : parent->second->bottleneck).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return out;
}

// Right before wrong, else clearly faster. What could not be proven is neither.
bool is_preferred(const Standing& a, const Standing& b) {
  if (a.grade == Grade::unproven || b.grade == Grade::unproven || !a.right()) return false;
  if (!b.right()) return true;
  return a.grade <= b.grade && a.us > 0 && b.us >= kClearlyFaster * a.us;
}

Json side(const Entry& entry) {
  return {{"candidate", entry.candidate.id}, {"source", entry.candidate.source}, {"move", entry.candidate.move.title}, {"outcome", name_of(entry.standing.grade)}, {"us", or_null(entry.standing.us)}, {"why", entry.verdict.why}};
}

Expected<std::string> preferences_of(store::Store& store, const store::RunRow& row) {
  const auto journal = Journal::reopen(store, row);
  if (!journal) return Unexpected(journal.error());
  std::string out;
  for (const Entry& chosen : journal->entries()) {
    if (!chosen.judged) continue;
    std::size_t pairs = 0;
    for (const Entry& rejected : journal->entries()) {
      const bool siblings = chosen.candidate.parent == rejected.candidate.parent;   // without a parent: both answer the task itself
      const bool kin = siblings || chosen.candidate.parent == rejected.candidate.id || rejected.candidate.parent == chosen.candidate.id;
      if (!rejected.judged || &chosen == &rejected || !kin || pairs == kMostPairsOfOne || !is_preferred(chosen.standing, rejected.standing)) continue;
      ++pairs;
      const Entry* from = siblings ? journal->find(chosen.candidate.parent) : rejected.candidate.id == chosen.candidate.parent ? &rejected : &chosen;
      const Json pair = {{"schema", "kforge.preference/1"}, {"run", row.id}, {"task", row.task_name}, {"task_text", row.task_text}, {"gpu", row.gpu}, {"pattern", journal->plan().guess.pattern},
                         {"from", from ? Json(from->candidate.source) : Json(nullptr)}, {"findings", from ? findings_of(from->verdict) : Json::array()}, {"chosen", side(chosen)}, {"rejected", side(rejected)}};
      out += pair.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
  }
  return out;
}

Expected<std::string> of_runs(const std::string& folder, const std::vector<std::string>& runs, Expected<std::string> (*write)(store::Store&, const store::RunRow&)) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  std::vector<store::RunRow> rows;
  for (const std::string& id : runs) {
    auto row = store->run(id);
    if (!row) return Unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  if (runs.empty()) {
    auto all = store->runs();
    if (!all) return Unexpected(all.error());
    rows = std::move(*all);
  }
  std::string out;
  for (const store::RunRow& row : rows) {
    auto lines = write(*store, row);
    if (!lines) return lines;
    out += *lines;
  }
  return out;
}

}  // namespace

Expected<std::string> dataset_records(const std::string& folder, const std::vector<std::string>& runs) { return of_runs(folder, runs, records_of); }
Expected<std::string> dataset_preferences(const std::string& folder, const std::vector<std::string>& runs) { return of_runs(folder, runs, preferences_of); }
Expected<std::string> training_records(const std::string& folder, const std::string& id) { return of_runs(folder, {id}, records_of); }

}  // namespace kforge
