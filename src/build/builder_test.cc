// Real builds by the real compilers. Each test has a cache of its own.
#include "build/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "build/compile_server.h"
#include "build/elf.h"
#include "build/wrapper.h"
#include "evidence/plain_path.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScale = R"(#include <cuda_runtime.h>
#include "factor.h"

__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor(x[i]);
}

extern "C" cudaError_t run(const float* x, float* y, int n, float s, cudaStream_t stream) {
  scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
)";

class Builder : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create("build_test");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TemporaryDirectory>(std::move(*folder));
    setenv("KFORGE_CACHE", (path() / "cache").c_str(), 1);
    fs::create_directories(path() / "user");
    write("factor.h", "__device__ inline float factor(float x) { return 2 * x; }\n");
  }
  fs::path path() const { return folder_->path(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / "user" / name) << text;
    return (path() / "user" / name).string();
  }
  static Interface interface() {
    using Kind = Parameter::Kind;
    return {"run", {{Kind::pointer, "x", "float", true}, {Kind::pointer, "y", "float", false}, {Kind::size, "n", "int", false}, {Kind::scalar, "s", "float", false}}};
  }
  CandidateRequest request(const std::string& text, const std::string& name = "kernel.cu") const {
    CandidateRequest out;
    out.source = write(name, text);
    out.interface = interface();
    return out;
  }
  Artefact build(const std::string& text) const {
    auto artefact = build_candidate(request(text));
    EXPECT_TRUE(artefact) << to_string(artefact.error());
    return artefact ? *artefact : Artefact{};
  }

 private:
  std::unique_ptr<TemporaryDirectory> folder_;
};

std::string first_error(const Artefact& artefact) {
  for (const Diagnostic& d : artefact.diagnostics) {
    if (d.severity == Severity::error) return fs::path(d.file).filename().string() + ":" + std::to_string(d.line) + ": " + d.message;
  }
  return "no error";
}

TEST_F(Builder, MakesObjectPtxCubinAndReport) {
  const Artefact made = build(kScale);
  ASSERT_TRUE(made.ok) << first_error(made);
  ASSERT_EQ(made.kernels.size(), 1u);
  EXPECT_GT(made.kernels[0].registers, 0);
  const auto ptx = read_file(made.ptx_path);
  ASSERT_TRUE(ptx);
  EXPECT_THAT(*ptx, HasSubstr(".visible .entry " + made.kernels[0].kernel));
  EXPECT_THAT(*ptx, HasSubstr("/user/kernel.cu\""));   // line information names the candidate's own file
  EXPECT_THAT(*ptx, Not(HasSubstr(std::string(kWrapperFile))));
  const auto cubin = read_file(made.cubin_path), object = read_file(made.shared_object);
  ASSERT_TRUE(cubin && object);
  EXPECT_TRUE(ElfFile::parse(*cubin));
  EXPECT_TRUE(made.forbidden_symbols.empty());
  EXPECT_FALSE(made.from_cache);
}

TEST_F(Builder, SecondBuildComesFromTheCacheUntilAnIncludedFileChanges) {
  const Artefact first = build(kScale), second = build(kScale);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.key, second.key);
  EXPECT_EQ(second.kernels.size(), 1u);
  write("factor.h", "__device__ inline float factor(float x) { return 3 * x; }\n");
  const Artefact third = build(kScale);
  EXPECT_FALSE(third.from_cache);
  EXPECT_NE(third.key, first.key);
  write("factor.h", "__device__ inline float factor(float x) { return 2 * x; }\n");
  EXPECT_TRUE(build(kScale).from_cache);
}

TEST_F(Builder, ABrokenEntryIsRebuilt) {
  const Artefact first = build(kScale);
  for (const std::string& victim : {first.shared_object, first.ptx_path, first.cubin_path, (fs::path(first.ptx_path).parent_path() / "entry.json").string()}) {
    fs::resize_file(victim, fs::file_size(victim) / 2);
    const Artefact again = build(kScale);
    EXPECT_FALSE(again.from_cache) << victim;
    ASSERT_TRUE(again.ok);
    EXPECT_TRUE(build(kScale).from_cache) << victim;
  }
}

TEST_F(Builder, ConcurrentBuildersAgree) {
  const CandidateRequest wanted = request(kScale);
  std::vector<Artefact> made(3);
  std::vector<std::thread> threads;
  for (Artefact& slot : made) threads.emplace_back([&slot, &wanted] { slot = build_candidate(wanted).value_or(Artefact{}); });
  for (std::thread& thread : threads) thread.join();
  int compiled = 0;
  for (const Artefact& artefact : made) {
    EXPECT_TRUE(artefact.ok);
    EXPECT_EQ(artefact.key, made[0].key);
    compiled += artefact.from_cache ? 0 : 1;
  }
  EXPECT_EQ(compiled, 1);
}

