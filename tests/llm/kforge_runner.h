// kforge as a user runs it, in a folder of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"

namespace kforge {

class Runner : public ::testing::Test {
 protected:
  Runner() : folder_(*TemporaryDirectory::create("llm-test")) {}

  ProcessResult kforge(std::vector<std::string> arguments, double seconds = 400, const std::string& input = "") const {
    arguments.insert(arguments.begin(), (executable_folder() / "kforge").string());
    ProcessRequest request;
    request.arguments = std::move(arguments);
    request.working_directory = folder_.path();
    request.limits.wall_seconds = seconds;
    request.stdin_text = input;
    auto result = run_process(request);
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? std::move(*result) : ProcessResult{};
  }
  nlohmann::json record(const std::string& run = "last") const { return nlohmann::json::parse(kforge({"runs", run, "--json"}).out, nullptr, false); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string source_path(const std::string& below) { return std::string(KFORGE_SOURCE_DIR) + "/" + below; }

  TemporaryDirectory folder_;
};

}  // namespace kforge
