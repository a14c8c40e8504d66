#include "forge/loop.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "forge/ablation.h"
#include "forge/move_tree.h"
#include "forge/screen.h"
#include "store/word_list.h"

namespace kforge::forge {
namespace {

constexpr std::uint64_t kKnownTimes = 3;     // so often a move must have been seen before its record counts
constexpr double kWorth = 1.25;              // times the best one's or the parent's time: slower ones are not proven
constexpr int kProofs = 3;                   // of winners in turn, each faster without a move of the one before
constexpr double kSlack = 0.25, kLeastSlack = 15;   // of the budget, and seconds: how long the winner's proof may go on beyond the budget's end
constexpr double kKnownEffort = 0.05;        // of a candidate whose verdict the store has

class Loop {
 public:
  explicit Loop(LoopSetting& setting) : s_(setting), journal_(*setting.journal), ledger_(setting.costs ? &setting.costs->ledger() : nullptr), before_(journal_.row().seconds), start_(setting.clock()) {}

  Expected<void> run() {
    auto done = steps();
    if (!done) {
      finish("failed", to_string(done.error()));
      static_cast<void>(journal_.save_row());
      return done;
    }
    return journal_.save_row();
  }

 private:
  double seconds() const { return before_ + s_.clock() - start_; }
  bool interrupted() const { return s_.interrupted && s_.interrupted(); }
  // Nothing new is begun and what is under way is given up.
  bool out_of_time() const { return interrupted() || seconds() >= s_.budget.seconds; }

  // The proof is what a run is for: it may take a little more. Afterwards it is cut, and the winner is none.
  bool proof_is_over() const { return interrupted() || seconds() >= s_.budget.seconds + std::max(kLeastSlack, kSlack * s_.budget.seconds); }

  Expected<void> steps() {
    journal_.row().outcome = "running";
    if (auto done = first_round(); !done) return done;
    std::optional<Stop> stop;
    while (!(stop = should_stop(state()))) {
      auto proposed = next_round();
      if (!proposed) return Unexpected(proposed.error());
      if (!*proposed) continue;   // exhausted or stopped: the rules say so
      if (auto done = judge_pending(store::kSearch); !done) return done;
    }
    if (stop->outcome != "interrupted")
      if (auto done = prove_winner(); !done) return done;
    if (interrupted()) stop = Stop{"interrupted", "it was asked to stop"};
    if (stop->outcome == "interrupted") {
      only_proven_ = true;
      if (auto saved = save_standing(); !saved) return saved;
    } else if (only_proven_) {
      stop->why += fmt::format("; the proof of {} on fresh inputs was cut after {:.0f} s in all", journal_.row().winner.empty() ? "the best candidate" : "a better candidate", seconds());
    }
    finish(stop->outcome, stop->why);
    return journal_.event(seconds(), "outcome", stop->outcome + ": " + stop->why);
  }

  Expected<void> first_round() {
    if (journal_.rounds() == 0 && !s_.first.empty()) {
      if (auto added = journal_.add_round(s_.first, store::kSearch); !added) return added;
      journal_.row().baseline = s_.first.front().proposer == "memory" ? "" : s_.first.front().id;
    }
    return judge_pending(store::kSearch);       // of a resumed run: what was proposed and not judged
  }

  // --- the situation

  SearchState state() const {
    SearchState out;
    out.budget = s_.budget;
    out.seconds = seconds();
    out.interrupted = interrupted() || stopped_by_review_;
    out.asked_and_empty = exhausted_;
    out.nothing_to_start_from = journal_.entries().empty();
    out.model_spent = model_spent_;
    out.has_goal = s_.task->goal.has_value();
    const Entry* best = nullptr;
    double spent = 0;
    for (const Entry& e : journal_.entries()) {
      if (!e.judged || e.purpose != store::kSearch) continue;
      if (is_shared(e.verdict)) continue;   // takes no place: nothing was to be learnt from it
      const bool counts = e.round > 0;
      out.judged += counts;
      out.since_better += counts;
      spent += e.reused ? 0 : e.build_s + e.judge_s;
      if (!e.standing.right() || (best && !better(e.standing, best->standing))) continue;
      best = &e;
      out.since_better = 0;
    }
    // The winner's verification and some ablations, on as many threads as there are.
    const double each = spent / std::max<double>(1, static_cast<double>(out.judged));
    out.reserved_seconds = std::min(0.25 * s_.budget.seconds, each * (1 + 5 / static_cast<double>(std::max<std::size_t>(s_.jobs, 1))));
    if (best && best->standing.grade == Grade::accepted) {
      out.goal_met = true;        // of a task with a goal: the contract is required
      out.best_us = best->standing.us;
    }
    for (const PlanSize& size : journal_.plan().sizes) out.floor_us += size.floor_us;
    return out;
  }

