// The task file: every key is read, every mistake is named with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "task/contract_ids.h"
#include "task/task.h"
#include "task/task_samples_test.h"

namespace kforge::task {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Mistake {
  std::string from, to;          // one replacement in the sample
  int line, column;              // of the error; column 0: not checked
  std::string message, hint;     // substrings
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TaskFile, ReadsEveryKeyOfTheSample) {
  const auto task = parse_task(kSampleTask, "/work/softmax/task.toml");
  ASSERT_TRUE(task) << to_string(task.error());
  EXPECT_EQ(task->name, "row_softmax");
  EXPECT_EQ(task->pattern, "softmax");
  EXPECT_EQ(task->reference, "/work/softmax/reference.cpp");
  ASSERT_EQ(task->tensors.size(), 2u);
  EXPECT_EQ(task->tensors[0].dtype, Dtype::f32);
  EXPECT_THAT(task->tensors[0].shape, ElementsAre("rows", "cols"));
  EXPECT_EQ(task->tensors[0].values.kind, "normal");
  EXPECT_THAT(task->tensors[0].values.arguments, ElementsAre(0, 1));
  EXPECT_EQ(task->tensors[1].role, Role::out);
  ASSERT_EQ(task->scalars.size(), 1u);
  EXPECT_EQ(task->scalars[0].value, 1.0);
  EXPECT_EQ(task->measure.at(0).at("cols"), 8192);
  EXPECT_EQ(task->verify.size(), 2u);
  EXPECT_THAT(task->where, ElementsAre("cols >= 1"));
  EXPECT_EQ(task->numerics.accumulate, Dtype::f32);
  EXPECT_EQ(task->numerics.reduction, "cols");
  EXPECT_FALSE(task->numerics.abs.has_value()) << "abs = rel = 0 leaves the contract's bound";
  EXPECT_EQ(task->gpu, "h200");
  ASSERT_TRUE(task->goal);
  EXPECT_THAT(task->goal->versus, ElementsAre("pytorch", "cublas", "roofline", "/work/softmax/mine.cu"));
  EXPECT_EQ(task->goal->ratio, 1.0);
  EXPECT_EQ(task->function, "softmax");
  EXPECT_THAT(task->allow, ElementsAre("workspace"));
  EXPECT_THAT(task->flags, ElementsAre("--use_fast_math"));
  ASSERT_TRUE(task->program);
  EXPECT_EQ(task->program->share, 0.41);
  EXPECT_EQ(task->contracts.at("compute.issue").level, Level::advice);
  EXPECT_EQ(task->contracts.at("occupancy").thresholds.at("min_warps"), 16);
  EXPECT_THAT(task->size_names(), ElementsAre("rows", "cols"));
  EXPECT_FALSE(task->sizes_are_64_bit);
}

TEST(TaskFile, EveryMistakeIsNamedWithItsPlace) {
  const std::vector<Mistake> mistakes{
      {"summary =", "sumary =", 4, 1, "unknown key 'sumary' in [task]", "'summary'"},
      {"[numerics]", "[numeric]", 36, 2, "unknown key 'numeric' in the task file", "'numerics'"},
      {"name = \"row_softmax\"\n", "", 2, 0, "missing key 'name' in [task]", "docs"},
      {"\"row_softmax\"", "\"row/softmax\"", 3, 8, "'row/softmax' is no task name", "letters"},
      {"name = \"x\"", "name = \"float\"", 11, 8, "reserved word", "another"},
      {"name = \"x\"", "name = \"2x\"", 11, 8, "no tensor name", "letter"},
      {"name = \"x\"", "name = 3", 11, 8, "a string is expected, this is an integer", ""},
      {"name = \"y\"", "name = \"x\"", 18, 8, "the name 'x' is used twice", "parameters"},
      {"name = \"y\"", "name = \"cols\"", 18, 8, "the name 'cols' is used twice", "parameters"},
      {"name = \"scale\"", "name = \"x\"", 25, 8, "the name 'x' is used twice", ""},
      {"dtype = \"f32\"", "dtype = \"fp32\"", 12, 9, "unknown dtype 'fp32'", "'f32'"},
      {"role = \"in\"", "role = \"input\"", 14, 8, "unknown role 'input'", ""},
      {"role = \"out\"", "role = \"in\"", 0, 0, "no tensor is an output", "role"},
      {"normal(0, 1)", "gaussian(0, 1)", 15, 11, "no distribution 'gaussian'", "known: normal"},
      {"normal(0, 1)", "normal(0)", 15, 0, "1 arguments, normal takes 2", "normal(mean"},
      {"normal(0, 1)", "uniform(1, 0)", 15, 0, "lowest value is above", ""},
      {"normal(0, 1)", "normal(0, one)", 15, 21, "'one' is no number", ""},
      {"normal(0, 1)", "normal(0, 1", 15, 0, "')' is missing", ""},
      {"normal(0, 1)", "integers(0, row)", 15, 0, "no size 'row'", "'rows'"},
      {"[\"rows\", \"cols\"]", "[\"rows\", \"cols +\"]", 13, 25, "missing at the end", ""},
      {"[\"rows\", \"cols\"]", "[\"rows\", \"cosl\"]", 32, 12, "size 'cosl' is missing from this row", ""},
      {"[\"rows\", \"cols\"]", "[\"rows\", -1]", 13, 18, "-1 is negative", ""},
      {"[\"rows\", \"cols\"]", "\"rows\"", 13, 9, "an array is expected, this is a string", ""},
      {"rows = 17, cols", "rows = 17, col", 33, 0, "no size 'col'", "'cols'"},
      {"rows = 17, cols = 1000", "rows = 17", 33, 0, "size 'cols' is missing", ""},
      {"rows = 17", "rows = 0", 33, 0, "a size is at least 1", ""},
      {"rows = 17", "rows = 3000000000", 33, 0, "does not fit the launcher's int", "size_type"},
      {"rows = 17", "rows = 1.5", 33, 0, "an integer is expected, this is a number", ""},
      {"cols >= 1", "cols + 1", 34, 0, "a condition is expected", ""},
      {"cols >= 1", "cols >= 2", 33, 11, "`where` excludes this row", ""},
      {"cols >= 1", "colls >= 1", 34, 10, "no size 'colls'", "'cols'"},
      {"cols >= 1", "cols = 1", 34, 16, "unexpected '= 1'", ""},
      {"accumulate = \"f32\"", "accumulate = \"i32\"", 37, 14, "i32 is no floating type", ""},
      {"reduction = \"cols\"", "reduction = \"col\"", 38, 13, "no size 'col'", "'cols'"},
      {"abs = 0.0", "abs = -1.0", 39, 7, "-1 is negative", ""},
      {"abs = 0.0", "abs = nan", 39, 7, "not finite", ""},
      {"\"pytorch\"", "\"pytroch\"", 46, 11, "unknown baseline 'pytroch'", "'pytorch'"},
      {"ratio = 1.0", "ratio = 0", 47, 9, "0 is not above 0", ""},
      {"function = \"softmax\"", "function = \"soft max\"", 50, 12, "'soft max' is no C function name", "letter"},
      {"function = \"softmax\"", "function = \"int\"", 50, 12, "reserved word", ""},
      {"[\"workspace\"]", "[\"workspaces\"]", 51, 10, "unknown permission 'workspaces'", "'workspace'"},
      {"abs = 0.0", "abs = inf", 39, 7, "not finite", ""},
      {"rel = 0.0", "rel = -1e-3", 40, 7, "is negative", ""},
      {"flags = [\"--use_fast_math\"]", "flags = [\"-O2\", \"-o\"]", 54, 17, "'-o' is the build's own to choose", "[hardware]"},
      {"flags = [\"--use_fast_math\"]", "flags = [\"-arch=sm_75\"]", 54, 10, "'-arch=sm_75' is the build's own", ""},
      {"flags = [\"--use_fast_math\"]", "flags = [\"--keep-dir\", \"/\"]", 54, 10, "'--keep-dir' is the build's own", ""},
      {"flags = [\"--use_fast_math\"]", "flags = [\"other.cu\"]", 54, 10, "'other.cu' is no option of nvcc", "a string of its own"},
      {"flags = [\"--use_fast_math\"]", "flags = [\"-I\"]", 54, 10, "'-I' lacks its value", ""},
      {"flags = [\"--use_fast_math\"]", "flags = [\"-DX=1\\n2\"]", 54, 10, "a line break", ""},
      {"flags = [\"--use_fast_math\"]", "flags = \"-O2\"", 54, 9, "an array is expected", ""},
      {"share = 0.41", "share = 41", 59, 9, "more than the whole", ""},
      {"\"compute.issue\" = \"advice\"", "\"compute.isue\" = \"advice\"", 62, 1, "unknown contract 'compute.isue'", "'compute.issue'"},
      {"\"compute.issue\" = \"advice\"", "compute.issue = \"advice\"", 62, 1, "unknown contract 'compute'", "quotes"},
      {"\"compute.issue\" = \"advice\"", "\"compute.issue\" = \"advise\"", 62, 19, "unknown level 'advise'", "'advice'"},
      {"min_warps = 16", "min_warp = 16", 63, 0, "unknown key 'min_warp' in contract 'occupancy'", "'min_warps'"},
      {"summary =", "name =", 4, 0, "no valid TOML", ""},
      {"summary =", "summary", 4, 0, "no valid TOML", ""},
      {"numerically", "\xff\xfe", 4, 40, "byte 0xff is not UTF-8", "UTF-8"},
      {"numerically", "\xed\xa0\x80", 4, 40, "byte 0xed is not UTF-8", "UTF-8"},
      {"numerically", "\xc0\x80", 4, 40, "byte 0xc0 is not UTF-8", "UTF-8"},
      {"reference.cpp", "reference.txt", 8, 13, "ends in '.txt'", "reference.cpp"},
      {"value = 1.0", "value = \"1\"", 27, 9, "a number is expected, this is a string", ""},
  };
  for (const auto& mistake : mistakes) {
    const auto task = parse_task(replaced(std::string(kSampleTask), mistake.from, mistake.to), "t/task.toml");
    ASSERT_FALSE(task) << mistake.to;
    const auto& error = task.error();
    EXPECT_EQ(error.code, ErrorCode::bad_input);
    EXPECT_EQ(error.where.file, "t/task.toml") << mistake.to;
    EXPECT_GT(error.where.line, 0) << to_string(error);
    EXPECT_GT(error.where.column, 0) << to_string(error);
    if (mistake.line > 0) { EXPECT_EQ(error.where.line, mistake.line) << mistake.to << "\n" << to_string(error); }
    if (mistake.column > 0) { EXPECT_EQ(error.where.column, mistake.column) << mistake.to << "\n" << to_string(error); }
    EXPECT_THAT(error.message, HasSubstr(mistake.message)) << mistake.to;
    EXPECT_THAT(error.hint, HasSubstr(mistake.hint)) << mistake.to;
    EXPECT_FALSE(error.hint.empty()) << to_string(error);
  }
}

TEST(TaskFile, FlagsMayHaveValuesOfTheirOwn) {
  const auto task = parse_task(replaced(std::string(kSampleTask), "flags = [\"--use_fast_math\"]", "flags = [\"-I\", \"include\", \"-DTILE=32\", \"-Xptxas\", \"-v\", \"--use_fast_math\", \"-maxrregcount=64\"]"), "task.toml");
  ASSERT_TRUE(task) << to_string(task.error());
  EXPECT_EQ(task->flags.size(), 7u);
}

TEST(TaskFile, StridesAreCheckedAgainstTheShape) {
  const auto with = [](const std::string& strides) {
    auto text = std::string(kSampleTask);
    return parse_task(replaced(text, "role = \"out\"", "role = \"out\"\nstrides = " + strides), "task.toml");
  };
  EXPECT_TRUE(with("[\"cols + 3\", 1]"));
  EXPECT_TRUE(with("[1, \"rows\"]"));
  EXPECT_THAT(with("[1]").error().message, HasSubstr("1 strides for 2 dimensions"));
  EXPECT_THAT(with("[\"cols - 1\", 1]").error().message, HasSubstr("overlap"));
  EXPECT_THAT(with("[\"ld\", 1]").error().message, HasSubstr("no size 'ld'"));
  EXPECT_THAT(with("[0, 1]").error().message, HasSubstr("overlap"));
}

TEST(TaskFile, BombsAreRefused) {
  const auto message = [](const std::string& text) { return parse_task(text, "task.toml").error().message; };
  EXPECT_THAT(message(std::string(300 * 1024, '#')), HasSubstr("at most 262144 are read"));
  EXPECT_THAT(message("a = " + std::string(100000, '[')), HasSubstr("no valid TOML"));
  std::string dots = "a";
  for (int i = 0; i < 50000; ++i) dots += ".a";
  EXPECT_THAT(message(dots + " = 1"), HasSubstr("more than 100 dots"));
  std::string inline_tables;
  for (int i = 0; i < 1000; ++i) inline_tables += "{a=";
  EXPECT_THAT(message("a = " + inline_tables), HasSubstr("no valid TOML"));
  EXPECT_THAT(message(replaced(std::string(kSampleTask), "cols >= 1", std::string(900, '('))), HasSubstr("nested deeper"));
  EXPECT_THAT(message(replaced(std::string(kSampleTask), "cols >= 1", std::string(900, '-'))), HasSubstr("nested deeper"));
  EXPECT_THAT(message(replaced(std::string(kSampleTask), "cols >= 1", std::string(5000, '1'))), HasSubstr("longer than 1024"));
  EXPECT_THAT(message(""), HasSubstr("missing key 'task'"));
}

TEST(TaskFile, TheReferenceMustExistWhenAFileIsRead) {
  const auto folder = std::filesystem::temp_directory_path() / ("kforge_task_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto path = (folder / "task.toml").string();
  std::ofstream(path) << kSampleTask;
  const auto missing = read_task(path);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no file"));
  EXPECT_EQ(missing.error().where.line, 8);
  std::ofstream(folder / "reference.cpp") << "\n";
  std::ofstream(folder / "mine.cu") << "\n";
  const auto found = read_task(path);
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->reference, (folder / "reference.cpp").string());
  std::filesystem::remove_all(folder);
  EXPECT_EQ(read_task(path).error().code, ErrorCode::bad_input);
}

// Each mutant parses or gives an error with a place and a hint; what parses gives cases or an error. The seed is fixed.
TEST(TaskFile, MutantsNeverCrash) {
  constexpr unsigned kSeed = 20250;
  std::mt19937 random(kSeed);
  const std::string_view words[] = {"\"", "[", "]", "{", "}", "=", "\n", ".", "-", "9223372036854775807", "nan", "\xff", "(", ")", ",", "rows", "'''", "0"};
  int parsed = 0;
  for (int i = 0; i < 4000; ++i) {
    auto text = std::string(kSampleTask);
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      const auto at = random() % text.size();
      switch (random() % 4) {
        case 0: text.erase(at, 1 + random() % 12); break;
        case 1: text.insert(at, words[random() % std::size(words)]); break;
        case 2: text[at] = static_cast<char>(random()); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
      }
    }
    const auto task = parse_task(text, "task.toml");
    if (task) ++parsed;
    else {
      ASSERT_GT(task.error().where.line, 0) << "seed " << kSeed << " mutant " << i << ": " << to_string(task.error()) << "\n" << text;
      ASSERT_FALSE(task.error().hint.empty()) << "seed " << kSeed << " mutant " << i << ": " << to_string(task.error());
    }
  }
  EXPECT_GT(parsed, 100);
  EXPECT_LT(parsed, 3000);
}

}  // namespace
}  // namespace kforge::task
