// `optimize`: puts the loop's setting together from task, store and options, runs it, delivers the winner.
#include "kforge/optimize.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/writable.h"
#include "build/compile_server.h"
#include "forge/baselines.h"
#include "forge/cases.h"
#include "forge/fingerprint.h"
#include "forge/loop.h"
#include "forge/model_run.h"
#include "forge/plan_review.h"
#include "forge/screen.h"
#include "forge/standard_proposers.h"
#include "forge/target.h"
#include "kforge/version.h"
#include "store/word_list.h"
#include "task/formula.h"
#include "trial/prepared_store.h"
#include "trial/time_candidates.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using namespace forge;

// Sizes that are measured run on sampled blocks beyond this while searching; the winner is verified with check's own budget.
constexpr std::uint64_t kSearchInstructions = 64'000'000;
// A call of a candidate that is waited for longer is not worth its share of the budget.
constexpr double kSearchCallSeconds = 5;
constexpr double kBuiltEffort = 0.5;   // of a candidate whose build the cache has, beside one that is to be compiled

// A sixteenth of the machine's memory: draws of large sizes are worth keeping where there is room.
std::uint64_t room_for_draws() {
  constexpr std::uint64_t kLeast = 768ull << 20;
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? std::max(kLeast, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) / 16) : kLeast;
}

// Glances take a second of the GPU each and what is around them is done meanwhile, on as many cores as there are.
constexpr std::size_t kRoundOnGpu = 8, kManyJobs = 6;

// Of timed calls, likewise: a candidate that is 1% better than the best is not what a search looks for first.
constexpr double kSearchTimeSeconds = 1, kSearchInterval = 0.01;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string utc(const char* format) {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, format, &parts));
}

// "20260301-101500-softmax-1a2b"
std::string new_run_id(const std::string& task_name) {
  std::string word;
  for (const char c : task_name) word += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}-{}-{:04x}", utc("%Y%m%d-%H%M%S"), word.substr(0, 24), std::random_device{}() & 0xffff);
}

// What the store keeps of the options, so that a resumed run is the same run.
std::string options_text(const OptimizeOptions& o, const Surroundings& around) {
  return store::to_word_list({o.from, fmt::format("{}", o.budget.seconds), std::to_string(o.budget.candidates), std::to_string(o.budget.stagnation), around.reference, o.device,
                              store::to_word_list(o.proposers), store::to_word_list(model_words(o.model)), o.output});
}

// The budget of the run, but for what this call states.
OptimizeBudget resumed_budget(const OptimizeBudget& given, const std::vector<std::string>& kept) {
  const OptimizeBudget usual;
  OptimizeBudget out = given;
  if (kept.size() < 4) return out;
  if (given.seconds == usual.seconds) out.seconds = parse_double(kept[1]).value_or(usual.seconds);
  if (given.candidates == usual.candidates) out.candidates = parse_unsigned(kept[2]).value_or(usual.candidates);
  if (given.stagnation == usual.stagnation) out.stagnation = parse_unsigned(kept[3]).value_or(usual.stagnation);
  return out;
}

void switch_off_templates(Plan& plan) {
  for (PlanStep& step : plan.steps)
    if (step.id.starts_with("template:")) step.enabled = false;
}

// Templates would fit and none is wanted: the winner is to descend from the start.
bool keeps_to_start(const Plan& plan) {
  const auto is_template = [](const PlanStep& step) { return step.id.starts_with("template:"); };
  return std::any_of(plan.steps.begin(), plan.steps.end(), is_template) &&
         std::none_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) { return is_template(step) && step.enabled; });
}

// The naive or the given kernel; nothing when the task has none.
Expected<std::optional<Candidate>> baseline_of(const OptimizeOptions& options, const task::Task& task) {
  const bool given = !options.from.empty();
  fs::path path = given ? fs::path(options.from) : fs::path(task.path).parent_path() / "naive.cu";
  std::error_code ignored;
  if (!given && !fs::is_regular_file(path, ignored)) {
    if (task.formula.empty()) return std::optional<Candidate>();
    const auto made = task::formula::write_naive(task);
    if (!made && made.error().code == ErrorCode::unsupported) return std::optional<Candidate>();   // nothing plain does it in place
    if (!made) return Unexpected(made.error());
    path = *made;
  }
  auto source = read_file(path, 64ull << 20);
  if (!source) return fail(ErrorCode::bad_input, source.error().message, {path.string(), 0, 0}, "--from takes a CUDA source with the task's launcher");
  Candidate c;
  c.source = std::move(*source);
  if (includes_own_files(c.source)) c.flags = {"-I", fs::absolute(path, ignored).parent_path().string()};
  c.proposer = given ? "user" : "naive";
  c.move = {"start", given ? "the given kernel" : "the naive kernel", "", "", 1};
  c.id = identity(c.source, c.flags);
  return std::optional<Candidate>(std::move(c));
}

