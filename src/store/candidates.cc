// The rows of candidates and of all that is said about one: verdicts, verifications, dead ends, contributions.
#include <fmt/format.h>

#include "base/text.h"
#include "store/store.h"
#include "store/word_list.h"

namespace kforge::store {
namespace {

constexpr const char* kCandidateColumns = "id, parent, proposer, move, title, answers, rule, expected_gain, source, flags, parameters";
constexpr const char* kVerdictColumns = "candidate, key, status, us, reward, observed_gain, verdict, profile, ptx, bottleneck, started_s, build_s, judge_s, reused";

VerdictRow read_verdict(const Row& row) {
  return {row.text(0), row.text(1), row.text(2), row.real(3), row.real(4), row.real(5), row.text(6), row.text(7), row.text(8), row.text(9),
          row.real(10), row.real(11), row.real(12), row.integer(13) != 0};
}

// Keys of artefacts become their texts.
Expected<void> load_texts(const Artefacts& artefacts, VerdictRow& row) {
  for (std::string* key : {&row.verdict, &row.profile, &row.ptx}) {
    auto text = artefacts.get(*key);
    if (!text) return Unexpected(text.error());
    *key = std::move(*text);
  }
  return {};
}

}  // namespace

Expected<Candidate> Store::read_candidate(const Row& row, int first) {
  Candidate c;
  c.id = row.text(first);
  c.parent = row.text(first + 1);
  c.proposer = row.text(first + 2);
  c.move = {row.text(first + 3), row.text(first + 4), row.text(first + 5), row.text(first + 6), row.real(first + 7)};
  c.source = row.text(first + 8);
  c.flags = from_word_list(row.text(first + 9));
  const auto words = from_word_list(row.text(first + 10));
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) c.parameters.emplace_back(words[i], words[i + 1]);
  auto source = artefacts_.get(c.source);
  if (!source) return Unexpected(source.error());
  c.source = std::move(*source);
  return c;
}

Expected<void> Store::add_candidates(const std::string& run, const std::vector<CandidateRow>& rows) {
  std::vector<std::string> sources;
  for (const CandidateRow& row : rows) {
    auto key = artefacts_.put(row.candidate.source);
    if (!key) return Unexpected(key.error());
    sources.push_back(std::move(*key));
  }
  return database_.transaction([&]() -> Expected<void> {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Candidate& c = rows[i].candidate;
      std::vector<std::string> parameters;
      for (const auto& [name, value] : c.parameters) parameters.insert(parameters.end(), {name, value});
      auto added = database_.run("INSERT OR IGNORE INTO candidates VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                                 {run, c.id, static_cast<std::int64_t>(rows[i].round), static_cast<std::int64_t>(rows[i].place), rows[i].purpose, c.parent, c.proposer,
                                  c.move.id, c.move.title, c.move.answers, c.move.rule, c.move.expected_gain, sources[i], to_word_list(c.flags), to_word_list(parameters)});
      if (!added) return added;
    }
    return {};
  });
}

Expected<std::vector<CandidateRow>> Store::candidates(const std::string& run) {
  std::vector<CandidateRow> out;
  std::optional<Error> error;
  auto read = database_.run(fmt::format("SELECT round, place, purpose, {} FROM candidates WHERE run = ?1 ORDER BY round, place, id", kCandidateColumns), {run}, [&](const Row& row) {
    auto candidate = read_candidate(row, 3);
    if (!candidate) error = candidate.error();
    else out.push_back({std::move(*candidate), static_cast<std::uint64_t>(row.integer(0)), static_cast<std::uint64_t>(row.integer(1)), row.text(2)});
  });
  if (!read) return Unexpected(read.error());
  if (error) return Unexpected(*error);
  return out;
}

Expected<void> Store::add_verdict(const std::string& run, const VerdictRow& row) {
  std::string keys[3];
  const std::string* texts[3] = {&row.verdict, &row.profile, &row.ptx};
  for (int i = 0; i < 3; ++i) {
    auto key = artefacts_.put(*texts[i]);
    if (!key) return Unexpected(key.error());
    keys[i] = std::move(*key);
  }
  return database_.run(fmt::format("INSERT INTO verdicts (run, {}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)", kVerdictColumns),
                       {run, row.candidate, row.key, row.status, row.us, row.reward, row.observed_gain, keys[0], keys[1], keys[2], row.bottleneck, row.started_s, row.build_s,
                        row.judge_s, static_cast<std::int64_t>(row.reused)});
}

