// What the harness wants to know of a machine before it relies on it: one JSON object on stdout.
//   threads     names of the process's threads after each step of the runtime's start
//   ipc         whether a child process sees device memory of ours by its handle, and how long that takes
//   libraries   which of CUDA's further libraries can be opened
#include <dirent.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include <cuda_runtime.h>

namespace {

__global__ void add_one(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += 1;
}

std::string threads() {
  std::string out;
  if (DIR* folder = opendir("/proc/self/task")) {
    while (const dirent* entry = readdir(folder)) {
      std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/comm");
      std::string name;
      if (std::getline(file, name)) out += (out.empty() ? "\"" : ", \"") + name + "\"";
    }
    closedir(folder);
  }
  return "[" + out + "]";
}

double us_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count(); }

// The child: adds one to every value of the parent's memory. Its status tells which step failed.
int child() {
  cudaIpcMemHandle_t handle;
  if (read(0, &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle)) return 10;
  cudaFree(nullptr);
  void* memory = nullptr;
  const auto start = std::chrono::steady_clock::now();
  if (const cudaError_t error = cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess)) return 100 + error % 100;
  const double opened = us_since(start);
  add_one<<<4, 256>>>(static_cast<int*>(memory), 1024);
  if (cudaDeviceSynchronize() != cudaSuccess) return 12;
  cudaIpcCloseMemHandle(memory);
  std::fprintf(stderr, "opened in %.0f us\n", opened);
  return 0;
}

std::string ipc(const char* self) {
  int* memory = nullptr;
  cudaIpcMemHandle_t handle;
  cudaMalloc(&memory, 4096);
  cudaMemset(memory, 0, 4096);
  cudaDeviceSynchronize();
  if (const cudaError_t error = cudaIpcGetMemHandle(&handle, memory)) return std::string("\"no handle: ") + cudaGetErrorName(error) + "\"";
  int ends[2];
  if (pipe(ends) != 0) return "\"no pipe\"";
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[0], 0);
    close(ends[1]);
    execl(self, self, "child", static_cast<char*>(nullptr));
    _exit(9);
  }
  close(ends[0]);
  (void)!write(ends[1], &handle, sizeof handle);
  close(ends[1]);
  int status = 0;
  waitpid(pid, &status, 0);
  int first = -1;
  cudaMemcpy(&first, memory, sizeof first, cudaMemcpyDeviceToHost);
  return "{\"child\": " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + ", \"value\": " + std::to_string(first) + "}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "child") == 0) return child();
  std::string steps = "{\"start\": " + threads();
  const auto note = [&](const char* step) { steps += std::string(", \"") + step + "\": " + threads(); };
  cudaFree(nullptr);
  note("context");
  int* memory = nullptr;
  cudaMalloc(&memory, 4096);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  add_one<<<4, 256, 0, stream>>>(memory, 1024);
  cudaStreamSynchronize(stream);
  note("launch");
  void* pooled = nullptr;
  cudaMallocAsync(&pooled, 4096, stream);
  cudaFreeAsync(pooled, stream);
  cudaStreamSynchronize(stream);
  note("pool");
  cudaLaunchHostFunc(stream, [](void*) {}, nullptr);
  cudaStreamSynchronize(stream);
  note("host_function");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  add_one<<<4, 256, 0, stream>>>(memory, 1024);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, stream);
  cudaStreamSynchronize(stream);
  note("graph");
  std::string libraries;
  for (const char* name : {"libcupti.so.13", "libcudnn.so.9", "libcublas.so.13", "libcublasLt.so.13", "libnvrtc.so.13", "libnvidia-ml.so.1"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    libraries += std::string(libraries.empty() ? "" : ", ") + "\"" + name + "\": " + (library ? "true" : "false");
  }
  std::printf("{\"threads\": %s}, \"ipc\": %s, \"libraries\": {%s}, \"error\": \"%s\"}\n", steps.c_str(), ipc(argv[0]).c_str(), libraries.c_str(), cudaGetErrorName(cudaGetLastError()));
  return 0;
}
