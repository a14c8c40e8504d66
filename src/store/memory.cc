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

}  // namespace kforge::store
