#include "forge/plan_review.h"

#include <fmt/format.h>

#include "base/files.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;

Expected<Review> lay_out_files(const Journal& journal, const fs::path& folder, std::uint64_t round, const std::vector<Candidate>& proposed, const ReviewKinds& kinds) {
  Review out;
  out.run = journal.row().id;
  out.round = round;
  const fs::path sources = folder / fmt::format("round-{:03}", round);
  if (auto made = make_directories(sources); !made) return Unexpected(made.error());
  if (kinds.plan) {
    out.plan = (folder / "plan.toml").string();
    if (auto written = write_file_atomic(out.plan, to_toml(journal.plan())); !written) return Unexpected(written.error());
  }
  if (!kinds.candidate) return out;
  for (const Candidate& candidate : proposed) {
    const fs::path file = sources / (candidate.id + ".cu");
    if (auto written = write_file_atomic(file, candidate.source); !written) return Unexpected(written.error());
    out.candidates.push_back(file.string());
    out.parents.emplace_back();
    const Entry* parent = journal.find(candidate.parent);
    if (!parent) continue;
    const fs::path from = sources / ("from-" + candidate.parent + ".cu");
    if (auto written = write_file_atomic(from, parent->candidate.source); !written) return Unexpected(written.error());
    out.parents.back() = from.string();
  }
  return out;
}

// What the files say now: a removed one is dropped, a changed one is the person's.
Expected<std::vector<Candidate>> read_back(const Review& review, const std::vector<Candidate>& proposed) {
  std::vector<Candidate> out;
  std::error_code ignored;
  if (review.candidates.empty()) return proposed;   // nobody asked to see them
  for (std::size_t i = 0; i < proposed.size(); ++i) {
    if (!fs::exists(review.candidates[i], ignored)) continue;
    auto source = read_file(review.candidates[i], 64ull << 20);
    if (!source) return Unexpected(source.error());
    Candidate& candidate = out.emplace_back(proposed[i]);
    if (*source == candidate.source) continue;
    candidate.move = {"user", "edited by hand: " + candidate.move.title, candidate.move.answers, candidate.move.rule, candidate.move.expected_gain};
    candidate.proposer = "user";
    candidate.source = std::move(*source);
    candidate.parameters.clear();
    candidate.id = identity(candidate.source, candidate.flags);
  }
  return out;
}

Expected<void> take_note(Journal& journal, const ReviewAnswer& answer) {
  return answer.note.empty() ? Expected<void>() : journal.event(journal.row().seconds, "note", answer.note);
}

Expected<void> take_plan(Journal& journal, const std::string& path) {
  if (path.empty()) return {};
  const auto before = to_toml(journal.plan());
  const auto text = read_file(path);
  if (!text) return Unexpected(text.error());
  if (*text == before) return {};
  const auto plan = read_plan(path);
  if (!plan) return Unexpected(plan.error());
  return journal.set_plan(*plan);
}

}  // namespace

Expected<std::optional<std::vector<Candidate>>> review_round(Journal& journal, const fs::path& folder, std::uint64_t round, std::vector<Candidate> proposed,
                                                             const std::function<ReviewAnswer(const Review&)>& ask, const ReviewKinds& kinds) {
  auto review = lay_out_files(journal, folder, round, proposed, kinds);
  if (!review) return Unexpected(review.error());
  for (;;) {
    const ReviewAnswer answer = ask(*review);
    if (auto noted = take_note(journal, answer); !noted) return Unexpected(noted.error());
    if (answer.stop) return std::optional<std::vector<Candidate>>();
    auto planned = take_plan(journal, review->plan);
    auto candidates = read_back(*review, proposed);
    if (planned && candidates) return std::optional(std::move(*candidates));
    review->problem = to_string(planned ? candidates.error() : planned.error());
  }
}

std::optional<std::string> review_prompt(Journal& journal, const fs::path& folder, const std::string& prompt, const std::function<ReviewAnswer(const Review&)>& ask) {
  Review review;
  review.run = journal.row().id;
  review.round = journal.rounds();
  review.prompt = (folder / fmt::format("round-{:03}", journal.rounds()) / "prompt.md").string();
  if (!make_directories(fs::path(review.prompt).parent_path()) || !write_file_atomic(review.prompt, prompt)) return std::nullopt;
  const ReviewAnswer answer = ask(review);
  if (!take_note(journal, answer) || answer.stop) return std::nullopt;
  auto text = read_file(review.prompt);
  if (!text) return std::nullopt;
  return std::move(*text);
}

}  // namespace kforge::forge
