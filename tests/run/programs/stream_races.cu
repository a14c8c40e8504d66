// Work of several streams: each case comes rightly ordered ("kernels") and with that order left out ("kernels-wrong"). One case for each argument.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int kCount = 1024;
constexpr std::size_t kBytes = kCount * sizeof(float);

__global__ void produce(float* data) { data[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void consume(const float* data, float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x]; }
__global__ void consume_texels(cudaTextureObject_t texels, float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = tex1Dfetch<float>(texels, blockIdx.x * blockDim.x + threadIdx.x); }
__global__ void consume_array(cudaTextureObject_t texels, float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = tex2D<float>(texels, threadIdx.x, blockIdx.x); }
__global__ void count(int* counter) { atomicAdd(counter, 1); }

__global__ void produce_early(float* data) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void consume_early(const float* data, float* out) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  out[blockIdx.x * blockDim.x + threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
}

struct World {
  cudaStream_t a{}, b{}, blocking{};
  cudaEvent_t event{};
  float *data = nullptr, *out = nullptr, *pinned = nullptr;
  int* counter = nullptr;
  cudaArray_t array{};
  bool wrong = false;

  World() {
    cudaMalloc(&data, kBytes), cudaMalloc(&out, kBytes), cudaMalloc(&counter, sizeof(int)), cudaMallocHost(&pinned, kBytes);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, 256, 4);
    cudaMemset(data, 0, kBytes), cudaMemset(out, 0, kBytes), cudaMemset(counter, 0, sizeof(int));
    cudaMemcpy2DToArray(array, 0, 0, data, 1024, 1024, 4, cudaMemcpyDeviceToDevice);
    std::memset(pinned, 0, kBytes);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaStreamCreate(&blocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaDeviceSynchronize();
  }

  // `second` comes after `first`, unless that is what is left out.
  void order(cudaStream_t first, cudaStream_t second) const {
    if (wrong) return;
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event);
  }
  cudaTextureObject_t texture(cudaResourceDesc resource) const {
    cudaTextureDesc description{};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t object{};
    cudaCreateTextureObject(&object, &resource, &description, nullptr);
    return object;
  }
};

void kernels(World& w) {
  produce<<<4, 256, 0, w.a>>>(w.data);
  w.order(w.a, w.b);
  consume<<<4, 256, 0, w.b>>>(w.data, w.out);
}
void overwritten(World& w) {   // the reader comes first
  consume<<<4, 256, 0, w.a>>>(w.data, w.out);
  w.order(w.a, w.b);
  produce<<<4, 256, 0, w.b>>>(w.data);
}
void copy_in(World& w) {
  cudaMemcpyAsync(w.data, w.pinned, kBytes, cudaMemcpyHostToDevice, w.a);
  w.order(w.a, w.b);
  consume<<<4, 256, 0, w.b>>>(w.data, w.out);
}
void copy_out(World& w) {
  produce<<<4, 256, 0, w.a>>>(w.data);
  w.order(w.a, w.b);
  cudaMemcpyAsync(w.pinned, w.data, kBytes, cudaMemcpyDeviceToHost, w.b);
}
void fill(World& w) {
  cudaMemsetAsync(w.data, 0, kBytes, w.a);
  w.order(w.a, w.b);
  consume<<<4, 256, 0, w.b>>>(w.data, w.out);
}
void array(World& w) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = w.array;
  const cudaTextureObject_t texels = w.texture(resource);
  cudaMemcpy2DToArrayAsync(w.array, 0, 0, w.pinned, 1024, 1024, 4, cudaMemcpyHostToDevice, w.a);
  w.order(w.a, w.b);
  consume_array<<<4, 256, 0, w.b>>>(texels, w.out);
}
void texels(World& w) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {w.data, cudaCreateChannelDesc<float>(), kBytes};
  const cudaTextureObject_t texels = w.texture(resource);
  produce<<<4, 256, 0, w.a>>>(w.data);
  w.order(w.a, w.b);
  consume_texels<<<4, 256, 0, w.b>>>(texels, w.out);
}
void legacy(World& w) {   // the default stream waits for blocking streams, not for others
  const cudaStream_t first = w.wrong ? w.a : w.blocking;
  produce<<<4, 256, 0, first>>>(w.data);
  consume<<<4, 256>>>(w.data, w.out);
}
void host_waits(World& w) {
  produce<<<4, 256, 0, w.a>>>(w.data);
  if (w.wrong) cudaStreamSynchronize(w.b);
  else cudaStreamSynchronize(w.a);
  consume<<<4, 256, 0, w.b>>>(w.data, w.out);
}
void early_event(World& w) {   // recorded before the work that it shall stand for
  if (w.wrong) cudaEventRecord(w.event, w.a);
  produce<<<4, 256, 0, w.a>>>(w.data);
  if (!w.wrong) cudaEventRecord(w.event, w.a);
  cudaStreamWaitEvent(w.b, w.event);
  consume<<<4, 256, 0, w.b>>>(w.data, w.out);
}
void halves(World& w) {   // each stream has its own half
  produce<<<2, 256, 0, w.a>>>(w.data);
  consume<<<2, 256, 0, w.b>>>(w.data + (w.wrong ? 256 : 512), w.out);
}
void atomics(World& w) {   // atomics do not race, a copy of what they count does
  count<<<4, 256, 0, w.a>>>(w.counter);
  count<<<4, 256, 0, w.b>>>(w.counter);
  if (w.wrong) cudaMemcpyAsync(w.pinned, w.counter, sizeof(int), cudaMemcpyDeviceToHost, w.b);
}

