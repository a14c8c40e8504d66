// What a run teaches somebody who learns CUDA: why a fault costs what it costs on this GPU, the words that are used, and what did not help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/data_sheet.h"
#include "kforge/run.h"

namespace kforge::report {

// The sheet by which the run was judged; nothing when it is not known here (a file of another machine).
std::optional<hardware::DataSheet> sheet_of(const RunRecord& run);

// Why a violation of the contract is slow, or wrong, in terms of the GPU's own numbers; "" for contracts that explain themselves.
std::string hardware_reason(std::string_view contract, const hardware::DataSheet& sheet);

// Lines `line` - 2 to `line` of a source, with numbers; empty when it has no such line.
struct NumberedLine { std::uint32_t number = 0; std::string text; };
std::vector<NumberedLine> lines_around(std::string_view source, std::uint32_t line);

struct Word { std::string_view word, meaning; };
// The field's words that occur in the text, in alphabetical order.
std::vector<Word> words_in(std::string_view text);

// Moves that were rejected, or slower than what they were made from: at most `most` in order of trying, one of a kind.
struct Attempt { const TriedCandidate* tried = nullptr; std::string why; };
std::vector<Attempt> did_not_help(const RunRecord& run, std::size_t most);

}  // namespace kforge::report