  MoveTree tree() const {
    MoveTree tree;
    for (const Entry& e : journal_.entries())
      if (e.judged && e.purpose == store::kSearch) tree.add(e.candidate.id, e.candidate.parent, e.standing, e.candidate.move.id == "parameter");
    return tree;
  }

  // What judging it will take: next to nothing where the store has the verdict.
  double effort(const Candidate& candidate) {
    if (s_.verdict_key)
      if (const auto known = s_.store->has_verdict(s_.verdict_key(candidate)); known && *known) return kKnownEffort;
    return s_.effort ? s_.effort(candidate) : 1;
  }

  // Gain to be expected of a move: its promise, corrected by how such promises were kept. A search of parameters promises what its model
  // of this very run expects, and tries worse points to learn.
  double expectation(const Move& move) {
    if (move.id == "parameter") return std::max(move.expected_gain, 1.0);
    const auto gains = s_.store->gains(move.id, journal_.plan().guess.pattern, journal_.row().gpu);
    if (!gains || gains->times < kKnownTimes || gains->expected <= 0) return std::max(move.expected_gain, 1.0);
    return std::max(move.expected_gain, 1e-3) * gains->observed / gains->expected;
  }

  // --- a round

  // False when there is none.
  Expected<bool> next_round() {
    report("planning");
    const StageTimer timer(ledger_, "propose");
    MoveTree moves = tree();
    for (const auto& end : moves.new_dead_ends())
      if (auto added = s_.store->add_dead_end(journal_.row().id, {end.id, end.why}); !added) return Unexpected(added.error());
    const auto frontier = moves.frontier();
    auto tried = journal_.tried();
    std::set<std::string> known;
    for (const Entry& e : journal_.entries()) known.insert(e.candidate.id);
    for (const Candidate& candidate : dropped_) {
      known.insert(candidate.id);
      propose::Tried left;          // so that proposers count it as tried, and a model reads what became of it
      left.candidate = candidate;
      left.findings.emplace_back();
      left.findings.back().contract = "a person left it out, or changed it into another one";
      tried.push_back(std::move(left));
    }
    RoundOptions options;
    const SearchState now = state();
    options.size = static_cast<std::size_t>(std::min<std::uint64_t>(s_.round_size, s_.budget.candidates - std::min(s_.budget.candidates, now.judged)));
    options.turn = journal_.rounds();
    options.known = &known;
    options.expectation = [this](const Move& move) { return expectation(move); };
    const propose::Situation situation{*s_.task, *s_.sheet, journal_.plan(), tried, s_.seed, frontier, [this](const Candidate& c) { return effort(c); }};
    auto picked = pick_round(s_.proposers, situation, options);
    if (const auto failure = s_.proposer_failure ? s_.proposer_failure() : std::nullopt; failure && !out_of_time()) {
      if (failure->code != ErrorCode::limit) return Unexpected(*failure);
      model_spent_ = failure->message;
    }
    bool went_on = false;
    if (s_.review) {
      auto reviewed = s_.review(journal_.rounds(), picked);
      if (!reviewed) return Unexpected(reviewed.error());
      stopped_by_review_ = !*reviewed;
      if (stopped_by_review_) return false;
      picked.swap(**reviewed);
      // They are not proposed again, and whoever proposed them goes on.
      for (const Candidate& before : **reviewed)
        if (std::none_of(picked.begin(), picked.end(), [&](const Candidate& c) { return c.id == before.id; })) dropped_.push_back(before), went_on = true;
      std::erase_if(picked, [&](const Candidate& c) { return known.count(c.id) > 0; });
    }
    exhausted_ = picked.empty() && !went_on;
    if (picked.empty()) return false;
    const StageTimer storing(ledger_, "store");
    if (auto added = journal_.add_round(picked, store::kSearch); !added) return Unexpected(added.error());
    return true;
  }

  // The search begins no candidate in the time that is kept back, once there is a winner to be proven.
  bool may_begin(std::string_view purpose, double reserved_seconds) {
    if (out_of_time()) return false;
    if (purpose != store::kSearch || seconds() < s_.budget.seconds - reserved_seconds) return true;
    const std::lock_guard lock(mutex_);
    const Entry* winner = journal_.winner();
    return !winner || winner->candidate.id == journal_.row().baseline;
  }

