#include "check_runner.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"

namespace kforge::tests {
namespace fs = std::filesystem;

namespace {

void read_verdict(const std::string& text, CheckRun& run) {
  const auto verdict = nlohmann::json::parse(text, nullptr, false);
  if (verdict.is_discarded()) return;
  run.status = verdict.value("status", "");
  run.why = verdict.value("why", "");
  for (const auto& f : verdict.value("findings", nlohmann::json::array()))
    run.findings.push_back({f.value("contract", ""), f.value("severity", ""), f.value("file", ""), f.value("line", 0)});
  for (const auto& c : verdict.value("contracts", nlohmann::json::array()))
    if (c.value("level", "") == "required" && c.value("status", "") == "failed") run.failed.push_back(c.value("id", ""));
}

// A suite that runs on every change goes the same way each time: its fresh inputs and sizes are always the same ones, drawn anew where KFORGE_RANDOM_SEEDS
// is set. What they are no candidate learns either way.
std::vector<std::string> with_seed(std::vector<std::string> options) {
  const bool given = std::find(options.begin(), options.end(), "--fresh-seed") != options.end();
  if (!given && std::getenv("KFORGE_RANDOM_SEEDS") == nullptr) options.insert(options.end(), {"--fresh-seed", "2718281828459045"});
  return options;
}

}  // namespace

CheckRun check(const fs::path& task, const fs::path& candidate, const std::vector<std::string>& options) {
  const std::vector<std::string> seeded = with_seed(options);
  ProcessRequest request;
  request.arguments = {(executable_folder() / "kforge").string(), "check", task.string(), candidate.string(), "--json"};
  request.arguments.insert(request.arguments.end(), seeded.begin(), seeded.end());
  request.limits.wall_seconds = 240;
  const auto result = run_process(request);
  CheckRun run;
  if (!result) {
    run.output = to_string(result.error());
    return run;
  }
  run.exit_code = result->signal != 0 || result->timed_out ? -1 : result->exit_status;
  run.output = result->err + result->out;
  run.seconds = result->wall_seconds;
  read_verdict(result->out, run);
  return run;
}

std::map<fs::path, CheckRun> check_all(const fs::path& task, const std::vector<fs::path>& candidates, const std::vector<std::string>& options) {
  std::map<fs::path, CheckRun> runs;
  const auto scratch = TemporaryDirectory::create("check_test");
  if (!scratch) return runs;
  const fs::path folder = scratch->path() / "candidates", verdicts = scratch->path() / "verdicts";
  fs::create_directory(folder);
  for (const fs::path& candidate : candidates) fs::create_symlink(candidate, folder / candidate.filename());   // sources are known by what links lead to
  const std::vector<std::string> seeded = with_seed(options);
  ProcessRequest request;
  request.arguments = {(executable_folder() / "kforge").string(), "check", task.string(), folder.string(), "--out", verdicts.string()};
  request.arguments.insert(request.arguments.end(), seeded.begin(), seeded.end());
  request.limits.wall_seconds = 240 * static_cast<double>(candidates.size());
  const auto result = run_process(request);
  const std::string said = result ? result->err + result->out : to_string(result.error());
  for (const fs::path& candidate : candidates) {
    CheckRun& run = runs[candidate];
    const std::string text = read_file(verdicts / (candidate.filename().string() + ".json")).value_or("");
    read_verdict(text, run);
    run.output = said + text;
    run.exit_code = run.status == "accepted" ? 0 : run.status == "rejected" ? 1 : -1;
  }
  return runs;
}

std::vector<Expectation> expectations(const fs::path& candidate) {
  std::vector<Expectation> found;
  std::ifstream in(candidate);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    for (const std::string key : {"// expect: ", "// expect-contract: "}) {
      const auto at = line.find(key);
      if (at == std::string::npos) continue;
      Expectation expectation;
      expectation.line = key == "// expect: " ? number : 0;
      std::istringstream words(line.substr(at + key.size()));
      for (std::string word; words >> word;) expectation.contracts.push_back(word);
      found.push_back(std::move(expectation));
    }
  }
  return found;
}

std::string unmet(const CheckRun& run, const Expectation& expectation) {
  if (run.exit_code != 1 || run.status != "rejected") return "not rejected";
  for (const std::string& contract : expectation.contracts) {
    if (std::find(run.failed.begin(), run.failed.end(), contract) == run.failed.end()) continue;
    if (expectation.line == 0) return {};
    for (const FindingSeen& finding : run.findings)
      if (finding.contract == contract && finding.line == expectation.line) return {};
    return contract + " failed, but not at line " + std::to_string(expectation.line);
  }
  return expectation.contracts.front() + " did not fail";
}

fs::path source_folder() { return KFORGE_SOURCE_DIR; }

std::vector<fs::path> cuda_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace kforge::tests
