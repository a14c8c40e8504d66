// Runs `kforge check --json` on a candidate and reads what comes back; reads what a wrong kernel expects of the judge.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kforge::tests {

struct FindingSeen {
  std::string contract, severity, file;
  int line = 0;
};

struct CheckRun {
  int exit_code = -1;
  std::string status, why;
  std::vector<FindingSeen> findings;
  std::vector<std::string> failed;       // required contracts that failed
  std::string output;                    // everything, for messages
  double seconds = 0;
};
CheckRun check(const std::filesystem::path& task, const std::filesystem::path& candidate, const std::vector<std::string>& options = {});
// Candidates of one task in one call, which keeps its compilers from one to the next; by candidate. `output` is that of the whole call, with the verdict.
std::map<std::filesystem::path, CheckRun> check_all(const std::filesystem::path& task, const std::vector<std::filesystem::path>& candidates, const std::vector<std::string>& options = {});

// `// expect: CONTRACT` at the end of a line: the contract must fail with a finding at that line.
// `// expect-contract: CONTRACT [CONTRACT]`: one of the contracts must fail, wherever.
struct Expectation {
  std::vector<std::string> contracts;
  int line = 0;                          // 0: anywhere
};
std::vector<Expectation> expectations(const std::filesystem::path& candidate);

// Empty when the run rejects the candidate as expected; else what is amiss.
std::string unmet(const CheckRun& run, const Expectation& expectation);

std::filesystem::path source_folder();
std::vector<std::filesystem::path> cuda_files(const std::filesystem::path& folder);   // sorted

}  // namespace kforge::tests