struct Fault { const char* name; const char* from; const char* to; const char* failure; const char* message; };

class BuilderFault : public Builder, public ::testing::WithParamInterface<Fault> {};

TEST_P(BuilderFault, IsNamedAtItsLine) {
  const Artefact made = build(replace_all(kScale, GetParam().from, GetParam().to));
  EXPECT_FALSE(made.ok);
  EXPECT_EQ(made.failure, GetParam().failure);
  EXPECT_THAT(first_error(made), HasSubstr(GetParam().message));
  for (const Diagnostic& d : made.diagnostics) EXPECT_NE(d.file, kWrapperFile);
}

INSTANTIATE_TEST_SUITE_P(Candidates, BuilderFault, ::testing::Values(
    Fault{"undefined", "factor(x[i])", "facto(x[i])", "compile", "kernel.cu:6: identifier \"facto\" is undefined"},
    Fault{"arity", ", float s,", ",", "interface", "kernel.cu:9: 'run' must take 5 parameters: (x, y, n, s, stream)"},
    Fault{"size", "int n, float s", "long n, float s", "interface", "kernel.cu:9: parameter 3 'n' must be int"},
    Fault{"element", "const float* x", "const double* x", "interface", "kernel.cu:9: parameter 1 'x' must be a pointer to float"},
    Fault{"scalar", "float s", "double s", "interface", "kernel.cu:9: parameter 4 's' must be float"},
    Fault{"stream", "cudaStream_t stream", "const cudaStream_t& stream", "interface", "kernel.cu:9: parameter 5 'stream' must be cudaStream_t"},
    Fault{"result", "cudaError_t run", "int run", "interface", "kernel.cu:9: 'run' must return cudaError_t"},
    Fault{"name", "run(", "walk(", "interface", "kernel.cu:0: the file does not define extern \"C\" cudaError_t run(const float* x, float* y, int n, float s, cudaStream_t stream)"},
    Fault{"linkage", "extern \"C\" ", "", "interface", "kernel.cu:9: 'run' is not exported under its C name"},
    Fault{"brace", "return cudaGetLastError();\n}", "return cudaGetLastError();\n", "compile", "kernel.cu:12: the file does not end at the end of a declaration"},
    Fault{"shared", "int i =", "__shared__ float s[20000]; s[threadIdx.x] = x[0]; __syncthreads(); y[0] = s[n]; int i =", "compile", "kernel.cu:4: Entry function '_Z5scalePKfPfi' uses too much shared data"},
    Fault{"ptx", "if (i < n)", "asm volatile(\"tcgen05.fence::before_thread_sync;\"); if (i < n)", "compile", "kernel.cu:6: Instruction 'tcgen05.fence' not supported"},
    Fault{"header", "factor.h", "nothere.h", "compile", "kernel.cu:2: nothere.h: No such file or directory"}),
    [](const auto& fault) { return fault.param.name; });

TEST_F(Builder, PointersMayLackConstOrAType) {
  EXPECT_TRUE(build(replace_all(kScale, "run(const float* x, float* y, int n, float s, cudaStream_t stream) {", "run(float* x, void* z, int n, float s, cudaStream_t stream) {\n  float* y = (float*)z;")).ok);
}

TEST_F(Builder, FailuresAreCachedToo) {
  const std::string broken = replace_all(kScale, "factor(x[i])", "facto(x[i])");
  EXPECT_FALSE(build(broken).from_cache);
  const Artefact again = build(broken);
  EXPECT_TRUE(again.from_cache);
  EXPECT_FALSE(again.ok);
  EXPECT_THAT(first_error(again), HasSubstr("facto"));
}

// What quotes, a shell, a Makefile or PTX would trip over.
constexpr const char* kOddName = "a \"b\" \\ \n \xff\xfe $x `y` 'z' & ; (c), #d %e";

