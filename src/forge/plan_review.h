// A person in the loop: before a round is judged its candidates and the plan lie in files, and what the person makes of them is what is tried.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "forge/journal.h"
#include "kforge/optimize.h"

namespace kforge::forge {

// `folder`: of the run's files. nullopt: the person wants to stop. Notes go into the journal. Errors: failed (disk).
Expected<std::optional<std::vector<Candidate>>> review_round(Journal& journal, const std::filesystem::path& folder, std::uint64_t round, std::vector<Candidate> proposed,
                                                             const std::function<ReviewAnswer(const Review&)>& ask, const ReviewKinds& kinds = {});

// A prompt before it is sent: what the person made of it. nullopt: stop, or the file cannot be written or read.
std::optional<std::string> review_prompt(Journal& journal, const std::filesystem::path& folder, const std::string& prompt, const std::function<ReviewAnswer(const Review&)>& ask);

}  // namespace kforge::forge