// Writes candidates below the store, so that equal ones have equal paths and share the cache of builds.
class CandidateFiles {
 public:
  explicit CandidateFiles(fs::path folder) : folder_(std::move(folder)) {}
  // It was built before, as far as this store knows.
  bool holds(const Candidate& candidate) const {
    std::error_code ignored;
    return fs::exists(folder_ / (candidate.id + ".cu"), ignored);
  }
  Expected<std::string> file(const Candidate& candidate) const {
    if (auto made = make_directories(folder_); !made) return Unexpected(made.error());
    const fs::path path = folder_ / (candidate.id + ".cu");
    const auto there = read_file(path, 64ull << 20);
    if (there && *there == candidate.source) return path.string();
    if (auto written = write_file_atomic(path, candidate.source); !written) return Unexpected(written.error());
    return path.string();
  }

 private:
  fs::path folder_;
};

class Optimisation {
 public:
  explicit Optimisation(const OptimizeOptions& options) : options_(options) {}

  Expected<RunRecord> run() {
    const bool fresh = options_.resume.empty();
    if (fresh) {   // a call that is wrong leaves no store behind
      if (auto ready = prepare(options_.task, options_.gpu, options_.device); !ready) return Unexpected(ready.error());
      if (auto right = check_proposers(); !right) return Unexpected(right.error());
      if (auto writable = output_is_writable(); !writable) return Unexpected(writable.error());
    }
    auto opened = store::Store::open(store::store_folder(options_.store), fresh);
    if (!opened) return Unexpected(opened.error());
    store_.emplace(std::move(*opened));
    if (auto found = fresh ? Expected<void>() : find_run(); !found) return Unexpected(found.error());
    if (auto writable = output_is_writable(); !writable) return Unexpected(writable.error());
    auto lock = store_->lock_run(row_.id);
    if (!lock) return Unexpected(lock.error());
    auto journal = fresh ? begin() : Journal::reopen(*store_, row_);
    if (!journal) return Unexpected(journal.error());
    costs_.emplace(journal->row());
    compile_server_.emplace(&costs_->ledger(), true);
    if (auto found = find_goal(journal->plan()); !found) return Unexpected(found.error());
    LoopSetting setting = make_setting(*journal);
    if (auto added = add_proposers(setting, *journal); !added) return Unexpected(added.error());
    if (journal->rounds() == 0)
      if (auto seeded = add_first(setting); !seeded) return Unexpected(seeded.error());
    auto done = run_loop(setting);
    if (model_)
      if (auto told = journal->event(journal->row().seconds, "model", model_->summary()); !told) return Unexpected(told.error());
    if (!done) return Unexpected(done.error());
    compile_server_.reset();   // it tells what it used
    set_costs(journal->row(), costs_->all());
    if (auto saved = journal->save_row(); !saved) return Unexpected(saved.error());
    if (auto kept = remember(*journal); !kept) return Unexpected(kept.error());
    if (auto delivered = deliver(*journal); !delivered) return Unexpected(delivered.error());
    auto record = record_of(*store_, journal->row());
    if (record)
      if (auto kept = keep_cases(*store_, *record); !kept) return Unexpected(kept.error());
    return record;
  }

 private:
  // Hours later would be late.
  Expected<void> output_is_writable() const { return options_.output.empty() ? Expected<void>() : can_be_written(options_.output); }

