// `kforge optimize --from slow.cu --no-templates`: the user's own kernel becomes faster, by its own transformations alone, and stays the
// user's: comments and names are where they were. Over a sample of the naive kernels and few candidates; KFORGE_ALL=1 takes all and more.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"
#include "syntax/testing.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Of different kinds: an exchange of axes, a reduction by atomics, rows, a tile.
const std::vector<std::string> kSample = {"heat", "layer_norm", "sum", "transpose"};

bool all_of_them() {
  const char* value = std::getenv("KFORGE_ALL");
  return value && *value;
}

fs::path folder_of(const std::string& name) { return fs::path(KFORGE_SOURCE_DIR) / "tests/transform" / name; }

std::vector<std::string> kernels() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder_of("")))
    if (fs::exists(entry.path() / "slow.cu")) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return all_of_them() ? out : kSample;
}

struct Gain { double before = 0, after = 0; std::vector<std::string> moves; std::string winner; };

double us_of(const json& tried) {
  const json verdict = tried.value("verdict", json::object());
  return verdict.contains("time") && verdict["time"].is_object() ? verdict["time"].value("us", 0.0) : 0;
}

Gain optimized(const std::string& name, const fs::path& folder) {
  ProcessRequest request;
  request.arguments = {(executable_folder() / "kforge").string(), "optimize", (folder_of(name) / "task.toml").string(), "--from", (folder_of(name) / "slow.cu").string(), "--no-templates",
                       "--candidates", all_of_them() ? "24" : "4", "--budget-seconds", "400", "--fresh-seed", "2718281828459045", "--store", (folder / name).string(), "--json"};
  request.working_directory = folder;
  request.limits.wall_seconds = 500;
  const auto result = run_process(request);
  Gain out;
  const json run = result ? json::parse(result->out, nullptr, false) : json();
  if (!run.is_object()) {
    ADD_FAILURE() << name << ": " << (result ? result->err : to_string(result.error()));
    return out;
  }
  std::map<std::string, json> by_id;
  for (const json& tried : run["tried"]) by_id[tried["candidate"]["id"]] = tried;
  out.before = us_of(by_id[run.value("baseline", "")]);
  out.after = us_of(by_id[run.value("winner", "")]);
  for (std::string id = run.value("winner", ""); by_id.contains(id); id = by_id[id]["candidate"].value("parent", "")) {
    if (out.winner.empty()) out.winner = by_id[id]["candidate"].value("source", "");
    out.moves.push_back(by_id[id]["candidate"]["move"].value("id", ""));
  }
  return out;
}

TEST(TransformOptimize, NaiveKernelsBecomeTwiceAsFastAndStayTheirAuthors) {
  const auto folder = TemporaryDirectory::create("transform-optimize");
  ASSERT_TRUE(folder);
  double logs = 0;
  const auto names = kernels();
  for (const std::string& name : names) {
    const Gain gain = optimized(name, folder->path());
    EXPECT_GT(gain.before, 0) << name;
    EXPECT_GT(gain.after, 0) << name << " has no winner";
    if (gain.before <= 0 || gain.after <= 0) continue;
    std::string moves;
    for (const std::string& move : gain.moves) moves += " < " + move;
    std::printf("%-16s %9.2f us -> %8.2f us  %6.2fx %s\n", name.c_str(), gain.before, gain.after, gain.before / gain.after, moves.c_str());
    logs += std::log(gain.before / gain.after);
    EXPECT_EQ(gain.moves.back(), "start") << name << " does not descend from the given kernel";
    const auto slow = syntax::testing::parsed(*read_file(folder_of(name) / "slow.cu"));
    const auto fast = syntax::testing::parsed(gain.winner);
    for (const syntax::Node& comment : syntax::find_all(slow.tree().root(), "comment"))
      EXPECT_NE(gain.winner.find(comment.text()), std::string::npos) << name << " lost " << comment.text();
    for (const syntax::Function& function : slow.functions()) {
      const syntax::Function* same = fast.find(function.name);
      ASSERT_NE(same, nullptr) << name << " lost " << function.name;
      for (const syntax::Parameter& parameter : function.parameters) EXPECT_NE(same->find(parameter.name), nullptr) << name << ' ' << function.name << " lost " << parameter.name;
    }
  }
  EXPECT_GE(std::exp(logs / static_cast<double>(names.size())), 2.0);
}

}  // namespace
}  // namespace kforge
