// `kforge` as a user runs it on a machine whose driver, NVML and CUPTI are fakes and whose GPU is the emulated runtime.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"

namespace kforge {

namespace fs = std::filesystem;
using nlohmann::json;

inline const fs::path kHere = fs::path(KFORGE_SOURCE_DIR) / "tests" / "device";
inline constexpr const char* kFakeDriver = KFORGE_BINARY_DIR "/bin/libkforge_fake_driver.so";
inline constexpr const char* kFakeCupti = KFORGE_BINARY_DIR "/bin/libkforge_fake_cupti.so";

struct Answer {
  int exit_code = -1;
  std::string out, err;
  json parsed() const { return json::parse(out, nullptr, false); }
};

class FakeGpu : public ::testing::Test {
 protected:
  Answer kforge(std::vector<std::string> arguments, const std::string& machine = "small", const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> set = {{"KFORGE_FAKE_GPU", machine}, {"KFORGE_LIBCUDA", kFakeDriver}, {"KFORGE_LIBNVML", kFakeDriver}, {"KFORGE_LIBCUDART", KFORGE_BINARY_DIR "/bin/libkforge_cudart.so"}, {"KFORGE_LIBCUPTI", "/nowhere/libcupti.so"}};
    for (const auto& [name, value] : more) set[name] = value;
    // The times of this GPU are those of a busy machine: what is judged by them alone stays out. hostile_test tries these defences.
    set["KFORGE_DEFENCES_OFF"] += set["KFORGE_DEFENCES_OFF"].empty() ? "clock,fresh" : ",clock,fresh";
    std::vector<std::string> environment;
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry;
      if (!set.count(text.substr(0, text.find('=')))) environment.push_back(text);
    }
    for (const auto& [name, value] : set) environment.push_back(name + "=" + value);
    arguments.insert(arguments.begin(), KFORGE_BINARY_DIR "/bin/kforge");
    ProcessRequest request;
    request.arguments = std::move(arguments);
    request.environment = std::move(environment);
    request.limits.wall_seconds = 200;
    const auto result = run_process(request);
    EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
    return result ? Answer{result->exit_status, result->out, result->err} : Answer{};
  }

  Answer check(const fs::path& candidate, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"check", (kHere / "task.toml").string(), (kHere / candidate).string(), "--device", "gpu:0", "--time-seconds", "0.3", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kforge(arguments);
  }

  Answer bench(const std::vector<std::string>& candidates, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"bench", (kHere / "task.toml").string()};
    for (const std::string& candidate : candidates) arguments.push_back((kHere / candidate).string());
    arguments.insert(arguments.end(), {"--time-seconds", "0.3"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kforge(arguments);
  }
};

inline const json* find(const json& list, const char* key, const std::string& value) {
  for (const json& one : list)
    if (one.at(key) == value) return &one;
  return nullptr;
}

// With programs of the test's own before the machine's.
class WithPrograms : public FakeGpu {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create("device_test");
    ASSERT_TRUE(made);
    folder_ = std::make_unique<TemporaryDirectory>(std::move(*made));
  }
  std::string folder() const { return folder_->path().string(); }
  std::string write(const std::string& name, const std::string& text, bool program = false) {
    const fs::path path = folder_->path() / name;
    std::ofstream(path) << text;
    if (program) fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string path_with_programs() { return folder() + ":" + std::getenv("PATH"); }

 private:
  std::unique_ptr<TemporaryDirectory> folder_;
};

}  // namespace kforge
