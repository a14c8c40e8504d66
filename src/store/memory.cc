// What outlives a run: winners by what they were forged for, and what moves of one kind brought.
#include <cmath>

#include <fmt/format.h>

#include "store/store.h"

namespace kforge::store {
namespace {

constexpr const char* kKeyMatches = "pattern = ?1 AND sizes = ?2 AND dtype = ?3 AND gpu = ?4 AND toolkit = ?5 AND version = ?6 AND interface = ?7";

std::vector<Value> values_of(const WinnerKey& key) { return {key.pattern, key.sizes, key.dtype, key.gpu, key.toolkit, key.version, key.interface}; }

}  // namespace

Expected<void> Store::remember_winner(const WinnerKey& key, const std::string& run, const std::string& candidate, double us) {
  auto values = values_of(key);
  values.insert(values.end(), {run, candidate, us});
  return database_.run("INSERT INTO winners VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO UPDATE SET run = ?8, candidate = ?9, us = ?10 WHERE ?10 < us", values);
}

Expected<std::optional<WinnerRow>> Store::remembered_winner(const WinnerKey& key) {
  std::optional<WinnerRow> out;
  std::optional<Error> error;
  auto read = database_.run(fmt::format("SELECT w.run, w.us, c.id, c.parent, c.proposer, c.move, c.title, c.answers, c.rule, c.expected_gain, c.source, c.flags, c.parameters "
                                        "FROM winners w JOIN candidates c ON c.run = w.run AND c.id = w.candidate WHERE {}", kKeyMatches),
                            values_of(key), [&](const Row& row) {
                              auto candidate = read_candidate(row, 2);
                              if (!candidate) error = candidate.error();
                              else out = WinnerRow{row.text(0), std::move(*candidate), row.real(1)};
                            });
  if (!read) return Unexpected(read.error());
  if (error) return Unexpected(*error);
  return out;
}

Expected<void> Store::forget_winner(const WinnerKey& key) { return database_.run(fmt::format("DELETE FROM winners WHERE {}", kKeyMatches), values_of(key)); }

Expected<void> Store::add_gain(const std::string& run, const GainRow& row) {
  return database_.run("INSERT OR REPLACE INTO gains VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                       {run, row.candidate, row.move, row.title, row.pattern, row.gpu, row.expected, row.observed});
}

Expected<GainSummary> Store::gains(const std::string& move, const std::string& pattern, const std::string& gpu) {
  double times = 0, expected = 0, observed = 0;
  auto read = database_.run("SELECT expected, observed FROM gains WHERE move = ?1 AND pattern = ?2 AND gpu = ?3 AND expected > 0 AND observed > 0", {move, pattern, gpu}, [&](const Row& row) {
    ++times;
    expected += std::log(row.real(0));
    observed += std::log(row.real(1));
  });
  if (!read) return Unexpected(read.error());
  if (times == 0) return GainSummary{};
  return GainSummary{static_cast<std::uint64_t>(times), std::exp(expected / times), std::exp(observed / times)};
}

Expected<void> Store::add_case(const CaseRow& row) {
  return database_.run("INSERT OR REPLACE INTO cases VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                       {row.run, row.before, row.after, row.pattern, row.gpu, row.device, row.time_source, row.contract, row.finding, row.move, row.title, row.rule, row.before_us, row.after_us});
}

Expected<std::vector<CaseRow>> Store::cases(const std::vector<std::string>& words, std::size_t count) {
  std::string conditions;
  std::vector<Value> values{static_cast<std::int64_t>(count)};
  for (const std::string& word : words) {
    values.emplace_back(word);
    conditions += fmt::format(" AND instr(lower(k.pattern || ' ' || k.gpu || ' ' || k.contract || ' ' || k.finding || ' ' || k.move || ' ' || k.title || ' ' || k.rule), lower(?{})) > 0", values.size());
  }
  std::vector<CaseRow> out;
  auto read = database_.run("SELECT k.run, k.before, k.after, k.pattern, k.gpu, k.device, k.time_source, k.contract, k.finding, k.move, k.title, k.rule, k.before_us, k.after_us, b.source, a.source FROM cases k "
                            "JOIN candidates b ON b.run = k.run AND b.id = k.before JOIN candidates a ON a.run = k.run AND a.id = k.after WHERE k.after_us > 0" + conditions +
                            " ORDER BY k.before_us / k.after_us DESC, k.run, k.after LIMIT ?1", values, [&](const Row& row) {
    out.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.text(7), row.text(8), row.text(9), row.text(10), row.text(11), row.real(12), row.real(13),
                   row.text(14), row.text(15)});
  });
  if (!read) return Unexpected(read.error());
  for (CaseRow& row : out)
    for (std::string* key : {&row.before_source, &row.after_source}) {
      auto text = artefacts_.get(*key);
      if (!text) return Unexpected(text.error());
      *key = std::move(*text);
    }
  return out;
}

}  // namespace kforge::store