Expected<std::vector<VerdictRow>> Store::verdicts(const std::string& run) {
  std::vector<VerdictRow> out;
  auto read = database_.run(fmt::format("SELECT {} FROM verdicts WHERE run = ?1 ORDER BY started_s, candidate", kVerdictColumns), {run},
                            [&](const Row& row) { out.push_back(read_verdict(row)); });
  if (!read) return Unexpected(read.error());
  for (VerdictRow& row : out)
    if (auto loaded = load_texts(artefacts_, row); !loaded) return Unexpected(loaded.error());
  return out;
}

Expected<std::optional<VerdictRow>> Store::find_verdict(const std::string& key) {
  std::optional<VerdictRow> out;
  if (key.empty()) return out;
  auto read = database_.run(fmt::format("SELECT {} FROM verdicts WHERE key = ?1 ORDER BY rowid DESC LIMIT 1", kVerdictColumns), {key}, [&](const Row& row) { out = read_verdict(row); });
  if (!read) return Unexpected(read.error());
  if (out && !load_texts(artefacts_, *out)) out.reset();   // a verdict whose texts are gone is as good as none
  return out;
}

Expected<bool> Store::has_verdict(const std::string& key) {
  bool found = false;
  if (key.empty()) return found;
  auto read = database_.run("SELECT 1 FROM verdicts WHERE key = ?1 LIMIT 1", {key}, [&](const Row&) { found = true; });
  if (!read) return Unexpected(read.error());
  return found;
}

Expected<void> Store::add_verification(const std::string& run, const VerificationRow& row) {
  auto key = artefacts_.put(row.verdict);
  if (!key) return Unexpected(key.error());
  return database_.run("INSERT OR REPLACE INTO verifications VALUES (?1, ?2, ?3, ?4, ?5)", {run, row.candidate, static_cast<std::int64_t>(row.seed), row.status, *key});
}

Expected<std::vector<VerificationRow>> Store::verifications(const std::string& run) {
  std::vector<VerificationRow> out;
  auto read = database_.run("SELECT candidate, seed, status, verdict FROM verifications WHERE run = ?1 ORDER BY rowid", {run},
                            [&](const Row& row) { out.push_back({row.text(0), static_cast<std::uint64_t>(row.integer(1)), row.text(2), row.text(3)}); });
  if (!read) return Unexpected(read.error());
  for (VerificationRow& row : out) {
    auto text = artefacts_.get(row.verdict);
    if (!text) return Unexpected(text.error());
    row.verdict = std::move(*text);
  }
  return out;
}

Expected<void> Store::add_dead_end(const std::string& run, const DeadEndRow& row) {
  return database_.run("INSERT OR IGNORE INTO dead_ends VALUES (?1, ?2, ?3)", {run, row.candidate, row.why});
}

Expected<std::vector<DeadEndRow>> Store::dead_ends(const std::string& run) {
  std::vector<DeadEndRow> out;
  auto read = database_.run("SELECT candidate, why FROM dead_ends WHERE run = ?1 ORDER BY rowid", {run}, [&](const Row& row) { out.push_back({row.text(0), row.text(1)}); });
  if (!read) return Unexpected(read.error());
  return out;
}

Expected<void> Store::set_contributions(const std::string& run, const std::vector<ContributionRow>& rows) {
  return database_.transaction([&]() -> Expected<void> {
    if (auto cleared = database_.run("DELETE FROM contributions WHERE run = ?1", {run}); !cleared) return cleared;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto added = database_.run("INSERT INTO contributions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                                 {run, static_cast<std::int64_t>(i), rows[i].candidate, rows[i].ablated, rows[i].factor, rows[i].how, rows[i].title});
      if (!added) return added;
    }
    return {};
  });
}

Expected<std::vector<ContributionRow>> Store::contributions(const std::string& run) {
  std::vector<ContributionRow> out;
  auto read = database_.run("SELECT candidate, ablated, factor, how, title FROM contributions WHERE run = ?1 ORDER BY place", {run},
                            [&](const Row& row) { out.push_back({row.text(0), row.text(1), row.real(2), row.text(3), row.text(4)}); });
  if (!read) return Unexpected(read.error());
  return out;
}

}  // namespace kforge::store
