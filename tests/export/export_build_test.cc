// Two runs of one task become one library with dispatch, a C++ header and a test, which builds here and passes on the emulated runtime; a
// wrong kernel in the winner's place makes the exported test fail.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "build/builder.h"
#include "kforge/export.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

RunRecord run_of(const std::string& folder, const std::string& source, std::int64_t cols) {
  RunRecord run;
  run.id = "run";
  run.task_path = (fs::path(KFORGE_SOURCE_DIR) / folder / "task.toml").string();
  run.task_text = *read_file(run.task_path);
  run.gpu = "h200";
  run.plan.sizes.resize(1);
  run.plan.sizes[0].sizes = {{"rows", 64}, {"cols", cols}};
  TriedCandidate tried;
  tried.candidate.id = run.winner = "winner";
  tried.candidate.source = source;
  tried.verdict.status = VerdictStatus::accepted;
  run.tried.push_back(tried);
  return run;
}

class Exported : public testing::Test {
 protected:
  void SetUp() override {
    const auto tools = build::find_toolchain();
    ASSERT_TRUE(tools) << to_string(tools.error());
    nvcc_ = tools->nvcc;
  }
  ProcessResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"env", "LD_LIBRARY_PATH=" KFORGE_BINARY_DIR "/bin/cudart"});
    ProcessRequest request;
    request.arguments = std::move(arguments);
    request.merge_output = true;
    request.limits.wall_seconds = 240;
    const auto result = run_process(request);
    EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
    return result ? *result : ProcessResult{};
  }
  void build(const std::string& folder) {
    const ProcessResult configured = run({KFORGE_CMAKE, "-G", "Ninja", "-S", folder, "-B", folder + "/build", "-DCMAKE_CUDA_COMPILER=" + nvcc_});
    ASSERT_TRUE(configured.succeeded()) << configured.out;
    const ProcessResult built = run({KFORGE_CMAKE, "--build", folder + "/build"});
    ASSERT_TRUE(built.succeeded()) << built.out;
  }
  std::string nvcc_;
  TemporaryDirectory temporary_ = std::move(*TemporaryDirectory::create());
};

TEST_F(Exported, FolderBuildsAndItsTestTellsRightFromWrong) {
  const std::string folder = (temporary_.path() / "out").string(), good = *read_file(fs::path(KFORGE_SOURCE_DIR) / "examples/softmax/good.cu");
  const auto done = export_runs({run_of("examples/softmax", good, 64), run_of("examples/softmax", *read_file(fs::path(KFORGE_SOURCE_DIR) / "examples/softmax/naive.cu"), 4096)}, {ExportForm::cpp, folder});
  ASSERT_TRUE(done) << to_string(done.error());
  // The C++ header compiles, too, and checks what it is given.
  std::ofstream(folder + "/use.cpp") << "#include \"row_softmax.hpp\"\nint use() { return row_softmax_library::takes(1, 1) && !row_softmax_library::takes(0, 1) && row_softmax_library::softmax(nullptr, nullptr, 1, 1, 1.0f) == cudaErrorInvalidDevicePointer ? 0 : 1; }\n";
  std::ofstream(folder + "/CMakeLists.txt", std::ios::app) << "target_sources(row_softmax_test PRIVATE use.cpp)\n";
  build(folder);
  const ProcessResult typed = run({"sh", "-c", done->build_command + " && " + done->emulated_test_command});
  EXPECT_EQ(typed.exit_status, 0) << typed.out;
  EXPECT_THAT(typed.out, HasSubstr("100% tests passed"));
  const ProcessResult right = run({folder + "/build/row_softmax_test"});
  EXPECT_EQ(right.exit_status, 0) << right.out;
  EXPECT_THAT(right.out, testing::AllOf(HasSubstr("ok     rows=17 cols=1000"), testing::Not(HasSubstr("FAILED"))));

  std::string wrong = good;
  const std::string from = "a.sum * expf";
  ASSERT_NE(wrong.find(from), std::string::npos);
  wrong.replace(wrong.find(from), from.size(), "1.0001f * a.sum * expf");
  std::ofstream(folder + "/winner_1.cu") << wrong;
  ASSERT_TRUE(run({KFORGE_CMAKE, "--build", folder + "/build"}).succeeded());
  const ProcessResult failed = run({folder + "/build/row_softmax_test"});
  EXPECT_EQ(failed.exit_status, 1) << failed.out;
  EXPECT_THAT(failed.out, HasSubstr("FAILED"));
}

}  // namespace
}  // namespace kforge
