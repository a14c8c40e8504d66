// Exit codes of the command line for calls that can do nothing: 2 names the word at fault, 3 what is missing here.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"

namespace kforge {
namespace {

using ::testing::HasSubstr;

const std::string kTask = KFORGE_SOURCE_DIR "/examples/softmax/task.toml", kCandidate = KFORGE_SOURCE_DIR "/examples/softmax/good.cu";

ProcessResult kforge(std::vector<std::string> words) {
  ProcessRequest request;
  request.arguments = {(executable_folder() / "kforge").string()};
  request.arguments.insert(request.arguments.end(), words.begin(), words.end());
  const auto result = run_process(request);
  EXPECT_TRUE(result);
  return result ? *result : ProcessResult{};
}

struct Call { const char* name; std::vector<std::string> words; int exit_status; const char* message; };
class Calls : public ::testing::TestWithParam<Call> {};

TEST_P(Calls, AreAnsweredAsDesigned) {
  const ProcessResult result = kforge(GetParam().words);
  EXPECT_EQ(result.exit_status, GetParam().exit_status) << result.err;
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
}

std::vector<Call> calls() {
  std::vector<Call> out = {
      {"misspelt_command", {"chek", kTask}, 2, "there is no command 'chek'; did you mean 'check'?"},
      {"no_command_at_all", {"zzzzzzzz"}, 2, "the commands are"},
      {"kernel_alone", {"mine.cu"}, 2, "kforge check TASK.toml mine.cu"},
      {"empty_word", {""}, 2, "there is no command ''"},
      {"swapped", {"check", kCandidate, kTask}, 2, "the task file comes first: kforge check"},
      {"candidate_alone", {"check", kCandidate}, 2, "the task file comes first: kforge check TASK.toml"},
      {"missing_task", {"check", "nothere.toml"}, 2, "nothere.toml"},
      {"missing_candidate", {"check", kTask, "nothere.cu"}, 2, "nothere.cu"},
      {"export_form", {"export", "last", "--as", "rust"}, 2, "--as: rust not in {cuda,cpp}"},
      {"plan_missing_task", {"plan", "nothere.toml"}, 2, "nothere.toml"},
      {"report_missing_file", {"report", "nothere.json"}, 2, "nothere.json: there is no such file"},
      {"report_folder", {"report", "/tmp/"}, 2, "this is a folder"},
      {"explain_missing_file", {"explain", "./nothere"}, 2, "./nothere: there is no such file"},
      {"limit_nan", {"run", "x.cu", "--limit", "nan"}, 2, "--limit: expected"},
      {"limit_inf", {"run", "x.cu", "--limit", "infs"}, 2, "--limit: expected"},
      {"limit_hexadecimal", {"run", "x.cu", "--limit", "0x10"}, 2, "--limit: expected"},
      {"limit_half", {"run", "x.cu", "--limit", "2e9,"}, 2, "--limit: expected"},
      {"limit_says_what_it_takes", {"run", "x.cu", "--limit", "soon"}, 2, "found 'soon'; without --limit there is none"},
      {"wrong_word_says_what_to_do", {"run", "x.cu", "--limit", "soon"}, 2, "hint: kforge run --help"},
      {"run_unknown_check", {"run", "x.cu", "--checks", "foo"}, 2, "there is no check named \"foo\""},
      {"run_unknown_gpu", {"run", "x.cu", "--gpu", "h999"}, 2, "no data sheet is named 'h999'"},
      {"run_nothing_there", {"run", "nothere.txt"}, 2, "there is no such source file, nor a program of that name"},
      {"run_nothing_there_by_path", {"run", "./nothere.txt"}, 2, "there is no such program"},
      {"run_text", {"run", KFORGE_SOURCE_DIR "/README.md"}, 2, "neither a source, by its name, nor a program"},
      {"run_folder", {"run", "/tmp/"}, 2, "this is a folder"},
      {"run_profile_nowhere", {"run", "x.cu", "--profile", "/nonexistent/x"}, 2, "/nonexistent/x: the folder of this file is not there"},
      {"optimize_output_nowhere", {"optimize", kTask, "-o", "/nonexistent/x"}, 2, "/nonexistent/x: the folder of this file is not there"},
      {"optimize_store_nowhere", {"optimize", kTask, "--store", "/proc/zz"}, 2, "--store FOLDER, or KFORGE_STORE"},
      {"optimize_task_and_run", {"optimize", kTask, "--resume", "last"}, 2, "and --resume last were both given"},
      {"optimize_nothing", {"optimize"}, 2, "neither a task file nor --resume RUN was given"},
      {"plan_output_nowhere", {"plan", kTask, "-o", "/nonexistent/x"}, 2, "/nonexistent/x: the folder of this file is not there"},
      {"report_output_nowhere", {"report", "last", "-o", "/nonexistent/x"}, 2, "/nonexistent/x: the folder of this file is not there"},
      {"ci_junit_nowhere", {"ci", "/tmp", "--junit", "/nonexistent/x"}, 2, "/nonexistent/x: the folder of this file is not there"},
      {"dataset_output_nowhere", {"export", "dataset", "-o", "/nonexistent/x"}, 2, "/nonexistent/x: the folder of this file is not there"},
      {"explain_empty", {"explain", ""}, 2, "an empty argument"},
  };
  struct Option { const char* command; const char* option; bool whole; };
  struct Bad { const char* name; const char* text; bool of_reals; };
  for (const Option& option : {Option{"check", "--seed", true}, Option{"check", "--call-seconds", false}, Option{"check", "--time-seconds", false}, Option{"check", "--call-instructions", true},
                               Option{"check", "--measure-instructions", true}, Option{"check", "--jobs", true}, Option{"optimize", "--budget-seconds", false}, Option{"optimize", "--candidates", true},
                               Option{"optimize", "--stagnation", true}, Option{"optimize", "--seed", true}, Option{"optimize", "--jobs", true}, Option{"bench", "--time-seconds", false}, Option{"eval", "--seed", true}, Option{"eval", "--jobs", true}, Option{"eval", "--budget-seconds", false}}) {
    for (const Bad& bad : {Bad{"nan", "nan", true}, Bad{"inf", "inf", true}, Bad{"negative", "-1", true}, Bad{"empty", "", true}, Bad{"trailing", "12x", true}, Bad{"space", " 12", true}, Bad{"overflow", "1e999", true},
                           Bad{"above_64_bits", "18446744073709551616", false}, Bad{"fraction", "1.5", false}, Bad{"hexadecimal", "0x10", false}}) {
      if (!option.whole && !bad.of_reals) continue;
      out.push_back({"", {option.command, kTask, std::string(option.option) + "=" + bad.text}, 2, option.option});
    }
  }
  for (const char* option : {"--gpu", "--device", "--out"}) out.push_back({"", {"check", kTask, kCandidate, option, ""}, 2, option});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Words, Calls, ::testing::ValuesIn(calls()), [](const auto& call) {
  std::string name = *call.param.name ? call.param.name : std::to_string(call.index) + call.param.words[0] + call.param.message;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; });
  return name;
});

