#include "model/model_proposer.h"

#include <algorithm>
#include <deque>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "model/conversation.h"
#include "model/standing.h"

namespace kforge::model {
namespace {

using propose::Situation;
using propose::Tried;

// What experience has such moves bring, until the store knows better.
double usual_gain(MoveKind kind) { return kind == MoveKind::explore ? 1.5 : kind == MoveKind::repair ? 1.2 : 1.3; }

class Asking final : public ModelProposer {
 public:
  explicit Asking(ModelSetup setup) : s_(std::move(setup)) {}

  std::string_view name() const override { return "model"; }
  std::optional<Error> failure() const override { return failure_; }

  std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) override {
    std::set<std::string> known;
    for (const Tried& tried : situation.tried) known.insert(tried.candidate.id);
    std::erase_if(waiting_, [&](const Candidate& c) { return known.count(c.id) > 0; });
    // Answers are paid for: those that a round had no place for come before new ones.
    if (waiting_.empty() && !failure_ && !(s_.cancelled && s_.cancelled())) ask(situation, std::min(wanted, s_.at_once), known);
    return {waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, waiting_.size()))};
  }

  // A model's change cannot be made on another kernel without asking again; before and after stand for it.
  std::vector<propose::TakenBack> take_back(const Situation&, std::span<const Candidate>) override { return {}; }

 private:
  void ask(const Situation& situation, std::size_t wanted, std::set<std::string>& known) {
    const auto system = system_text(situation, s_.prompt);
    if (!system) {
      failure_ = system.error();
      return;
    }
    const auto moves = choose_moves(situation, wanted, s_.moves);
    std::vector<std::string> prompts;
    for (const WantedMove& move : moves) {
      auto prompt = prompt_of(situation, move);
      if (!prompt) return;
      prompts.push_back(std::move(*prompt));
    }
    const auto talks = talk(situation, *system, prompts);
    for (std::size_t i = 0; i < moves.size(); ++i) take(moves[i], talks[i], known);
  }

  std::optional<std::string> prompt_of(const Situation& situation, const WantedMove& move) {
    std::vector<std::string> left_out;
    auto text = move_text(situation, move, s_.prompt, &left_out);
    if (!text) {
      failure_ = text.error();
      return std::nullopt;
    }
    if (!left_out.empty() && s_.note) s_.note("prompt", "these parts did not fit whole: " + fmt::format("{}", fmt::join(left_out, ", ")));
    if (!s_.review) return std::move(*text);
    auto reviewed = s_.review(*text);
    if (!reviewed) failure_ = Error{ErrorCode::limit, "it was stopped at a prompt's review", {}, ""};
    return reviewed;
  }

  // In the order of the prompts, whoever answers first.
  std::vector<Talk> talk(const Situation& situation, const std::string& system, const std::vector<std::string>& prompts) {
    std::vector<Talk> out(prompts.size());
    const auto one = [&](std::size_t i) { out[i] = converse(s_, shared_, situation.task, system, prompts[i]); };
    if (!s_.client->parallel()) {
      for (std::size_t i = 0; i < prompts.size() && (i == 0 || !out[i - 1].failure); ++i) one(i);
      return out;
    }
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < prompts.size(); ++i) threads.emplace_back(one, i);
    if (!prompts.empty()) one(0);
    for (std::thread& thread : threads) thread.join();
    return out;
  }

  void take(const WantedMove& move, const Talk& talk, std::set<std::string>& known) {
    if (talk.answer) add(move, *talk.answer, known);
    for (const Extracted& checked : talk.checked) add(move, checked, known);
    if (talk.failure) take_failure(*talk.failure);
    else if (!talk.answer && s_.note) s_.note("answer", "the model gave no kernel");
  }

  // A server that is down now may be up in the next round; three rounds without an answer end it.
  void take_failure(const Error& error) {
    if (s_.note) s_.note("model", to_string(error));
    const bool passing = error.code == ErrorCode::failed || error.code == ErrorCode::unsupported;
    if (!passing || ++failures_ >= 3) failure_ = error;
  }

  void add(const WantedMove& move, const Extracted& kernel, std::set<std::string>& known) {
    failures_ = 0;
    Candidate out;
    out.source = kernel.source;
    if (move.on && move.kind != MoveKind::explore) {
      out.parent = move.on->candidate.id;
      out.flags = move.on->candidate.flags;
    }
    out.proposer = "model:" + s_.client->name();
    const Finding* first = move.on ? principal_of(*move.on) : nullptr;
    const bool answers_finding = move.kind == MoveKind::refine || move.kind == MoveKind::repair;
    out.move = {std::string(id_of(move.kind)), kernel.strategy.empty() ? "without a stated strategy" : kernel.strategy, "", answers_finding && first ? first->rule : "", usual_gain(move.kind)};
    if (move.kind == MoveKind::explore) out.move.answers = move.step;
    else if (move.kind == MoveKind::combine) out.move.answers = move.with->candidate.id;
    else if (answers_finding && first) out.move.answers = first->contract;
    out.id = identity(out.source, out.flags);
    if (known.insert(out.id).second) waiting_.push_back(std::move(out));
    else if (s_.note) s_.note("answer", "the kernel was tried before: " + out.id);
  }

  ModelSetup s_;
  std::mutex shared_;
  std::deque<Candidate> waiting_;
  std::optional<Error> failure_;
  int failures_ = 0;
};

}  // namespace

std::unique_ptr<ModelProposer> make_model_proposer(ModelSetup setup) { return std::make_unique<Asking>(std::move(setup)); }

}  // namespace kforge::model
