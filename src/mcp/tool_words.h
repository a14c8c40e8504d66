// What several tools say or need in the same way.
#pragma once

#include <string>
#include <vector>

#include "kforge/check.h"
#include "kforge/profile.h"
#include "mcp/tool.h"

namespace kforge::mcp {

// Task, candidate, GPU, seed, progress and cancellation of a call. Errors: bad_input (a path outside the roots, both candidate and source).
Expected<CheckOptions> check_options(const ToolCall& call);
// `source` "" takes the path. Errors: bad_input.
Expected<std::string> candidate_file(const ToolCall& call, const std::string& path, const std::string& source);

// "21.79 us, modelled"; "no time".
std::string time_text(const Verdict& verdict);
// "shared.banks line 22: 4194304 wavefronts ..., measured 32, required <= 1", with its first advice.
std::string finding_text(const Finding& finding);
Json finding_json(const Finding& finding);

// Keeps verdict, source and report, and says their handles.
void add_verdict_links(const ToolCall& call, const Verdict& verdict, const std::string& source, Answer& answer);
void add_link(Answer& answer, Link link);

}  // namespace kforge::mcp
