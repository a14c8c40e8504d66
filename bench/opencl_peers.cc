#include "opencl_peers.h"

#ifndef KFORGE_HAS_OPENCL

void kforge::bench::register_opencl_peers() {}

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace kforge::bench {
namespace {

constexpr const char* kSource = R"(
__kernel void sgemm_shared(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float as[16][16];
  __local float bs[16][16];
  const int tx = get_local_id(0), ty = get_local_id(1), row = get_group_id(1) * 16 + ty, col = get_group_id(0) * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[ty][tx] = a[row * n + k + tx];
    bs[ty][tx] = b[(k + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < 16; ++q) sum = fma(as[ty][q], bs[q][tx], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
})";

std::string name_of(cl_platform_id platform) {
  std::size_t bytes = 0;
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, nullptr, &bytes);
  std::string name(bytes, '\0');
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, bytes, name.data(), nullptr);
  while (!name.empty() && name.back() == '\0') name.pop_back();
  return name;
}

void matmul(benchmark::State& state, cl_platform_id platform, int n) {
  cl_device_id device = nullptr;
  cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  if (error != CL_SUCCESS) return state.SkipWithError("no device");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) return state.SkipWithError("the kernel does not build");
  cl_kernel kernel = clCreateKernel(program, "sgemm_shared", &error);
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<float> values(elements, 0.5f);
  cl_mem buffers[3];
  for (cl_uint i = 0; i < 3; ++i) {
    buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4 * elements, values.data(), &error);
    clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]);
  }
  clSetKernelArg(kernel, 3, sizeof n, &n);
  const std::size_t global[2] = {static_cast<std::size_t>(n), static_cast<std::size_t>(n)}, local[2] = {16, 16};
  for (auto _ : state) {
    error = clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr);
    if (error != CL_SUCCESS || clFinish(queue) != CL_SUCCESS) state.SkipWithError("the launch failed");
  }
  state.counters["FMA/s"] = benchmark::Counter(static_cast<double>(n) * n * n * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
}

}  // namespace

void register_opencl_peers() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (const cl_platform_id platform : platforms) {
    const std::string name = name_of(platform);
    const int n = name == "Oclgrind" ? 64 : 512;   // an interpreter of LLVM code with checks: a larger one takes minutes
    benchmark::RegisterBenchmark(("OpenCL/" + name).c_str(), [platform, n](benchmark::State& state) { matmul(state, platform, n); })
        ->Unit(benchmark::kMillisecond)->UseRealTime();
  }
}

}  // namespace kforge::bench

#endif
