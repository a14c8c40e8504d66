// What runs leave to learn from: cases for the knowledge base, records and preferences for those who train models.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kforge/error.h"

namespace kforge {

// A move that won: a kernel before and after, what was wrong before, and what the change brought, on which GPU.
struct KnowledgeCase {
  std::string run, before, after;          // ids of candidates
  std::string pattern, gpu, device, time_source;
  std::string contract, finding;           // of `before`, that the move answers; "" where it answers none
  std::string move, title, rule;
  double before_us = 0, after_us = 0, gain = 1;
  std::string before_source, after_source;
};

// The cases of the store that hold every word (of pattern, GPU, contract, finding, move, rule), largest gain first. A store that is not there has none.
Expected<std::vector<KnowledgeCase>> search_cases(const std::string& store, const std::vector<std::string>& words, std::size_t count);

std::string to_text(const KnowledgeCase& known, bool with_sources);   // for people
std::string to_json(const std::vector<KnowledgeCase>& cases);         // schema kforge.cases/1

// One JSON document a line. `runs` empty: all of the store. Errors: missing (store or run), failed.
//
// Records (schema kforge.training/1): every judged candidate with its task, source, PTX and a summary of it, profile, findings, move, outcome, reward.
Expected<std::string> dataset_records(const std::string& store, const std::vector<std::string>& runs);
// Preferences (schema kforge.preference/1): two candidates of one run that were made from the same kernel (or both from none), or one of them from the other,
// the better one first. Better: right before wrong, then faster by at least 5% on the same device.
Expected<std::string> dataset_preferences(const std::string& store, const std::vector<std::string>& runs);

}  // namespace kforge