  // Task, sheet and what is around them.
  Expected<void> prepare(const std::string& task_path, const std::string& gpu, const std::string& device) {
    auto task = task::read_task(task_path);
    if (!task) return Unexpected(task.error());
    task_ = std::move(*task);
    gpu_ = gpu.empty() ? task_.gpu : gpu;
    auto target = open_target(gpu_, device, true);
    if (!target) return Unexpected(target.error());
    target_ = std::move(*target);
    auto around = surroundings_of(task_);
    if (!around) return Unexpected(around.error());
    around_ = std::move(*around);
    around_.device = target_.device_key();
    if (row_.id.empty()) row_.id = new_run_id(task_.name);
    return options_.resume.empty() ? read_baseline() : Expected<void>();
  }

  Expected<void> read_baseline() {
    auto baseline = baseline_of(options_, task_);
    if (!baseline) return Unexpected(baseline.error());
    baseline_ = std::move(*baseline);
    return {};
  }

  Expected<void> find_run() {
    auto row = options_.resume == "last" ? store_->unfinished_run() : store_->run(options_.resume);
    if (!row) return Unexpected(row.error());
    row_ = std::move(*row);
    const auto kept = store::from_word_list(row_.options);
    if (!kept.empty()) options_.from = kept[0];
    if (kept.size() >= 6) options_.device = kept[5];
    if (options_.output.empty() && kept.size() >= 9) options_.output = kept[8];
    if (kept.size() >= 8) {
      options_.proposers = store::from_word_list(kept[6]);
      if (options_.model.spec.empty()) options_.model = model_of_words(store::from_word_list(kept[7]));
    }
    if (auto ready = prepare(row_.task_path, row_.gpu, options_.device); !ready) return ready;
    if (around_.task_text != row_.task_text || (kept.size() >= 5 && around_.reference != kept[4]))
      return fail(ErrorCode::bad_input, "the task or its reference was changed since the run began", {row_.task_path, 0, 0}, "start a new run: kforge optimize " + row_.task_path);
    options_.budget = resumed_budget(options_.budget, kept);
    options_.seed = row_.seed;
    return {};
  }

  // A plan of another task, GPU or size would give floors and targets that are not this run's.
  Expected<void> is_for(const Plan& made) const {
    const auto other = [&](std::string what) -> Expected<void> {
      return fail(ErrorCode::bad_input, std::move(what), {options_.plan, 0, 0}, fmt::format("write one anew: kforge plan {} --gpu {} -o {}", task_.path, target_.sheet.name, options_.plan));
    };
    if (made.task != task_.name) return other(fmt::format("the plan is of the task '{}', this is '{}'", made.task, task_.name));
    if (made.gpu != target_.sheet.name) return other(fmt::format("the plan is for {}, the run for {}", made.gpu, target_.sheet.name));
    if (!std::equal(made.sizes.begin(), made.sizes.end(), task_.measure.begin(), task_.measure.end(), [](const PlanSize& planned, const task::Sizes& sizes) { return planned.sizes == sizes; }))
      return other("the plan's sizes are not those that the task measures");
    return {};
  }

  Expected<Journal> begin() {
    auto made = options_.plan.empty() ? plan(task_.path, target_.sheet_name) : read_plan(options_.plan);
    if (!made) return Unexpected(made.error());
    if (auto fits = is_for(*made); !fits) return Unexpected(fits.error());
    if (!options_.templates) switch_off_templates(*made);
    std::error_code ignored;
    if (!options_.from.empty()) options_.from = fs::absolute(options_.from, ignored).string();
    if (!options_.output.empty()) options_.output = fs::absolute(options_.output, ignored).string();
    row_.task_path = fs::absolute(task_.path, ignored).lexically_normal().string();
    row_.task_name = task_.name;
    row_.task_text = around_.task_text;
    row_.gpu = to_lower(gpu_) == "this" ? gpu_ : target_.sheet_name;
    row_.device = target_.device_name();
    row_.version = kVersion;
    row_.toolkit = around_.toolkit;
    row_.started = utc("%Y-%m-%dT%H:%M:%SZ");
    row_.seed = options_.seed;
    row_.options = options_text(options_, around_);
    return Journal::begin(*store_, row_, *made);
  }

