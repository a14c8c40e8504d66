#include "judge/host_lines.h"

#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

TEST(HostLines, ALaunchIsFoundWhereItsNameStands) {
  const HostLines lines(
      "__global__ void scale(float* x) {}   // scale<<<1, 1>>>(x)\n"
      "template <int N> __global__ void tile(float* x) {}\n"
      "/* tile<4><<<1, 1>>>\n */ const char* text = \"scale<<<1, 1>>>\"; int many = 1'000;\n"
      "extern \"C\" int f(float* x, cudaStream_t s) {\n"
      "  scale<<<dim3(1, 2), 32, 0, s>>>(x);\n"
      "  scale<<<grid(1, 2, 3), 32>>>(x);\n"
      "  tile<4> <<<1, 32, 0, s>>>(x);\n"
      "  void* a[] = {&x};\n"
      "  cudaLaunchKernel((void*)other<8>, 1, 1, a, 0, s);\n"
      "  (rows<3>)<<<1, 1>>>(x);\n"
      "}\n");
  EXPECT_EQ(lines.launch_of("scale", false), 6);
  EXPECT_EQ(lines.launch_of("scale", true), 7);      // the one without a stream
  EXPECT_EQ(lines.launch_of("ns::tile<4>", true), 8);
  EXPECT_EQ(lines.launch_of("other<8>", false), 10);
  EXPECT_EQ(lines.launch_of("rows<3>", false), 11);
  EXPECT_EQ(lines.launch_of("absent", false), 0);
  EXPECT_EQ(lines.launch_of("", false), 0);
}

TEST(HostLines, ACallIsFoundByItsName) {
  const HostLines lines("// cudaMalloc(&p, 4)\nint cudaMallocs;\nauto e = cudaMalloc<float>(&p, 4);\ncudaMemcpyToSymbolAsync(s, t, 4);\n");
  EXPECT_EQ(lines.call_of("cudaMalloc"), 3);
  EXPECT_EQ(lines.call_of("cudaMemcpy"), 4);
  EXPECT_EQ(lines.call_of("cudaFree"), 0);
}

TEST(HostLines, TextThatEndsInTheMiddleIsRead) {
  for (const char* text : {"", "/*", "//", "\"", "'", "k<<<", "k<", "cudaMalloc", "k<<<1", "\"\\"}) {
    const HostLines lines(text);
    lines.launch_of("k", true);
    lines.call_of("cudaMalloc");
  }
}

}  // namespace
}  // namespace kforge::judge
