// A person in the loop: before a round is judged its candidates and the plan lie in files, and what the person makes of them is what is tried.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "forge/journal.h"
#include "kforge/optimize.h"

namespace kforge::forge {

// `folder`: of the run's files. nullopt: the person wants to stop. Errors: failed (disk).
Expected<std::optional<std::vector<Candidate>>> review_round(Journal& journal, const std::filesystem::path& folder, std::uint64_t round, std::vector<Candidate> proposed,
                                                             const std::function<ReviewAnswer(const Review&)>& ask);

}  // namespace kforge::forge