TEST_F(Builder, AnyPathIsBuiltAndNamedAsItIs) {
  const fs::path folder = path() / "user" / kOddName;
  fs::create_directories(folder);
  std::ofstream(folder / "factor.h") << "__device__ inline float factor(float x) { return 2 * x; }\n";
  CandidateRequest odd = request(kScale);
  odd.source = (folder / (std::string(kOddName) + ".cu")).string();
  std::ofstream(odd.source) << kScale;
  const auto made = build_candidate(odd);
  ASSERT_TRUE(made) << to_string(made.error());
  ASSERT_TRUE(made->ok) << first_error(*made);
  EXPECT_THAT(read_file(made->ptx_path).value_or(""), HasSubstr("\"" + evidence::plain_source_name(odd.source) + "\""));
  EXPECT_FALSE(made->from_cache);
  std::ofstream(folder / "factor.h") << "__device__ inline float factor(float x) { return y; }\n";
  const auto broken = build_candidate(odd);
  ASSERT_TRUE(broken) << to_string(broken.error());
  EXPECT_FALSE(broken->ok);
  ASSERT_FALSE(broken->diagnostics.empty());
  EXPECT_EQ(broken->diagnostics[0].file, (folder / "factor.h").string());
  std::ofstream(folder / "factor.h") << "__device__ inline float factor(float x) { return 2 * x; }\n";
  std::ofstream(odd.source) << replace_all(kScale, "factor(x[i])", "facto(x[i])");
  const auto undefined = build_candidate(odd);
  ASSERT_TRUE(undefined) << to_string(undefined.error());
  EXPECT_EQ(first_error(*undefined), std::string(kOddName) + ".cu:6: identifier \"facto\" is undefined");

  ReferenceRequest reference;
  reference.interface = interface();
  reference.source = (folder / "reference.cpp").string();
  std::ofstream(reference.source) << "extern \"C\" void run(const float*, float* y, int, float s) { y[0] = s; }\n";
  EXPECT_TRUE(build_reference(reference));
  std::ofstream(reference.source) << "\nextern \"C\" void run(const float*, float* y, int, float s) { y[0] = z; }\n";
  const auto wrong = build_reference(reference);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(to_string(wrong.error().where).substr(0, reference.source.size() + 3), reference.source + ":2:");
}

TEST_F(Builder, ForbiddenSymbolsAreListed) {
  const Artefact made = build(std::string(kScale) + "extern \"C\" int mine(void**) __asm__(\"cudaMalloc\");\nextern \"C\" int mine(void**) { return 0; }\nextern \"C\" int getpid() { return 1; }\n"
                              "extern \"C\" int kforge_cudart_end_call(int) { return 1; }\nextern \"C\" int cumsum(int a) { return a; }\n");
  ASSERT_TRUE(made.ok) << first_error(made);
  EXPECT_THAT(made.forbidden_symbols, ::testing::ElementsAre("cudaMalloc", "getpid", "kforge_cudart_end_call"));
}

TEST_F(Builder, ForbiddenImportsAreListed) {
  EXPECT_TRUE(build(kScale).forbidden_imports.empty());
  EXPECT_TRUE(build(std::string(kScale) + "int mixed(int a) { return a ^ 0x050f340f; }\n").forbidden_imports.empty());   // holds the bytes of syscall and sysenter
  const Artefact made = build(std::string("#include <dlfcn.h>\n#include <fstream>\n#include <cstdio>\n") + kScale +
                              "void* used = dlsym(nullptr, \"open\");\nextern \"C\" __attribute__((weak)) void kforge_cudart_reset();\nvoid reset() { kforge_cudart_reset(); std::ifstream file(\"x\"); std::printf(\"no harm\"); }\n");
  ASSERT_TRUE(made.ok) << first_error(made);
  EXPECT_FALSE(made.starts_threads);
  EXPECT_THAT(made.forbidden_imports, ::testing::Contains(::testing::StartsWith("dlsym (finds functions")));
  EXPECT_THAT(made.forbidden_imports, ::testing::Contains(::testing::StartsWith("kforge_cudart_reset (speaks to the harness")));
  EXPECT_THAT(made.forbidden_imports, ::testing::Contains(::testing::HasSubstr("opens files")));
  EXPECT_THAT(made.forbidden_imports, ::testing::Not(::testing::Contains(::testing::StartsWith("printf"))));
  const Artefact own_code = build(std::string(kScale) + "asm(\".section .own, \\\"awx\\\"\\n ret\\n.section .note.GNU-stack, \\\"x\\\", @progbits\\n.text\");\n");
  EXPECT_THAT(own_code.forbidden_imports, ::testing::ElementsAre(::testing::StartsWith("a stack that code runs from"), ::testing::StartsWith("code that can be written over")));
  // Ways around the names that one thinks of first: the streams' own objects, calls that no thread can be cancelled in, queues.
  const Artefact around = build(std::string(kScale) + "extern \"C\" { extern char** environ; extern int _IO_2_1_stdin_; long __read_nocancel(int, void*, unsigned long); int aio_write(void*); int eventfd_write(int, unsigned long); }\n"
                                                      "long around() { return **environ + _IO_2_1_stdin_ + __read_nocancel(0, nullptr, 0) + aio_write(nullptr) + eventfd_write(9, 0); }\n");
  for (const char* name : {"environ (looks at", "_IO_2_1_stdin_ (uses descriptors", "__read_nocancel (uses descriptors", "aio_write (uses descriptors", "eventfd_write (uses descriptors"})
    EXPECT_THAT(around.forbidden_imports, ::testing::Contains(::testing::StartsWith(name)));
}

