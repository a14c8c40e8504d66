// A matrix product by cuBLAS, as a contestant of the rung "time". Filled in by forge/baselines.cc: @NAME@ words in capitals between at-signs.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

namespace {

struct Library {
  cublasHandle_t handle = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*, cudaDataType, int,
                         cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
  Library() {
    void* file = dlopen("@LIBRARY@", RTLD_NOW | RTLD_LOCAL);
    if (!file) return;
    const auto create = reinterpret_cast<decltype(&cublasCreate_v2)>(dlsym(file, "cublasCreate_v2"));
    set_stream = reinterpret_cast<decltype(set_stream)>(dlsym(file, "cublasSetStream_v2"));
    gemm = reinterpret_cast<decltype(gemm)>(dlsym(file, "cublasGemmEx"));
    if (!create || !set_stream || create(&handle) != CUBLAS_STATUS_SUCCESS) gemm = nullptr;
  }
};

}  // namespace

extern "C" cudaError_t @FUNCTION@(@PARAMETERS@, cudaStream_t stream) {
  static const Library library;
  if (!library.gemm || library.set_stream(library.handle, stream) != CUBLAS_STATUS_SUCCESS) return cudaErrorSharedObjectSymbolNotFound;
  const float one = 1, zero = 0;
  // Row-major C = A B is column-major C^T = B^T A^T.
  const auto status = library.gemm(library.handle, @OP_B@, @OP_A@, @N@, @M@, @K@, &one, @B@, @TYPE@, @LD_B@, @A@, @TYPE@, @LD_A@, &zero, @C@, @TYPE_C@, @N@, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return status == CUBLAS_STATUS_SUCCESS ? cudaGetLastError() : cudaErrorUnknown;
}
