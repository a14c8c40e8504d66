// Why warps waited, by line of the source: ncu's samples of program counters (section SourceCounters), read from its page "source".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::gpu {

using StallSamples = std::map<std::string, double>;   // by reason, as ncu's columns have it without "stall_": "long_sb", "barrier", "selected"

struct StalledLine {
  std::string file;              // as the compiler wrote it; "" where ncu knows machine code alone
  std::uint32_t line = 0;
  StallSamples samples;          // what is missing or no number is absent
};

struct KernelStalls {
  std::string kernel;            // as ncu prints it
  std::vector<StalledLine> lines;
};

struct StallReport {
  std::vector<KernelStalls> kernels;
  std::string trouble;           // why there are none; "" when there are
};

// The options of ncu whose output read_stalls() reads.
std::vector<std::string> stall_options();

// A table a kernel and file, with a row a line of source and rows of its machine code after it; columns are known by their heads, whatever the version.
// Where the code carries no lines, the machine code's rows are summed as line 0 of no file.
StallReport read_stalls(std::string_view text);

// "long_sb" in words: "for global or local memory"; the reason itself where it is not known.
std::string stall_meaning(const std::string& reason);

// Samples of warps that waited: all but those that issued, or were ready when another was chosen.
double waiting(const StallSamples& samples);

// The lines where warps wait longest, in one sentence: "warps wait 86% of their samples, most at mine.cu:21 (99%, for shared memory)". Empty without samples.
std::string describe_stalls(const std::vector<KernelStalls>& kernels);

}  // namespace kforge::gpu
