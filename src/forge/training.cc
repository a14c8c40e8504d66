// Training records (requirement E4): one JSON document a line for every candidate of a run that was judged, right but slow ones and wrong ones included.
//
// Schema kforge.training/1: run, task, gpu, pattern; candidate, parent, proposer; move {id, title, answers, rule, expected_gain};
// bottleneck (of the parent: what the move was to answer); source, parent_source, flags, ptx, profile (evidence::to_json of the kernels);
// outcome (accepted, far_from_goal, slow, unproven, wrong), why, failed (contracts), us, parent_us, observed_gain, reward
// (forge/standing.h).
#include <nlohmann/json.hpp>

#include "forge/journal.h"

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

Json or_null(double us) { return us > 0 ? Json(us) : Json(nullptr); }

Json record(const Journal& journal, const Entry& entry, const store::VerdictRow& row, const std::string& parent_bottleneck) {
  const Entry* parent = journal.find(entry.candidate.parent);
  const Move& move = entry.candidate.move;
  Json profile = Json::parse(row.profile, nullptr, false);
  return {{"schema", "kforge.training/1"}, {"run", journal.row().id}, {"task", journal.row().task_name}, {"gpu", journal.row().gpu}, {"pattern", journal.plan().guess.pattern},
          {"candidate", entry.candidate.id}, {"parent", entry.candidate.parent}, {"proposer", entry.candidate.proposer},
          {"move", {{"id", move.id}, {"title", move.title}, {"answers", move.answers}, {"rule", move.rule}, {"expected_gain", move.expected_gain}}},
          {"bottleneck", parent_bottleneck}, {"source", entry.candidate.source}, {"parent_source", parent ? Json(parent->candidate.source) : Json(nullptr)},
          {"flags", entry.candidate.flags}, {"ptx", row.ptx}, {"profile", profile.is_discarded() ? Json(nullptr) : profile.value("kernels", Json::array())},
          {"outcome", name_of(entry.standing.grade)}, {"why", entry.verdict.why}, {"failed", failed_contracts(entry.verdict)}, {"us", or_null(entry.standing.us)},
          {"parent_us", or_null(parent ? parent->standing.us : 0)}, {"observed_gain", or_null(entry.observed_gain)}, {"reward", reward_of(entry.standing, journal.baseline_us())}};
}

}  // namespace

Expected<std::string> training_records(const std::string& folder, const std::string& id) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  const auto row = store->run(id);
  if (!row) return Unexpected(row.error());
  const auto journal = Journal::reopen(*store, *row);
  if (!journal) return Unexpected(journal.error());
  const auto verdicts = store->verdicts(row->id);
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

}  // namespace kforge