TEST_F(Builder, ATemplateBombEndsAtALimit) {
  CandidateRequest bomb = request(std::string("template<int N, int M> struct B { static constexpr int v = B<N-1, 2*M>::v + B<N-1, 2*M+1>::v; };\n"
      "template<int M> struct B<0, M> { static constexpr int v = 1; };\nint bomb() { return B<30, 0>::v; }\n") + kScale);
  bomb.limits.seconds = 3;
  const auto by_time = build_candidate(bomb);
  ASSERT_TRUE(by_time);
  EXPECT_EQ(by_time->failure, "limit");
  EXPECT_THAT(first_error(*by_time), HasSubstr("took longer than 3.00 s of processor time"));
  bomb.limits = {60, 400ull << 20};
  const auto by_memory = build_candidate(bomb);
  ASSERT_TRUE(by_memory);
  EXPECT_EQ(by_memory->failure, "limit");
  EXPECT_THAT(first_error(*by_memory), HasSubstr("400.0 MiB of memory"));
}

std::uint64_t times(const CostLedger& costs, std::string_view stage) {
  for (const StageCost& cost : costs.stages())
    if (cost.stage == stage) return cost.times;
  return 0;
}

TEST_F(Builder, AServerBuildsFromTheSecondOnAndLeavesFailuresToNvcc) {
  CostLedger costs;
  CompileServer server(&costs);
  const auto build_served = [&](const std::string& text, const std::string& name, double seconds) {
    CandidateRequest wanted = request(text, name);
    wanted.server = &server;
    wanted.costs = &costs;
    wanted.limits.seconds = seconds;
    const auto made = build_candidate(wanted);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? *made : Artefact{};
  };
  EXPECT_TRUE(build_served(kScale, "a.cu", 120).ok);
  EXPECT_EQ(times(costs, "nvcc"), 1u);
  const std::string other = replace_all(kScale, "factor(x[i])", "factor(x[i]) + __LINE__ + sizeof(__FILE__)");
  const Artefact second = build_served(other, "b.cu", 120);
  ASSERT_TRUE(second.ok) << first_error(second);
  EXPECT_EQ(times(costs, "nvcc"), 1u);
  EXPECT_EQ(times(costs, "cicc"), 1u);
  EXPECT_THAT(read_file(second.ptx_path).value_or(""), HasSubstr("/user/b.cu\""));
  EXPECT_EQ(second.kernels.size(), 1u);

  write("factor.h", "__device__ inline float factor(float x) { return 3 * x; }\n");
  EXPECT_FALSE(build_served(other, "b.cu", 120).from_cache);   // the header counts among what was read
  EXPECT_TRUE(build_served(other, "b.cu", 120).from_cache);
  EXPECT_EQ(times(costs, "nvcc"), 1u);

  const Artefact broken = build_served(replace_all(kScale, "int i =", "int i = j +"), "c.cu", 120);
  EXPECT_EQ(first_error(broken), "c.cu:5: identifier \"j\" is undefined");
  EXPECT_EQ(times(costs, "nvcc"), 2u);
  // A text that names the file that stands for the candidate would see the difference.
  EXPECT_TRUE(build_served(std::string("// ") + placeholder_beside("/x/y.cu") + "\n" + kScale, "d.cu", 120).ok);
  EXPECT_EQ(times(costs, "nvcc"), 3u);
}