  LoopSetting make_setting(Journal& journal) {
    LoopSetting s;
    s.task = &task_;
    s.sheet = &target_.sheet;
    s.store = &*store_;
    s.journal = &journal;
    s.budget = options_.budget;
    s.seed = options_.seed;
    s.jobs = options_.jobs > 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    if (target_.gpu && s.jobs >= kManyJobs) s.round_size = kRoundOnGpu;
    s.judge = [this](const Candidate& candidate, const JudgeCall& call) { return judge(candidate, call); };
    s.verdict_key = [this](const Candidate& candidate) { return verdict_key(candidate, around_, target_.sheet, options_.seed); };
    s.effort = [this](const Candidate& candidate) { return CandidateFiles(store_->folder() / "candidates").holds(candidate) ? kBuiltEffort : 1.0; };
    s.clock = now;
    s.costs = &*costs_;
    s.progress = options_.progress;
    s.interrupted = options_.interrupted;
    if (options_.review && (options_.review_kinds.plan || options_.review_kinds.candidate))
      s.review = [this, &journal](std::uint64_t round, std::vector<Candidate> proposed) { return review_round(journal, store_->run_folder(row_.id), round, std::move(proposed), options_.review, options_.review_kinds); };
    return s;
  }

  Expected<void> check_proposers() const {
    if (auto made = standard_proposers(options_.proposers); !made) return Unexpected(made.error());
    const bool wanted = asks_for(options_.proposers, "model");
    if (!options_.model.spec.empty() && wanted) return check_model(options_.model);
    if (options_.model.spec.empty() && wanted && !options_.proposers.empty()) return fail(ErrorCode::bad_input, "the proposer 'model' has no model", {}, "--llm PROVIDER:MODEL");
    return {};
  }

  Expected<void> add_proposers(LoopSetting& s, Journal& journal) {
    auto made = standard_proposers(options_.proposers);
    if (!made) return Unexpected(made.error());
    s.proposers = std::move(*made);
    if (options_.model.spec.empty() || !asks_for(options_.proposers, "model")) return {};
    const double start = now() - journal.row().seconds;
    ModelSurroundings around;
    around.store = &*store_;
    around.journal = &journal;
    around.reference = around_.reference;
    around.device = target_.device_name();
    around.seconds = [start] { return now() - start; };
    around.judge = [this](const Candidate& candidate) {
      auto judged = judge(candidate, {options_.seed, true, options_.interrupted, 0, 0});
      if (judged) tool_judgements_[candidate.id] = *judged;
      return judged;
    };
    around.cancelled = [this, start] { return (options_.interrupted && options_.interrupted()) || now() - start >= options_.budget.seconds; };
    around.told = options_.told;
    if (options_.review && options_.review_kinds.feedback)
      around.review = [this, &journal](const std::string& prompt) { return review_prompt(journal, store_->run_folder(row_.id), prompt, options_.review); };
    auto model = ModelRun::open(options_.model, std::move(around));
    if (!model) return Unexpected(model.error());
    model_ = std::move(*model);
    s.proposers.push_back(model_->proposer());
    s.proposer_failure = [this] { return model_->failure(); };
    return {};
  }

  // Round 0: the baseline, and the winner of an earlier run for the same ends, which is judged like any other.
  Expected<void> add_first(LoopSetting& setting) {
    if (!options_.resume.empty())   // killed before its first round
      if (auto read = read_baseline(); !read) return read;
    if (baseline_) setting.first.push_back(*baseline_);
    if (keeps_to_start(setting.journal->plan())) return {};
    auto remembered = store_->remembered_winner(winner_key(task_, setting.journal->plan(), around_, target_.sheet));
    if (!remembered || !*remembered) return {};   // a memory that cannot be read is none
    Candidate known = std::move((*remembered)->candidate);
    if (!setting.first.empty() && setting.first.front().id == known.id) return {};
    known.parent.clear();
    known.proposer = "memory";
    known.move = {"remembered", "the winner of run " + (*remembered)->run + ": " + known.move.title, "", known.move.rule, 1};
    setting.first.push_back(std::move(known));
    return {};
  }

  JudgeRequest judge_request() {
    JudgeRequest request;
    request.task = &task_;
    aim(request, target_);
    request.goal = goal_;
    request.compile_server = &*compile_server_;
    request.prepared = &prepared_;
    request.costs = &costs_->ledger();
    request.fresh_seed = fresh_seed_;   // of all proofs: inputs and references are kept
    request.baselines = baselines_;
    return request;
  }

