// A world without compilers for the loop's tests: a kernel is the text "a=3 b=1", its time a formula, its moves "raise a" and "raise b".
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/files.h"
#include "forge/loop.h"

namespace kforge::forge {

// In memory where the machine has such a folder: the store waits for the disk at each step.
inline TemporaryDirectory test_folder(std::string_view prefix) {
  std::error_code ignored;
  return *TemporaryDirectory::create(prefix, std::filesystem::is_directory("/dev/shm", ignored) ? "/dev/shm" : "");
}

struct Point { int a = 0, b = 0; };

inline std::string text_of(Point p) { return "a=" + std::to_string(p.a) + " b=" + std::to_string(p.b); }
inline Point point_of(const std::string& text) {
  Point p;
  std::sscanf(text.c_str(), "a=%d b=%d", &p.a, &p.b);
  return p;
}

inline constexpr int kMaxA = 7, kMaxB = 3;
inline double us_of(Point p) { return 100.0 / (1 + p.a) + 10.0 * (kMaxB - p.b); }

inline Candidate candidate_at(Point p, const std::string& parent, const std::string& move, double expected) {
  Candidate c;
  c.source = text_of(p);
  c.id = identity(c.source, c.flags);
  c.parent = parent;
  c.proposer = parent.empty() ? "naive" : "fake";
  c.move = {move, move, "", "", expected};
  return c;
}

// Raises one coordinate of the frontier's candidates.
class FakeProposer : public propose::Proposer {
 public:
  std::string_view name() const override { return "fake"; }
  std::vector<Candidate> propose(const propose::Situation& situation, std::size_t wanted) override {
    std::vector<Candidate> out;
    for (const std::string& id : situation.frontier)
      for (const propose::Tried& t : situation.tried) {
        if (t.candidate.id != id) continue;
        const Point p = point_of(t.candidate.source);
        for (const auto& [next, move] : {std::pair{Point{p.a + 1, p.b}, "raise a"}, std::pair{Point{p.a, p.b + 1}, "raise b"}}) {
          if (next.a > kMaxA || next.b > kMaxB || out.size() >= wanted) continue;
          Candidate c = candidate_at(next, id, move, 1.1);
          bool known = false;
          for (const propose::Tried& other : situation.tried) known |= other.candidate.id == c.id;
          if (!known) out.push_back(std::move(c));
        }
      }
    return out;
  }
  std::vector<propose::TakenBack> take_back(const propose::Situation&, std::span<const Candidate> line) override {
    std::vector<propose::TakenBack> out;
    for (std::size_t i = 1; i < line.size(); ++i) out.push_back({line[i].id, line[i].move.title, line[i].move.id, "", 1, line[i - 1], i + 1});
    return out;
  }
  std::optional<Candidate> make_again(const propose::Situation&, const Candidate& on, const Candidate& made, const Candidate&) override {
    Point p = point_of(on.source);
    (made.move.id == "raise a" ? p.a : p.b) += 1;
    return candidate_at(p, on.id, made.move.id, 1);
  }
};

// Wrong at most points of a == 2, so that the way up leads around them.
inline bool wrong_at(Point p) { return p.a == 2 && p.b != 1; }

// A performance contract fails where b == 0; else it is accepted.
inline Verdict verdict_at(Point p) {
  Verdict v;
  const bool wrong = wrong_at(p), slow = p.b == 0;
  v.status = wrong || slow ? VerdictStatus::rejected : VerdictStatus::accepted;
  v.why = wrong ? "fails numerics" : slow ? "fails memory.coalescing" : "every required contract holds";
  v.contracts = {{"numerics", Level::required, wrong ? Status::failed : Status::passed, "", "", "emulator"},
                 {"memory.coalescing", Level::required, slow ? Status::failed : Status::passed, "", "", "emulator"}};
  if (!wrong) v.time = TimeReport{};
  if (v.time) {
    v.time->us = us_of(p);
    v.time->source = "modelled";
  }
  return v;
}

// One run in one folder.
struct FakeRun {
  explicit FakeRun(const std::filesystem::path& folder, const std::string& id = "run") : store(*store::Store::open(folder, true)), run_id(id) {
    setting.task = &task;
    setting.sheet = &sheet;
    setting.store = &store;
    setting.budget = {1000, 1000, 0};
    setting.proposers.push_back(std::make_unique<FakeProposer>());
    setting.judge = [this](const Candidate& c, const JudgeCall& call) { return judge(c, call); };
    setting.clock = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
    setting.first = {candidate_at({0, 0}, "", "start", 1)};
    setting.first[0].proposer = "naive";
  }

  // Goes on with the run where the store has it.
  Expected<void> go() {
    const auto row = store.run(run_id);
    if (row && row->id == run_id) {
      auto opened = Journal::reopen(store, *row);
      if (!opened) return Unexpected(opened.error());
      journal.emplace(std::move(*opened));
    } else {
      store::RunRow fresh;
      fresh.id = run_id;
      fresh.gpu = "h200";
      fresh.started = run_id;
      auto begun = Journal::begin(store, fresh, plan);
      if (!begun) return Unexpected(begun.error());
      journal.emplace(std::move(*begun));
    }
    setting.journal = &*journal;
    return run_loop(setting);
  }

  Expected<Judgement> judge(const Candidate& c, const JudgeCall& call) {
    {
      const std::lock_guard lock(mutex);
      ++judged[c.id];
    }
    if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    if (before_verdict) before_verdict();
    if (call.cancelled && call.cancelled()) return fail(ErrorCode::limit, "cancelled");
    Judgement out;
    out.verdict = verdict_at(point_of(c.source));
    if (adjust) adjust(c, call, out.verdict);
    out.ptx = "// " + c.source;
    return out;
  }

  // "a=1 b=0 accepted", in the run's order.
  std::vector<std::string> story() const {
    std::vector<std::string> out;
    for (const Entry& e : journal->entries()) out.push_back(e.purpose + " " + e.candidate.source + " " + (e.judged ? std::string(name(e.verdict.status)) : "pending"));
    return out;
  }
  std::string winner_text() const { return journal->winner() ? journal->winner()->candidate.source : ""; }

  store::Store store;
  std::string run_id;
  task::Task task;
  hardware::DataSheet sheet;
  Plan plan;
  LoopSetting setting;
  std::optional<Journal> journal;
  std::mutex mutex;
  std::map<std::string, int> judged;
  int delay_ms = 0;
  std::function<void()> before_verdict;
  std::function<void(const Candidate&, const JudgeCall&, Verdict&)> adjust;
};

}  // namespace kforge::forge
