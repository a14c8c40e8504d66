#include "forge/plan_review.h"

#include <fmt/format.h>

#include "base/files.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;

Expected<Review> lay_out_files(const Journal& journal, const fs::path& folder, std::uint64_t round, const std::vector<Candidate>& proposed) {
  Review out;
  out.run = journal.row().id;
  out.round = round;
  out.plan = (folder / "plan.toml").string();
  const fs::path sources = folder / fmt::format("round-{:03}", round);
  if (auto made = make_directories(sources); !made) return Unexpected(made.error());
  if (auto written = write_file_atomic(out.plan, to_toml(journal.plan())); !written) return Unexpected(written.error());
  for (const Candidate& candidate : proposed) {
    const fs::path file = sources / (candidate.id + ".cu");
    if (auto written = write_file_atomic(file, candidate.source); !written) return Unexpected(written.error());
    out.candidates.push_back(file.string());
  }
  return out;
}

// What the files say now: a removed one is dropped, a changed one is the person's.
Expected<std::vector<Candidate>> read_back(const Review& review, const std::vector<Candidate>& proposed) {
  std::vector<Candidate> out;
  std::error_code ignored;
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

Expected<void> take_plan(Journal& journal, const std::string& path) {
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
                                                             const std::function<ReviewAnswer(const Review&)>& ask) {
  auto review = lay_out_files(journal, folder, round, proposed);
  if (!review) return Unexpected(review.error());
  for (;;) {
    if (ask(*review) == ReviewAnswer::stop) return std::optional<std::vector<Candidate>>();
    auto planned = take_plan(journal, review->plan);
    auto candidates = read_back(*review, proposed);
    if (planned && candidates) return std::optional(std::move(*candidates));
    review->problem = to_string(planned ? candidates.error() : planned.error());
  }
}

}  // namespace kforge::forge
