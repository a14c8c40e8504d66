// What nvcc would run, taken from `nvcc --dryrun`: the commands of one compilation for one target, as words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::build {

using Command = std::vector<std::string>;

struct NvccSteps {
  Command preprocess_device, preprocess_host, cudafe, cicc, ptxas, fatbinary, compile_host, link;
};

// Nothing where nvcc would run anything but these eight in this order (several targets, separate compilation, another version): then
// nvcc itself has to be run.
std::optional<NvccSteps> parse_dryrun(std::string_view output);

// The word after `option`, or "".
std::string option_value(const Command& command, std::string_view option);

// The files that a preprocessed text came from: the names of its line markers, each once, in order.
std::vector<std::string> marked_files(std::string_view preprocessed);

}  // namespace kforge::build
