#include "forge/journal.h"

#include <algorithm>

#include "base/hash.h"
#include "evidence/launch_log.h"
#include "forge/screen.h"
#include "judge/findings.h"
#include "kforge/report.h"

namespace kforge::forge {
namespace {

std::string profile_text(const std::vector<evidence::KernelProfile>& kernels) {
  evidence::LaunchLog log;
  log.kernels = kernels;
  return evidence::to_json(log);
}

// A profile of another version of this program may not read: then there is none.
std::vector<evidence::KernelProfile> profiles_of(const std::string& text) {
  evidence::LaunchLog log;
  std::string error;
  return evidence::from_json(text, log, error) ? std::move(log.kernels) : std::vector<evidence::KernelProfile>{};
}

constexpr const char* kSharedRung = "same code";

// What compilers do before the first and for each further byte of PTX, in units of the former. Seconds would differ from run to run.
double cost_of(const std::string& ptx) {
  constexpr double kBytesOfOneUnit = 64 << 10;
  return ptx.empty() ? 0 : 1 + static_cast<double>(ptx.size()) / kBytesOfOneUnit;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  RunRecord record;
  record.plan = plan;
  return to_json(record);
}

Expected<Plan> plan_of(const std::string& text) {
  return read_run(text, "plan of the run").map([](RunRecord record) { return std::move(record.plan); });
}

Expected<Journal> Journal::begin(store::Store& store, store::RunRow row, const Plan& plan) {
  row.plan = plan_text(plan);
  Journal journal(store, std::move(row));
  journal.plan_ = plan;
  if (auto begun = store.begin_run(journal.row_); !begun) return Unexpected(begun.error());
  return journal;
}

Expected<Journal> Journal::reopen(store::Store& store, store::RunRow row) {
  Journal journal(store, std::move(row));
  auto plan = plan_of(journal.row_.plan);
  if (!plan) return Unexpected(plan.error());
  journal.plan_ = std::move(*plan);
  if (auto loaded = journal.load(); !loaded) return Unexpected(loaded.error());
  return journal;
}

Expected<void> Journal::load() {
  auto candidates = store_->candidates(row_.id);
  if (!candidates) return Unexpected(candidates.error());
  for (store::CandidateRow& c : *candidates) {
    rounds_ = std::max(rounds_, c.round + 1);
    Entry& entry = entries_.emplace_back();
    entry.candidate = std::move(c.candidate);
    entry.round = c.round;
    entry.place = c.place;
    entry.purpose = std::move(c.purpose);
  }
  const auto verdicts = store_->verdicts(row_.id);
  if (!verdicts) return Unexpected(verdicts.error());
  for (const store::VerdictRow& row : *verdicts) {
    Entry* entry = find(row.candidate);
    if (!entry) continue;
    if (auto taken = take_verdict(*entry, row); !taken) return taken;
    entry->observed_gain = row.observed_gain;
    entry->reused = row.reused;
  }
  const auto verifications = store_->verifications(row_.id);
  if (!verifications) return Unexpected(verifications.error());
  for (const store::VerificationRow& row : *verifications) {
    Entry* entry = find(row.candidate);
    auto verdict = read_verdict(row.verdict, "the store");
    if (!verdict) return Unexpected(verdict.error());
    if (!entry) continue;
    entry->verified = verdict->status == VerdictStatus::accepted;
    if (entry->verified) continue;
    entry->verdict = std::move(*verdict);
    entry->standing = standing_of(entry->verdict);
  }
  return {};
}

Entry* Journal::find(const std::string& id) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.candidate.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

const Entry* Journal::find(const std::string& id) const { return const_cast<Journal*>(this)->find(id); }

Expected<void> Journal::set_plan(const Plan& plan) {
  plan_ = plan;
  row_.plan = plan_text(plan);
  return save_row();
}

Expected<void> Journal::add_round(const std::vector<Candidate>& candidates, const std::string& purpose) {
  std::vector<store::CandidateRow> rows;
  for (const Candidate& candidate : candidates)
    if (!find(candidate.id)) rows.push_back({candidate, rounds_, rows.size(), purpose});
  if (auto added = store_->add_candidates(row_.id, rows); !added) return added;
  for (store::CandidateRow& row : rows) {
    Entry& entry = entries_.emplace_back();
    entry.candidate = std::move(row.candidate);
    entry.round = row.round;
    entry.place = row.place;
    entry.purpose = purpose;
  }
  ++rounds_;
  return {};
}

void Journal::note_gain(Entry& entry) const {
  const Entry* parent = find(entry.candidate.parent);
  if (parent && parent->judged && parent->standing.us > 0 && entry.standing.us > 0 && entry.standing.right()) entry.observed_gain = parent->standing.us / entry.standing.us;
}

Expected<void> Journal::take_verdict(Entry& entry, const store::VerdictRow& row) {
  auto verdict = read_verdict(row.verdict, "the store");
  if (!verdict) return Unexpected(verdict.error());
  entry.verdict = std::move(*verdict);
  entry.standing = standing_of(entry.verdict);
  entry.profiles = profiles_of(row.profile);
  entry.started_s = row.started_s;
  entry.build_s = row.build_s;
  entry.judge_s = row.judge_s;
  entry.cost = cost_of(row.ptx);
  entry.ptx_hash = row.ptx.empty() ? "" : hash_hex(row.ptx);
  entry.judged = true;
  return {};
}

Expected<void> Journal::add_verdict(Entry& entry, Judgement judgement, const std::string& key) {
  entry.verdict = std::move(judgement.verdict);
  entry.profiles = std::move(judgement.profiles);
  entry.standing = standing_of(entry.verdict);
  entry.build_s = judgement.build_s;
  entry.judge_s = judgement.judge_s;
  entry.cost = cost_of(judgement.ptx);
  entry.ptx_hash = judgement.ptx.empty() ? "" : hash_hex(judgement.ptx);
  note_gain(entry);
  store::VerdictRow row;
  row.candidate = entry.candidate.id;
  row.key = key;
  row.status = name(entry.verdict.status);
  row.us = entry.standing.us;
  row.reward = reward_of(entry.standing, baseline_us());
  row.observed_gain = entry.observed_gain;
  row.verdict = to_json(entry.verdict);
  row.profile = entry.profiles.empty() ? "" : profile_text(entry.profiles);
  row.ptx = std::move(judgement.ptx);
  row.bottleneck = bottleneck_of(entry.verdict, plan_);
  row.started_s = entry.started_s;
  row.build_s = entry.build_s;
  row.judge_s = entry.judge_s;
  row.reused = entry.reused;
  if (auto added = store_->add_verdict(row_.id, row); !added) return added;
  entry.judged = true;
  if (entry.candidate.parent.empty()) return {};
  return store_->add_gain(row_.id, {entry.candidate.id, entry.candidate.move.id, entry.candidate.move.title, plan_.guess.pattern, row_.gpu, entry.candidate.move.expected_gain,
                                    entry.observed_gain});
}

Expected<bool> Journal::reuse_verdict(Entry& entry, const std::string& key) {
  auto found = store_->find_verdict(key);
  if (!found) return Unexpected(found.error());
  if (!*found) return false;
  Judgement judgement;
  auto verdict = read_verdict((*found)->verdict, "the store");
  if (!verdict) return false;   // written by another version
  judgement.verdict = std::move(*verdict);
  judgement.profiles = profiles_of((*found)->profile);
  judgement.ptx = (*found)->ptx;
  entry.reused = true;
  if (auto added = add_verdict(entry, std::move(judgement), key); !added) return Unexpected(added.error());
  return true;
}

bool is_shared(const Verdict& verdict) {
  return std::any_of(verdict.rungs.begin(), verdict.rungs.end(), [](const RungReport& r) { return r.name == kSharedRung; });
}

std::string Journal::twin_of(const Entry& entry, std::string_view ptx, std::span<const build::KernelReport> kernels) const {
  const std::string hash = hash_hex(ptx);
  const auto is_same = [&](const ResourceReport& resource) {
    // Instances of one template have one name here: then all of them must agree.
    bool found = false;
    for (const build::KernelReport& kernel : kernels) {
      if (judge::readable_kernel(kernel.kernel) != resource.kernel) continue;
      if (kernel.registers != resource.registers || kernel.spill_store_bytes + kernel.spill_load_bytes != resource.spill_bytes) return false;
      found = true;
    }
    return found;
  };
  for (const Entry& other : entries_) {
    if (other.round >= entry.round) break;   // of a round threads judge several at once, in any order
    const auto& resources = other.verdict.resources;
    if (!other.judged || other.ptx_hash != hash || other.candidate.source != entry.candidate.source || is_screened(other.verdict)) continue;
    if (!resources.empty() && std::all_of(resources.begin(), resources.end(), is_same)) return other.candidate.id;
  }
  return "";
}

Expected<void> Journal::share_verdict(Entry& entry, const Entry& twin) {
  Judgement judgement;
  judgement.verdict = twin.verdict;
  judgement.verdict.rungs.push_back({kSharedRung, Status::passed, 0, "same code as " + twin.candidate.id});
  judgement.profiles = twin.profiles;
  entry.reused = true;
  if (auto added = add_verdict(entry, std::move(judgement), ""); !added) return added;
  return event(entry.started_s, "same code", entry.candidate.id + " is the same code as " + twin.candidate.id);
}

Expected<void> Journal::add_verification(Entry& entry, std::uint64_t seed, const Verdict& verdict) {
  if (auto added = store_->add_verification(row_.id, {entry.candidate.id, seed, std::string(name(verdict.status)), to_json(verdict)}); !added) return added;
  entry.verified = verdict.status == VerdictStatus::accepted;
  if (entry.verified) return {};
  entry.verdict = verdict;
  entry.standing = standing_of(verdict);
  return {};
}

Expected<void> Journal::event(double at_s, const std::string& kind, const std::string& text) { return store_->add_event(row_.id, at_s, kind, text); }

Expected<void> Journal::save_row() { return store_->update_run(row_); }

const Entry* Journal::best() const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries_)
    if (entry.judged && entry.standing.right() && (!best || better(entry.standing, best->standing))) best = &entry;
  return best;
}

const Entry* Journal::winner() const {
  const Entry* best_one = best();
  return best_one && best_one->standing.grade == Grade::accepted ? best_one : nullptr;
}

double Journal::baseline_us() const {
  const Entry* baseline = find(row_.baseline);
  return baseline && baseline->judged && baseline->standing.right() ? baseline->standing.us : 0;
}

std::vector<propose::Tried> Journal::tried() const {
  std::vector<propose::Tried> out;
  for (const Entry& e : entries_)
    if (e.judged && e.purpose == store::kSearch)
      out.push_back({e.candidate, e.verdict.status, e.standing.us, e.verdict.findings, e.verdict.contracts, e.verdict.resources, e.profiles, e.cost, is_screened(e.verdict), &e.verdict});
  return out;
}

}  // namespace kforge::forge