  // Every candidate of that purpose without a verdict, on `jobs` threads.
  Expected<void> judge_pending(std::string_view purpose) {
    std::vector<Entry*> pending;
    for (Entry& e : journal_.entries())
      if (!e.judged && e.purpose == purpose) pending.push_back(&e);
    const double reserved = state().reserved_seconds;
    // Of this moment, whatever other threads find: equal runs try and prove the same.
    std::vector<double> worth;
    for (const Entry* entry : pending) worth.push_back(worth_us(*entry));
    std::atomic<std::size_t> next{0};
    std::optional<Error> error;
    const auto work = [&] {
      for (std::size_t i = next++; i < pending.size() && may_begin(purpose, reserved); i = next++) {
        if (auto done = judge_one(*pending[i], worth[i]); done) continue;
        else {
          const std::lock_guard lock(mutex_);
          if (!error && done.error().code != ErrorCode::limit) error = done.error();
          if (error) next = pending.size();
        }
      }
    };
    std::vector<std::thread> threads;   // they outlive the workers that they start
    for (std::size_t t = 1; t < std::min(s_.jobs, pending.size()); ++t) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    if (error) return Unexpected(*error);
    return save_standing();
  }

  // Beyond it a candidate is neither a winner nor a step to one: well above the best of the run and above its own parent.
  double worth_us(const Entry& entry) const {
    const Entry* best = journal_.best();
    if (!best || best->standing.us <= 0 || entry.purpose != store::kSearch || entry.round == 0) return 0;
    const Entry* parent = journal_.find(entry.candidate.parent);
    return kWorth * std::max(best->standing.us, parent && parent->judged && parent->standing.right() ? parent->standing.us : 0.0);
  }

  Expected<void> judge_one(Entry& entry, double worth) {
    const std::string key = s_.verdict_key ? s_.verdict_key(entry.candidate) : "";
    {
      const std::lock_guard lock(mutex_);
      const StageTimer timer(ledger_, "store");
      entry.started_s = seconds();
      auto reused = journal_.reuse_verdict(entry, key);
      if (!reused) return Unexpected(reused.error());
      if (*reused) {
        report("judging");
        return {};
      }
    }
    const auto twin = [this, &entry](std::string_view ptx, std::span<const build::KernelReport> kernels) {
      const std::lock_guard lock(mutex_);
      return journal_.twin_of(entry, ptx, kernels);
    };
    JudgeCall call{s_.seed, true, [this] { return out_of_time(); }, twin, worth, 0};
    {
      const std::lock_guard lock(mutex_);
      if (const Entry* best = journal_.best(); best && best->standing.right()) call.best_us = best->standing.us;
    }
    auto judgement = s_.judge(entry.candidate, call);
    // A verdict that came while everything was being stopped may be the stop's doing.
    if (judgement && interrupted()) return fail(ErrorCode::limit, "interrupted");
    if (!judgement) return Unexpected(judgement.error());
    const std::lock_guard lock(mutex_);
    const StageTimer timer(ledger_, "store");
    if (!judgement->twin.empty()) {
      if (auto shared = journal_.share_verdict(entry, *journal_.find(judgement->twin)); !shared) return shared;
      report("judging");
      return {};
    }
    // Another run may have another opinion of what is worth a proof, and what could not be established on a busy machine may be on another day.
    const bool once = is_screened(judgement->verdict) || judgement->verdict.status == VerdictStatus::error;
    if (auto added = journal_.add_verdict(entry, std::move(*judgement), once ? "" : key); !added) return added;
    if (auto told = journal_.event(seconds(), "verdict", entry.candidate.id + " " + entry.verdict.why); !told) return told;
    report("judging");
    return {};
  }

  Expected<void> save_standing() {
    store::RunRow& row = journal_.row();
    row.seconds = seconds();
    const Entry* winner = only_proven_ ? best_proven() : journal_.winner();
    const Entry* best = only_proven_ && winner ? winner : journal_.best();
    row.best = best ? best->candidate.id : "";
    row.winner = winner ? winner->candidate.id : "";
    std::uint64_t judged = 0, accepted = 0;
    for (const Entry& e : journal_.entries()) {
      judged += e.judged;
      accepted += e.judged && e.standing.grade == Grade::accepted;
    }
    const auto& program = s_.task->program;
    row.summary = store::to_word_list({std::to_string(judged), std::to_string(accepted), fmt::format("{}", best ? best->standing.us : 0.0),
                                       fmt::format("{}", journal_.baseline_us()), fmt::format("{}", program ? program->total_us : 0.0),
                                       fmt::format("{}", program ? program->share : 0.0)});
    if (s_.costs) set_costs(row, s_.costs->all());
    return journal_.save_row();
  }

  // --- the end

  // The best accepted candidate is proven, then its moves are taken back. One that is faster without a move is the next to be proven.
  Expected<void> prove_winner() {
    std::string proven;
    for (int turn = 0; turn < kProofs; ++turn) {
      if (auto done = prove(); !done) return done;
      const Entry* winner = journal_.winner();
      if (!winner || !winner->verified || winner->candidate.id == proven) return {};
      proven = winner->candidate.id;
      if (auto done = take_moves_back(*winner); !done) return done;
    }
    return prove();
  }

