// PTX of device code alone, by the NVRTC that is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "build/builder.h"

#ifdef __SANITIZE_ADDRESS__
// NVRTC leaves threads behind, and the leak checker, which stops all threads when a program ends, has been seen to crash on one.
static bool g_nvrtc_was_loaded = false;
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return g_nvrtc_was_loaded ? 1 : 0; }
#endif

namespace kforge::build {
namespace {

NvrtcResult compile(const std::string& text) {
#ifdef __SANITIZE_ADDRESS__
  g_nvrtc_was_loaded = true;
#endif
  const auto folder = TemporaryDirectory::create("nvrtc-test");
  EXPECT_TRUE(folder);
  const std::string path = (folder->path() / "device.cu").string();
  EXPECT_TRUE(write_file_atomic(path, text));
  const auto made = compile_device_code(path, 90, {});
  EXPECT_TRUE(made) << (made ? "" : to_string(made.error()));
  return made ? *made : NvrtcResult{};
}

TEST(Nvrtc, CompilesDeviceCodeAlone) {
  const auto made = compile("#include <cstdint>\n#include <stdlib.h>\n__global__ void k(uint32_t* y) { y[threadIdx.x] = 1u; }\n#ifndef __CUDACC_RTC__\nint host() { return 1; }\n#endif\n");
  ASSERT_TRUE(made.ok) << (made.diagnostics.empty() ? "" : made.diagnostics[0].message);
  EXPECT_THAT(made.ptx, ::testing::HasSubstr(".entry"));
}

TEST(Nvrtc, KnowsInfinityAndCopiesOfMemoryAsNvccDoes) {
  const auto made = compile("#include <cuda_runtime.h>\n#include <cstring>\n__global__ void k(float* y) { constexpr float most = INFINITY; std::memcpy(y + 1, y + 2, sizeof *y); y[0] = -most; }\n");
  ASSERT_TRUE(made.ok) << (made.diagnostics.empty() ? "" : made.diagnostics[0].message);
  EXPECT_THAT(made.ptx, ::testing::HasSubstr("-8388608"));
}

TEST(Nvrtc, SaysWhatIsWrongAtWhichLine) {
  const auto broken = compile("\n__global__ void k(int* y) { y[0] = q; }\n");
  EXPECT_FALSE(broken.ok);
  ASSERT_EQ(broken.diagnostics.size(), 1u);
  EXPECT_EQ(broken.diagnostics[0].line, 2);
  EXPECT_EQ(broken.diagnostics[0].tool, "nvrtc");
}

}  // namespace
}  // namespace kforge::build