TEST(Help, OfEachCommandEndsWithAnExampleAndIsText) {
  for (const char* command : {"optimize", "check", "run", "plan", "profile", "explain", "runs", "report", "export", "gpus", "doctor", "mcp", "bench", "ci", "eval", "worker", "export-dataset", "knowledge"}) {
    const ProcessResult help = kforge({command, "--help"});
    EXPECT_EQ(help.exit_status, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Example")) << command;
    EXPECT_EQ(std::count_if(help.out.begin(), help.out.end(), [](unsigned char c) { return c < 32 && c != '\n'; }), 0) << command;
  }
}

TEST(Stdout, ThatIsFullIsAnError) {
  for (const char* words : {"gpus", "gpus --json", "doctor --json", "--help"}) {
    ProcessRequest request;
    request.arguments = {"/bin/sh", "-c", (executable_folder() / "kforge").string() + " " + words + " > /dev/full"};
    const auto result = run_process(request);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->exit_status, 3) << words;
    EXPECT_THAT(result->err, HasSubstr("stdout takes no more")) << words;
  }
}

// Files that may not grow (ulimit -f): the kernel's signal would end the program in the middle of its work.
struct FileLimit : ::testing::Test {
  ProcessResult under(int blocks, const std::string& words) const {
    ProcessRequest request;
    const std::string here = folder.path().string();
    request.arguments = {"/bin/sh", "-c", "ulimit -f " + std::to_string(blocks) + "; KFORGE_CACHE=" + here + "/cache KFORGE_STORE=" + here + "/store exec " + (executable_folder() / "kforge").string() + " " + words};
    request.limits.wall_seconds = 60;
    const auto result = run_process(request);
    EXPECT_TRUE(result);
    return result ? *result : ProcessResult{};
  }
  TemporaryDirectory folder = std::move(*TemporaryDirectory::create());
};

TEST_F(FileLimit, IsAnErrorThatNamesIt) {
  const std::string here = folder.path().string();
  struct Row { int blocks; std::string words, message; };
  for (const Row& row : {Row{1, "gpus > " + here + "/out", "stdout takes no more: File too large"}, Row{1, "plan " + kTask + " -o " + here + "/plan.toml", "ulimit -f"}, Row{1, "optimize " + kTask, "ulimit -f"},
                         Row{8, "check " + kTask + " " + kCandidate + " --only correctness", "ulimit -f"}}) {
    const ProcessResult result = under(row.blocks, row.words);
    EXPECT_EQ(result.signal, 0) << row.words;
    EXPECT_EQ(result.exit_status, 3) << row.words << "\n" << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr(row.message)) << row.words;
  }
}

}  // namespace
}  // namespace kforge