// A fork in a captured graph; what follows it is joined.
void captured(World& w) {
  cudaGraph_t graph{};
  cudaGraphExec_t runs{};
  cudaStreamBeginCapture(w.a, cudaStreamCaptureModeGlobal);
  produce<<<2, 256, 0, w.a>>>(w.data);
  cudaEventRecord(w.event, w.a);
  cudaStreamWaitEvent(w.b, w.event);
  produce<<<2, 256, 0, w.a>>>(w.data + 512);
  consume<<<2, 256, 0, w.b>>>(w.data + (w.wrong ? 512 : 0), w.out);
  cudaEventRecord(w.event, w.b);
  cudaStreamWaitEvent(w.a, w.event);
  consume<<<4, 256, 0, w.a>>>(w.data, w.out);
  cudaStreamEndCapture(w.a, &graph);
  cudaGraphInstantiate(&runs, graph, 0);
  for (int i = 0; i < 2; ++i) cudaGraphLaunch(runs, w.a);
}
cudaGraphNode_t add(cudaGraph_t graph, void (*kernel)(float*), void** arguments, const cudaGraphNode_t* after) {
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(kernel);
  parameters.gridDim = dim3(4), parameters.blockDim = dim3(256), parameters.kernelParams = arguments;
  cudaGraphNode_t node{};
  cudaGraphAddKernelNode(&node, graph, after, after == nullptr ? 0 : 1, &parameters);
  return node;
}
void built(World& w) {   // two nodes that store to one array, with a dependency and without
  cudaGraph_t graph{};
  cudaGraphExec_t runs{};
  cudaGraphCreate(&graph, 0);
  void* arguments[] = {&w.data};
  const cudaGraphNode_t first = add(graph, produce, arguments, nullptr);
  add(graph, produce, arguments, w.wrong ? nullptr : &first);
  cudaGraphInstantiate(&runs, graph, 0);
  cudaGraphLaunch(runs, w.a);
}
void relaunched(World& w) {   // launches of one graph come one after another, launches of two do not
  cudaGraph_t graph{};
  cudaGraphExec_t runs{}, others{};
  cudaGraphCreate(&graph, 0);
  void* arguments[] = {&w.data};
  add(graph, produce, arguments, nullptr);
  cudaGraphInstantiate(&runs, graph, 0), cudaGraphInstantiate(&others, graph, 0);
  cudaGraphLaunch(runs, w.a);
  cudaGraphLaunch(w.wrong ? others : runs, w.b);
}

void allocated(World& w) {   // memory that another stream may not have yet
  float* memory = nullptr;
  cudaMallocAsync(&memory, kBytes, w.a);
  w.order(w.a, w.b);
  produce<<<4, 256, 0, w.b>>>(memory);
}
void freed(World& w) {   // memory that is given back while another stream uses it
  float* memory = nullptr;
  cudaMallocAsync(&memory, kBytes, w.a);
  cudaEventRecord(w.event, w.a);
  cudaStreamWaitEvent(w.b, w.event);
  produce<<<4, 256, 0, w.b>>>(memory);
  w.order(w.b, w.a);
  cudaFreeAsync(memory, w.a);
}

void dependent(World& w) {   // starts before the kernel before it has ended
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(4), launch.blockDim = dim3(256), launch.stream = w.a, launch.attrs = &early, launch.numAttrs = 1;
  produce_early<<<4, 256, 0, w.a>>>(w.data);
  cudaLaunchKernelEx(&launch, w.wrong ? consume : consume_early, static_cast<const float*>(w.data), w.out);
}
void host_function(World& w) {   // is ordered as other work is
  produce<<<4, 256, 0, w.a>>>(w.data);
  cudaLaunchHostFunc(w.a, [](void*) {}, nullptr);
  w.order(w.a, w.b);
  consume<<<4, 256, 0, w.b>>>(w.data, w.out);
}

struct Case { const char* name; void (*run)(World&); };
constexpr Case kCases[] = {{"kernels", kernels}, {"overwritten", overwritten}, {"copy-in", copy_in}, {"copy-out", copy_out}, {"fill", fill}, {"array", array},
                           {"texels", texels}, {"legacy", legacy}, {"host-waits", host_waits}, {"early-event", early_event}, {"halves", halves}, {"atomics", atomics},
                           {"captured", captured}, {"built", built}, {"relaunched", relaunched}, {"allocated", allocated}, {"freed", freed}, {"dependent", dependent},
                           {"host-function", host_function}};

int main(int argc, char** argv) {
  World world;
  for (int i = 1; i < argc; ++i)
    for (const Case& one : kCases) {
      const std::size_t length = std::strlen(one.name);
      if (std::strncmp(argv[i], one.name, length) != 0) continue;
      world.wrong = std::strcmp(argv[i] + length, "-wrong") == 0;
      if (!world.wrong && argv[i][length] != 0) continue;
      one.run(world);
      std::printf("%s: %s\n", argv[i], cudaGetErrorName(cudaDeviceSynchronize()));
    }
  return 0;
}
