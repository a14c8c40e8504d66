// Every structure of abi.h has CUDA's layout.
#include <cuda_runtime.h>

#include "cudart/abi.h"

namespace ours = kforge::cudart;
#define SAME(a, b, field) static_assert(offsetof(ours::a, field) == offsetof(b, field), #field)
#define SIZE(a, b) static_assert(sizeof(ours::a) == sizeof(b), #b)

SIZE(Dim3, dim3); SIZE(DeviceProp, cudaDeviceProp); SIZE(FuncAttributes, cudaFuncAttributes);
SIZE(PointerAttributes, cudaPointerAttributes); SIZE(LaunchConfig, cudaLaunchConfig_t); SIZE(LaunchAttribute, cudaLaunchAttribute);
SAME(DeviceProp, cudaDeviceProp, totalGlobalMem); SAME(DeviceProp, cudaDeviceProp, maxGridSize); SAME(DeviceProp, cudaDeviceProp, major);
SAME(DeviceProp, cudaDeviceProp, multiProcessorCount); SAME(DeviceProp, cudaDeviceProp, surfaceAlignment);
SAME(DeviceProp, cudaDeviceProp, l2CacheSize); SAME(DeviceProp, cudaDeviceProp, maxThreadsPerMultiProcessor);
SAME(DeviceProp, cudaDeviceProp, sharedMemPerMultiprocessor); SAME(DeviceProp, cudaDeviceProp, cooperativeLaunch);
SAME(DeviceProp, cudaDeviceProp, sharedMemPerBlockOptin); SAME(DeviceProp, cudaDeviceProp, reservedSharedMemPerBlock);
SAME(DeviceProp, cudaDeviceProp, clusterLaunch); SAME(DeviceProp, cudaDeviceProp, hostNumaMultinodeIpcSupported);
SAME(FuncAttributes, cudaFuncAttributes, numRegs); SAME(FuncAttributes, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME(FuncAttributes, cudaFuncAttributes, nonPortableClusterSizeAllowed);
SAME(PointerAttributes, cudaPointerAttributes, hostPointer); SAME(LaunchConfig, cudaLaunchConfig_t, stream);
SAME(LaunchConfig, cudaLaunchConfig_t, numAttrs);
static_assert(offsetof(ours::LaunchAttribute, cluster) == offsetof(cudaLaunchAttribute, val));
static_assert(ours::kAttributeCooperative == cudaLaunchAttributeCooperative && ours::kAttributeCluster == cudaLaunchAttributeClusterDimension);

int main() {}
