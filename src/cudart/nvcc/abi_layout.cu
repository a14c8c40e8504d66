// Every structure of abi.h has CUDA's layout.
#include <cuda.h>
#include <cuda_runtime.h>

#include "cudart/abi.h"
#include "cudart/abi_driver.h"
#include "cudart/abi_graph.h"
#include "cudart/abi_memory.h"

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

SIZE(ChannelDesc, cudaChannelFormatDesc); SIZE(PitchedPtr, cudaPitchedPtr); SIZE(Extent, cudaExtent); SIZE(Pos, cudaPos);
SIZE(Copy3D, cudaMemcpy3DParms); SAME(Copy3D, cudaMemcpy3DParms, dstPtr); SAME(Copy3D, cudaMemcpy3DParms, kind);
SIZE(Copy3DPeer, cudaMemcpy3DPeerParms); SAME(Copy3DPeer, cudaMemcpy3DPeerParms, dstArray); SAME(Copy3DPeer, cudaMemcpy3DPeerParms, extent);
SIZE(MemsetParams, cudaMemsetParams); SAME(MemsetParams, cudaMemsetParams, width);
SIZE(ResourceDesc, cudaResourceDesc); SAME(ResourceDesc, cudaResourceDesc, flags);
static_assert(offsetof(ours::ResourceDesc, pitch2d.width) == offsetof(cudaResourceDesc, res.pitch2D.width));
static_assert(offsetof(ours::ResourceDesc, linear.bytes) == offsetof(cudaResourceDesc, res.linear.sizeInBytes));
SIZE(ResourceViewDesc, cudaResourceViewDesc); SAME(ResourceViewDesc, cudaResourceViewDesc, firstLayer);
SIZE(TextureDesc, cudaTextureDesc); SAME(TextureDesc, cudaTextureDesc, borderColor); SAME(TextureDesc, cudaTextureDesc, normalizedCoords);
SAME(TextureDesc, cudaTextureDesc, mipmapFilterMode); SAME(TextureDesc, cudaTextureDesc, seamlessCubemap);
SIZE(MemAccessDesc, cudaMemAccessDesc); SIZE(PoolProps, cudaMemPoolProps); SAME(PoolProps, cudaMemPoolProps, location);
SIZE(ArrayMemoryRequirements, cudaArrayMemoryRequirements);
SIZE(KernelNodeParams, cudaKernelNodeParams); SIZE(HostNodeParams, cudaHostNodeParams); SIZE(AllocNodeParams, cudaMemAllocNodeParams);
SAME(AllocNodeParams, cudaMemAllocNodeParams, bytesize); SIZE(EdgeData, cudaGraphEdgeData); SIZE(GraphNodeParams, cudaGraphNodeParams);
SAME(GraphNodeParams, cudaGraphNodeParams, kernel); SAME(GraphNodeParams, cudaGraphNodeParams, reserved2);
SIZE(GraphInstantiateParams, cudaGraphInstantiateParams); SIZE(GraphUpdateResult, cudaGraphExecUpdateResultInfo);
static_assert(sizeof(cudaLaunchAttributeValue) == ours::kAttributeBytes);
static_assert(ours::kNodeAlloc == cudaGraphNodeTypeMemAlloc && ours::kNodeConditional == cudaGraphNodeTypeConditional);

SIZE(DriverCopy2D, CUDA_MEMCPY2D); SIZE(DriverCopy3D, CUDA_MEMCPY3D); SIZE(DriverArrayDesc, CUDA_ARRAY_DESCRIPTOR); SIZE(DriverArray3DDesc, CUDA_ARRAY3D_DESCRIPTOR);
SIZE(DriverTextureDesc, CUDA_TEXTURE_DESC); SIZE(DriverResourceDesc, CUDA_RESOURCE_DESC); SIZE(DriverLaunchConfig, CUlaunchConfig);
static_assert(offsetof(ours::DriverCopy2D, to) == offsetof(CUDA_MEMCPY2D, dstXInBytes) && offsetof(ours::DriverCopy2D, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(offsetof(ours::DriverCopy3D, to) == offsetof(CUDA_MEMCPY3D, dstXInBytes) && offsetof(ours::DriverCopy3D, to.pitch) == offsetof(CUDA_MEMCPY3D, dstPitch));
static_assert(offsetof(ours::DriverTextureDesc, border) == offsetof(CUDA_TEXTURE_DESC, borderColor));
static_assert(offsetof(ours::DriverPieceProps, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(ours::DriverLaunchConfig, attrs) == offsetof(CUlaunchConfig, attrs));

int main() {}