  // Until one holds, the best accepted candidate is built and judged again on fresh inputs.
  Expected<void> prove() {
    while (const Entry* found = journal_.winner()) {
      if (found->verified || interrupted()) break;
      report("verifying");
      Entry& entry = *journal_.find(found->candidate.id);
      const std::uint64_t seed = s_.seed + 1;
      JudgeCall call{seed, false, [this] { return proof_is_over(); }, {}, 0, 0};
      auto again = proof_is_over() ? Expected<Judgement>(fail(ErrorCode::limit, "no time is left")) : s_.judge(entry.candidate, call);
      if (!again && again.error().code != ErrorCode::limit) return Unexpected(again.error());
      if (interrupted()) break;
      if (!again) {
        only_proven_ = true;
        break;
      }
      if (auto added = journal_.add_verification(entry, seed, again->verdict); !added) return added;
      if (!entry.verified)
        if (auto told = journal_.event(seconds(), "verification", entry.candidate.id + " did not hold: " + again->verdict.why); !told) return told;
    }
    return save_standing();
  }

  // Of a run that ends before the proof of a better one.
  const Entry* best_proven() const {
    const Entry* best = nullptr;
    for (const Entry& e : journal_.entries())
      if (e.judged && e.verified && e.standing.grade == Grade::accepted && (!best || better(e.standing, best->standing))) best = &e;
    return best;
  }

  Expected<void> take_moves_back(const Entry& winner) {
    report("ablation");
    const auto tried = journal_.tried();
    const propose::Situation situation{*s_.task, *s_.sheet, journal_.plan(), tried, s_.seed, {}, {}};
    const auto line = line_of(journal_, winner.candidate.id);
    const auto ablated = ablated_candidates(s_.proposers, situation, line);
    std::vector<Candidate> fresh;
    std::set<std::string> known;
    for (const Ablated& a : ablated)
      if (!journal_.find(a.candidate.id) && known.insert(a.candidate.id).second) fresh.push_back(a.candidate);
    if (!fresh.empty() && !out_of_time()) {
      if (auto added = journal_.add_round(fresh, store::kAblation); !added) return added;
    }
    if (auto done = judge_pending(store::kAblation); !done) return done;
    return s_.store->set_contributions(journal_.row().id, contributions(journal_, line, ablated));
  }

  // A start that never ran is the first thing to mend, whatever else came of the run: "" where it built.
  std::string start_that_does_not_build() const {
    const Entry* start = journal_.find(journal_.row().baseline);
    if (!start || !start->judged || start->purpose != store::kSearch) return {};
    const auto first = std::find_if(start->verdict.findings.begin(), start->verdict.findings.end(), [](const Finding& f) { return f.contract == "build" && f.severity == Severity::error; });
    if (first == start->verdict.findings.end()) return {};
    return fmt::format("; {} does not build: {}{}", start->candidate.move.title, first->line > 0 ? fmt::format("line {}: ", first->line) : "", first->message);
  }

  void finish(const std::string& outcome, const std::string& why) {
    store::RunRow& row = journal_.row();
    row.seconds = seconds();
    row.outcome = outcome;
    row.outcome_why = why + start_that_does_not_build();
    row.goal_met = s_.task->goal.has_value() && !row.winner.empty();
  }

  void report(const std::string& step) {
    if (!s_.progress) return;
    Progress p;
    p.step = step;
    for (const Entry& e : journal_.entries()) {
      p.candidates += e.judged;
      p.accepted += e.judged && e.standing.grade == Grade::accepted;
    }
    if (const Entry* best = journal_.best()) {
      p.best_us = best->standing.us;
      p.best = best->candidate.move.title;
      p.bottleneck = bottleneck_of(best->verdict, journal_.plan());
    } else {
      for (const Entry& e : journal_.entries())
        if (e.judged && e.standing.grade == Grade::unproven) p.not_judged = unknown_of(e.verdict);
    }
    p.baseline_us = journal_.baseline_us();
    for (const PlanSize& size : journal_.plan().sizes) p.floor_us += size.floor_us;
    p.seconds = seconds();
    p.budget_seconds = s_.budget.seconds;
    s_.progress(p);
  }

  LoopSetting& s_;
  Journal& journal_;
  CostLedger* const ledger_;
  const double before_, start_;
  std::mutex mutex_;             // of the journal while threads judge
  bool exhausted_ = false, stopped_by_review_ = false, only_proven_ = false;
  std::vector<Candidate> dropped_;   // by a person, before they were judged
  std::string model_spent_;
};

}  // namespace

Expected<void> run_loop(LoopSetting& setting) { return Loop(setting).run(); }

}  // namespace kforge::forge
