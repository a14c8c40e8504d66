// The driver API beside the runtime: modules of PTX, launches, memory, entry points, tensor maps.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>

#include "expect.h"

static const char* const kPtx = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry scale(.param .u64 data, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
  mad.lo.s32 %r2, %r3, %r4, %r2;
  setp.ge.u32 %p, %r2, %r1;
  @%p bra done;
  cvta.to.global.u64 %d1, %d1;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d1, %d1, %d2;
  ld.global.u32 %r5, [%d1];
  ld.global.u32 %r6, [factor];
  mul.lo.s32 %r5, %r5, %r6;
  st.global.u32 [%d1], %r5;
done:
  ret;
}
)";

static void modules() {
  EXPECT(cuInit(0), CUDA_SUCCESS);
  CUdevice device;
  CUcontext context;
  EXPECT(cuDeviceGet(&device, 0), CUDA_SUCCESS), EXPECT(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS), EXPECT(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT(cuDeviceGet(&device, 3), CUDA_ERROR_INVALID_DEVICE);
  int major = 0;
  EXPECT(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT(major, 9);
  CUmodule module;
  EXPECT(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  CUfunction scale, missing;
  EXPECT(cuModuleGetFunction(&scale, module, "scale"), CUDA_SUCCESS);
  EXPECT(cuModuleGetFunction(&missing, module, "absent"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr data, factor;
  size_t bytes = 0;
  unsigned n = 100, host[100], five = 5;
  for (unsigned i = 0; i < n; ++i) host[i] = i;
  EXPECT(cuMemAlloc(&data, sizeof host), CUDA_SUCCESS);
  EXPECT(cuMemcpyHtoD(data, host, sizeof host), CUDA_SUCCESS);
  void* arguments[] = {&data, &n};
  EXPECT(cuLaunchKernel(scale, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  EXPECT(cuModuleGetGlobal(&factor, &bytes, module, "factor"), CUDA_SUCCESS);
  EXPECT(bytes, 4u);
  EXPECT(cuMemcpyHtoD(factor, &five, 4), CUDA_SUCCESS);
  struct { CUdeviceptr data; unsigned n; } packed{data, n};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  EXPECT(cuLaunchKernel(scale, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT(cuMemcpyDtoH(host, data, sizeof host), CUDA_SUCCESS);
  EXPECT(host[7], 7u * 15);
  int threads = 0, grid = 0, block = 0;
  EXPECT(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale), CUDA_SUCCESS);
  EXPECT(threads, 1024);
  EXPECT(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT(block, 1024);
  EXPECT(cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT(cudaGetLastError(), cudaSuccess);   // the runtime hears nothing of it
  EXPECT(cuModuleUnload(module), CUDA_SUCCESS), EXPECT(cuMemFree(data), CUDA_SUCCESS);
  EXPECT(cuModuleLoadData(&module, ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry broken( {"), CUDA_ERROR_INVALID_PTX);
}

static void libraries_and_entry_points() {
  cudaLibrary_t library;
  cudaKernel_t kernel;
  EXPECT(cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  EXPECT(cudaLibraryGetKernel(&kernel, library, "scale"), cudaSuccess);
  unsigned* data = nullptr;
  EXPECT(cudaMallocManaged(&data, 4), cudaSuccess);
  *data = 2;
  unsigned n = 1;
  void* arguments[] = {&data, &n};
  EXPECT(cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(32), arguments, 0, nullptr), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(*data, 6u);
  EXPECT(cudaLibraryUnload(library), cudaSuccess);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  EXPECT(cudaGetDriverEntryPointByVersion("cuMemGetInfo", &function, 12000, cudaEnableDefault, &found), cudaSuccess);
  EXPECT(found, cudaDriverEntryPointSuccess);
  size_t free_bytes = 0, total = 0;
  EXPECT(reinterpret_cast<CUresult (*)(size_t*, size_t*)>(function)(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT(total > free_bytes, true);
  EXPECT(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12000, cudaEnableDefault, &found), cudaSuccess);
  EXPECT(found, cudaDriverEntryPointSymbolNotFound);
}

static void tensor_maps() {
  float* data = nullptr;
  EXPECT(cudaMalloc(&data, 64 * 64 * 4), cudaSuccess);
  CUtensorMap map;
  const cuuint64_t dims[] = {64, 64}, strides[] = {256};
  const cuuint32_t box[] = {32, 8}, ones[] = {1, 1}, wide[] = {512, 8};
  const auto encode = [&](const cuuint32_t* b, void* address) {
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, address, dims, strides, b, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT(encode(box, data), CUDA_SUCCESS);
  EXPECT(encode(wide, data), CUDA_ERROR_INVALID_VALUE);
  EXPECT(encode(box, reinterpret_cast<char*>(data) + 4), CUDA_ERROR_INVALID_VALUE);
}

static void virtual_memory() {
  int supported = 0;
  EXPECT(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0), CUDA_SUCCESS);
  EXPECT(supported, 1);
  CUmemAllocationProp props{};
  props.type = CU_MEM_ALLOCATION_TYPE_PINNED, props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t unit = 0;
  EXPECT(cuMemGetAllocationGranularity(&unit, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS);
  CUdeviceptr address;
  CUmemGenericAllocationHandle piece;
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT(cuMemAddressReserve(&address, 2 * unit, 0, 0, 0), CUDA_SUCCESS), EXPECT(cuMemCreate(&piece, unit, &props, 0), CUDA_SUCCESS);
  EXPECT(cuMemMap(address + unit, unit, 0, piece, 0), CUDA_SUCCESS), EXPECT(cuMemMap(address + 2 * unit, unit, 0, piece, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuMemSetAccess(address + unit, unit, &access, 1), CUDA_SUCCESS);
  unsigned value = 0;
  EXPECT(cuMemsetD32(address + unit, 0xabcd1234u, unit / 4), CUDA_SUCCESS), EXPECT(cuMemcpyDtoH(&value, address + 2 * unit - 4, 4), CUDA_SUCCESS);
  EXPECT(value, 0xabcd1234u);
  CUmemAllocationProp told{};
  EXPECT(cuMemGetAllocationPropertiesFromHandle(&told, piece), CUDA_SUCCESS);
  EXPECT(told.allocFlags.compressionType, CU_MEM_ALLOCATION_COMP_NONE), EXPECT(told.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  int compresses = 0;
  CUmemGenericAllocationHandle compressed;
  props.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
  EXPECT(cuDeviceGetAttribute(&compresses, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0), CUDA_SUCCESS);
  EXPECT(cuMemCreate(&compressed, unit, &props, 0), CUDA_SUCCESS), EXPECT(cuMemGetAllocationPropertiesFromHandle(&told, compressed), CUDA_SUCCESS);
  EXPECT(told.allocFlags.compressionType, compresses), EXPECT(cuMemRelease(compressed), CUDA_SUCCESS);
  EXPECT(cuMemGetAllocationPropertiesFromHandle(&told, 12345), CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuMemUnmap(address + unit, unit), CUDA_SUCCESS), EXPECT(cuMemRelease(piece), CUDA_SUCCESS), EXPECT(cuMemAddressFree(address, 2 * unit), CUDA_SUCCESS);
}

int main() {
  virtual_memory();
  modules();
  libraries_and_entry_points();
  tensor_maps();
  const char* text = nullptr;
  EXPECT(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text), CUDA_SUCCESS);
  EXPECT(std::strcmp(text, "CUDA_ERROR_NOT_FOUND"), 0);
  if (failures == 0) std::puts("good");
  return failures;
}
