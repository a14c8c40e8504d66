// Every entry of data/knowledge/compiler-messages.toml is written by the tool that it names, today, and is the entry that explains it.
#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/compile.h"
#include "knowledge/messages.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using knowledge::MessageRow;

bool names_architecture(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) { return flag.starts_with("-arch") || flag.starts_with("--gpu-architecture"); });
}

std::vector<std::string> nvcc_words(const MessageRow& row, const fs::path& folder) {
  std::vector<std::string> words;
  if (row.provoke.with == "ptx" || row.provoke.with == "cubin") words.push_back("-" + row.provoke.with);
  if (row.provoke.with == "nvcc") words.emplace_back("-c");
  words.insert(words.end(), {"-o", (folder / "out").string()});
  return words;
}

// Everything the tool prints, or "" with a test failure when it could not be started.
std::string provoke(const MessageRow& row, const build::Toolchain& tools) {
  const auto folder = TemporaryDirectory::create();
  const bool is_ptx = row.provoke.with == "ptxas";
  const fs::path source = folder->path() / (is_ptx ? "k.ptx" : "k.cu");
  std::ofstream(source) << row.provoke.source;
  std::vector<std::string> command = {tools.nvcc};
  if (is_ptx) command = {(fs::path(tools.nvcc).parent_path() / "ptxas").string(), "-o", (folder->path() / "out").string()};
  else for (std::string& word : nvcc_words(row, folder->path())) command.push_back(std::move(word));
  if (!names_architecture(row.provoke.flags)) command.emplace_back(is_ptx ? "-arch=sm_75" : "-arch=sm_90");
  command.insert(command.end(), row.provoke.flags.begin(), row.provoke.flags.end());
  command.push_back(source.string());
  const auto result = run_process({.arguments = build::in_tool_environment(command, folder->path().string()), .environment = {}, .working_directory = {},
                                   .stdin_text = {}, .merge_output = true, .limits = {.wall_seconds = 120, .cpu_seconds = {}, .memory_bytes = {}}});
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  return result ? result->out : "";
}

// The line that the pattern takes must be explained by this entry and no earlier one.
std::string amiss(const MessageRow& row, const std::string& output) {
  for (const std::string_view line : split_lines(output)) {
    const CompilerMessage* found = explain_message(line);
    if (found && found->id == row.message.id) return {};
  }
  return row.message.id + " was not provoked; the tool wrote:\n" + output;
}

std::vector<const MessageRow*> rows(bool nvrtc) {
  std::vector<const MessageRow*> out;
  for (const MessageRow& row : knowledge::message_rows())
    if ((row.provoke.with == "nvrtc") == nvrtc) out.push_back(&row);
  return out;
}

TEST(Messages, NvrtcWritesThem) {
  for (const MessageRow* row : rows(true)) {
    const auto folder = TemporaryDirectory::create();
    const fs::path source = folder->path() / "k.cu";
    std::ofstream(source) << row->provoke.source;
    const auto result = build::compile_device_code(source.string(), 90, row->provoke.flags);
    ASSERT_TRUE(result) << to_string(result.error());
    std::string output;
    for (const build::Diagnostic& diagnostic : result->diagnostics) output += diagnostic.message + "\n";
    EXPECT_EQ(amiss(*row, output), "");
  }
}

TEST(Messages, NvccPtxasAndTheLinkerWriteThem) {
  const auto tools = build::find_toolchain();
  ASSERT_TRUE(tools) << to_string(tools.error());
  const auto all = rows(false);
  std::vector<std::string> wrong(all.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) wrong[i] = amiss(*all[i], provoke(*all[i], *tools));
  };
  std::jthread other(work);
  work();
  other.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace kforge
