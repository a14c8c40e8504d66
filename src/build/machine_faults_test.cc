// What becomes of a build when the machine fails, not the source: an error, which nothing keeps. The compiler is a script of ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "build/builder.h"
#include "build/compile.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class MachineFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create("machine_faults_test");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TemporaryDirectory>(std::move(*folder));
    fs::create_directories(path() / "cuda" / "bin");
    setenv("KFORGE_CACHE", (path() / "cache").c_str(), 1);
    setenv("KFORGE_CUDA", (path() / "cuda").c_str(), 1);
    std::ofstream(path() / "kernel.cu") << "int not_read;\n";
  }
  void TearDown() override { unsetenv("KFORGE_CUDA"); }

  fs::path path() const { return folder_->path(); }

  // `body` runs in the build's folder, in place of nvcc.
  void compiler(const std::string& body) const {
    const fs::path nvcc = path() / "cuda" / "bin" / "nvcc";
    std::ofstream(nvcc) << "#!/bin/sh\ncase \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\necho x >> " << (path() / "runs").string()
                        << "\necho 'candidate.so: " << (path() / "kernel.cu").string() << "' > candidate.d\n" << body << "\n";
    fs::permissions(nvcc, fs::perms::owner_all);
  }
  Expected<Artefact> build() const {
    CandidateRequest request;
    request.source = (path() / "kernel.cu").string();
    request.interface.function = "run";
    return build_candidate(request);
  }
  std::size_t runs() const { return read_file(path() / "runs").value_or("").size() / 2; }

 private:
  std::unique_ptr<TemporaryDirectory> folder_;
};

struct Death { const char* name; const char* body; const char* message; };
class MachineDeath : public MachineFaults, public ::testing::WithParamInterface<Death> {};

TEST_P(MachineDeath, IsAnErrorThatNothingKeeps) {
  compiler(GetParam().body);
  for (std::size_t turn = 1; turn <= 2; ++turn) {
    const auto made = build();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::failed);
    EXPECT_THAT(made.error().message, HasSubstr(GetParam().message));
    EXPECT_EQ(runs(), turn);   // nothing came from the cache
  }
}

INSTANTIATE_TEST_SUITE_P(Machine, MachineDeath, ::testing::Values(
    Death{"nvcc_killed", "kill -9 $$", "killed from outside by signal 9 (Killed)"},
    Death{"nvcc_terminated", "kill -15 $$", "killed from outside by signal 15"},
    Death{"step_killed", "echo Killed; exit 137", "killed from outside by signal 9"},
    Death{"host_compiler_killed", "echo 'g++: fatal error: Killed signal terminated program cc1plus'; echo 'compilation terminated.'; exit 1", "killed from outside by signal 9"},
    Death{"killed_after_diagnostics", "echo 'kernel.cu(1): error: identifier \"y\" is undefined'; exit 137", "killed from outside by signal 9"},
    Death{"disk_full", "echo '<built-in>: fatal error: when writing output to ./k.cpp4.ii: No space left on device'; exit 1", "no space left in"},
    Death{"file_limit", "kill -XFSZ $$", "(ulimit -f)"},
    Death{"file_limit_of_a_step", "echo \"nvcc error   : 'cicc' died due to signal 25 \"; exit 1", "(ulimit -f)"},
    Death{"file_limit_of_the_host_compiler", "echo 'g++: fatal error: File size limit exceeded signal terminated program cc1plus'; exit 1", "(ulimit -f)"},
    Death{"file_limit_as_an_error", "echo '<built-in>: fatal error: when writing output to ./k.cpp4.ii: File too large'; exit 1", "(ulimit -f)"},
    Death{"driver_fault", "echo 'nvcc fatal   : Failed to preprocess host compiler properties.'; exit 1", "Failed to preprocess host compiler properties"},
    Death{"silent", "exit 1", "nvcc failed and said:"},
    Death{"no_object", "exit 0", "the object that nvcc made cannot be read"},
    Death{"half_an_object", "echo ELF > candidate.so", "the object that nvcc made is not whole"}),
    [](const auto& death) { return death.param.name; });

TEST_F(MachineFaults, TheClockOnTheWallRejectsNobody) {
  const Trouble trouble = trouble_of({.timed_out = true, .signal = 9, .cpu_s = 70}, "", {120, 1 << 30}, path());
  EXPECT_EQ(trouble.limit + trouble.crash, "");
  EXPECT_THAT(trouble.machine, HasSubstr("did not end within 60 min 0 s, and had used 1 min 10 s of the processor: the machine is too busy"));
}

TEST_F(MachineFaults, ACompilerThatCrashesTwiceIsTheSourcesDoingAndIsTriedAnewNextTime) {
  compiler("kill -SEGV $$");
  for (const std::size_t turn : {2u, 4u}) {
    const auto made = build();
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_FALSE(made->ok || made->from_cache);
    EXPECT_EQ(made->failure, "crash");
    EXPECT_EQ(runs(), turn);
  }
}

TEST_F(MachineFaults, WordsOfTheSourceAreNoSigns) {
  compiler("echo 'kernel.cu(1): error: #error directive: No space left on device, out of memory, CPU time limit exceeded signal terminated program'; exit 1");
  const auto made = build();
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->failure, "compile");
  ASSERT_TRUE(build());
  EXPECT_EQ(runs(), 1u);   // a diagnostic of the source is kept
}

TEST_F(MachineFaults, LimitsOfTheSourceAreToldByProcessorTimeAndMemory) {
  const auto limit = [&](ToolEnd end, std::string_view output) { return trouble_of(end, output, {2, 1 << 30}, path()).limit; };
  // As nvcc 13.0 and g++ 12 write them under `ulimit -S -t 2`.
  EXPECT_THAT(limit({.exit_status = 134}, "Internal error: CPU time limit exceeded.\nCompilation aborted.\nAborted\n"), HasSubstr("2.00 s of processor time"));
  EXPECT_THAT(limit({.exit_status = 4}, "g++: internal compiler error: CPU time limit exceeded signal terminated program cc1plus\n"), HasSubstr("2.00 s of processor time"));
  EXPECT_THAT(limit({.signal = 9, .cpu_s = 3}, ""), HasSubstr("2.00 s of processor time"));
  EXPECT_THAT(limit({.exit_status = 1}, "a.cu(3): error: device code does not support exception handling\n  void* more() { throw std::bad_alloc(); }  // out of memory\n                 ^\n"), ::testing::IsEmpty()) << "the source's words";
  EXPECT_THAT(limit({.exit_status = 1}, "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"), HasSubstr("1.0 GiB of memory"));
  EXPECT_THAT(limit({.exit_status = 1}, "cc1plus: out of memory allocating 65536 bytes\n"), HasSubstr("1.0 GiB of memory"));
  EXPECT_EQ(limit({.signal = 9, .cpu_s = 1}, ""), "");
}

}  // namespace
}  // namespace kforge::build
