// What the judge says of a candidate, for a model: the principal finding first, each with its line of the source, measured against required, cause and advice.
//
// The text depends on the verdict and the source alone: no paths, no seconds of the check, figures rounded to what a kernel's author needs. So equal runs give
// equal prompts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/profile.h"
#include "kforge/verdict.h"

namespace kforge::model {

struct VerdictWords {
  std::size_t findings = 6;    // further ones are counted
  bool bare = false;           // only whether it builds, how wrong it is, and the time: what many harnesses give
};

std::string verdict_text(const Verdict& verdict, std::string_view source, const VerdictWords& words = {});
// One line: "accepted, 31.1 us", "rejected: shared.banks at line 22 (32.00 where 1 is required), 21.8 us".
// `bare`: as VerdictWords.
std::string outcome_line(const Verdict& verdict, bool bare = false);
// Finding number `index` with everything that is known of it. "" when there is none.
std::string finding_text(const Verdict& verdict, std::size_t index, std::string_view source);

// The counters of each kernel and of its hottest lines.
std::string profile_text(const std::vector<evidence::KernelProfile>& profiles, std::string_view source, std::size_t lines = 8);

// The instructions of PTX that come from one line of the source (`line` 0: the whole of a kernel, or of all). Cut at `bytes`.
std::string ptx_excerpt(std::string_view ptx, std::uint32_t line, std::size_t bytes = 6000);
// As ptx_excerpt, of nvdisasm's text (build/disassembler.h): instructions that were inlined into the line are of it, too.
std::string sass_excerpt(std::string_view sass, std::uint32_t line, std::size_t bytes = 6000);

}  // namespace kforge::model