TEST_F(Builder, WhereManyComeTheServerBuildsTheFirstAndThoseWithACapOnRegisters) {
  CostLedger costs;
  CompileServer server(&costs, true);
  const CandidateRequest same = request(kScale, "a.cu");   // written once: machine code has the file's time
  const auto build_capped = [&](const std::string& cap, CompileServer* with, const std::string& cache) {
    setenv("KFORGE_CACHE", (path() / cache).c_str(), 1);
    CandidateRequest wanted = same;
    wanted.server = with;
    wanted.costs = with ? &costs : nullptr;
    if (!cap.empty()) wanted.flags = {cap};
    const auto made = build_candidate(wanted);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? *made : Artefact{};
  };
  for (const std::string cap : {"", "-maxrregcount=16", "-maxrregcount=24"}) {
    const Artefact ours = build_capped(cap, &server, "served"), nvccs = build_capped(cap, nullptr, "nvcc");
    ASSERT_TRUE(ours.ok && nvccs.ok) << cap << ": " << first_error(ours);
    EXPECT_EQ(read_file(ours.ptx_path).value_or("ours"), read_file(nvccs.ptx_path).value_or("nvcc's")) << cap;
    EXPECT_EQ(read_file(ours.cubin_path).value_or("ours"), read_file(nvccs.cubin_path).value_or("nvcc's")) << cap;
  }
  EXPECT_EQ(times(costs, "nvcc"), 0u);
  EXPECT_EQ(times(costs, "cicc"), 3u);
}

TEST_F(Builder, AServersBuildEndsAtItsTimeToo) {
  CompileServer server;
  CandidateRequest wanted = request(kScale, "a.cu");
  wanted.server = &server;
  ASSERT_TRUE(build_candidate(wanted));
  wanted = request(std::string("template<int N, int M> struct B { static constexpr int v = B<N-1, 2*M>::v + B<N-1, 2*M+1>::v; };\n"
      "template<int M> struct B<0, M> { static constexpr int v = 1; };\nint bomb() { return B<30, 0>::v; }\n") + kScale, "b.cu");
  wanted.server = &server;
  wanted.limits.seconds = 3;
  const auto made = build_candidate(wanted);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->failure, "limit");
  EXPECT_THAT(first_error(*made), HasSubstr("took longer than 3.00 s of processor time"));
  EXPECT_LT(made->seconds, 60);
}

TEST_F(Builder, ReferencesAreBuiltOnce) {
  ReferenceRequest wanted;
  wanted.source = write("reference.cpp", "extern \"C\" void run(const float* x, float* y, int n, float s) { for (int i = 0; i < n; ++i) y[i] = s * x[i]; }\n");
  wanted.interface = interface();
  const auto first = build_reference(wanted), second = build_reference(wanted);
  ASSERT_TRUE(first && second) << to_string(first.error());
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(first->shared_object, second->shared_object);
}

TEST_F(Builder, ABrokenReferenceIsBadInputAtItsLine) {
  ReferenceRequest wanted;
  wanted.interface = interface();
  wanted.source = write("reference.cpp", "\nextern \"C\" void run(const float* x, float* y, int n, float s) { y[0] = z; }\n");
  const auto undefined = build_reference(wanted);
  ASSERT_FALSE(undefined);
  EXPECT_EQ(undefined.error().code, ErrorCode::bad_input);
  EXPECT_EQ(undefined.error().where.line, 2);
  EXPECT_THAT(undefined.error().message, HasSubstr("'z' was not declared"));
  wanted.source = write("reference.cpp", "\n\nextern \"C\" void run(const float* x, float* y, long n, float s) { y[0] = 1; }\n");
  const auto wrong = build_reference(wanted);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where.line, 3);
  EXPECT_THAT(wrong.error().message, HasSubstr("parameter 3 'n' must be int; expected extern \"C\" void run(const float* x, float* y, int n, float s)"));
  wanted.source = write("reference.cpp", "void walk() {}\n");
  const auto missing = build_reference(wanted);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("the file does not define extern \"C\" void run(const float* x, float* y, int n, float s)"));
}

TEST_F(Builder, FlagsThatTheCompilersRefuseAreNotTheSourcesFault) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--no-such-flag"}, std::vector<std::string>{"-Xptxas", "--no-such-flag"}, std::vector<std::string>{"-std=c++99"}}) {
    CandidateRequest wanted = request(kScale);
    wanted.flags = flags;
    const auto made = build_candidate(wanted);
    ASSERT_FALSE(made) << flags.back();
    EXPECT_EQ(made.error().code, ErrorCode::bad_input);
    EXPECT_THAT(made.error().message, HasSubstr("the compilers refuse the flags \"" + flags.front()));
  }
  CandidateRequest broken = request(replace_all(kScale, "factor(x[i])", "facto(x[i])"));
  broken.flags = {"-maxrregcount=64"};
  const auto made = build_candidate(broken);
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->failure, "compile");
}

}  // namespace
}  // namespace kforge::build