  Expected<void> find_goal(const Plan& plan) {
    double floor_us = 0;
    for (const PlanSize& size : plan.sizes) floor_us += size.floor_us;
    auto figures = goal_figures(judge_request(), floor_us);
    if (!figures) return Unexpected(figures.error());
    goal_ = std::move(*figures);
    if (target_.gpu) baselines_ = goal_baselines(task_, plan.guess.pattern);
    return {};
  }

  Expected<Judgement> judge(const Candidate& candidate, const JudgeCall& call) {
    // A tool of the model's had it judged a moment ago, with the same inputs.
    if (const auto known = tool_judgements_.find(candidate.id); known != tool_judgements_.end() && call.stop_early && call.seed == options_.seed) return known->second;
    const auto file = CandidateFiles(store_->folder() / "candidates").file(candidate);
    if (!file) return Unexpected(file.error());
    JudgeRequest request = judge_request();
    request.candidate = *file;
    request.flags = candidate.flags;
    request.stop_early = call.stop_early;
    request.seed = call.seed;
    if (call.stop_early) {
      request.known_inputs = true;
      request.budget.measure_thread_instructions = kSearchInstructions;
      request.budget.reference_seconds = request.budget.call_seconds;
      request.budget.call_seconds = std::min(request.budget.call_seconds, kSearchCallSeconds);
      request.time.seconds = kSearchTimeSeconds;
      request.time.interval = kSearchInterval;
      request.time.search = true;
    }
    request.cancelled = call.cancelled;
    request.twin = call.twin;
    if (!target_.gpu) return screen_candidate(request, call.worth_us);
    lead_.prove(call.best_us);
    if (const std::size_t gpus = 1 + target_.others.size(); gpus > 1)
      if (const std::size_t turn = glances_++ % gpus; turn > 0) request.glance_gpu = target_.others[turn - 1];
    return call.worth_us > 0 ? glance_at_candidate(request, lead_) : judge_candidate(request);
  }

  Expected<void> remember(Journal& journal) {
    const auto key = winner_key(task_, journal.plan(), around_, target_.sheet);
    for (const Entry& e : journal.entries())
      if (e.candidate.proposer == "memory" && e.judged && e.standing.grade == Grade::wrong)
        if (auto gone = store_->forget_winner(key); !gone) return gone;
    const Entry* winner = journal.find(journal.row().winner);
    if (!winner || !winner->verified || includes_own_files(winner->candidate.source)) return {};
    return store_->remember_winner(key, row_.id, winner->candidate.id, winner->standing.us);
  }

  Expected<void> deliver(const Journal& journal) const {
    const Entry* best = journal.find(journal.row().best);
    if (!best) return {};
    const fs::path folder = store_->run_folder(row_.id);
    if (auto made = make_directories(folder); !made) return made;
    return write_file_atomic(folder / "winner.cu", best->candidate.source);
  }

  OptimizeOptions options_;
  std::optional<store::Store> store_;
  store::RunRow row_;
  task::Task task_;
  Target target_;
  std::atomic<std::size_t> glances_{0};   // each GPU has its turn
  std::string gpu_;
  Surroundings around_;
  judge::GoalFigures goal_;
  std::vector<trial::Baseline> baselines_;
  std::optional<Candidate> baseline_;
  std::optional<RunCosts> costs_;
  std::optional<build::CompileServer> compile_server_;
  const std::uint64_t fresh_seed_ = options_.fresh_seed != 0 ? options_.fresh_seed : trial::draw_fresh_seed();
  trial::PreparedStore prepared_{room_for_draws()};
  Lead lead_;
  std::map<std::string, Judgement> tool_judgements_;   // filled while proposers are asked, read while candidates are judged
  std::unique_ptr<ModelRun> model_;
};

}  // namespace

Expected<RunRecord> optimize(const OptimizeOptions& options) { return Optimisation(options).run(); }

Expected<std::string> kept_output(const std::string& store, const std::string& run) {
  auto opened = store::Store::open(store::store_folder(store), false);
  if (!opened) return Unexpected(opened.error());
  const auto row = opened->run(run);
  if (!row) return Unexpected(row.error());
  const auto kept = store::from_word_list(row->options);
  return kept.size() >= 9 ? kept[8] : std::string();
}

}  // namespace kforge
