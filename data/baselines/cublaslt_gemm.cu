// A matrix product by cuBLASLt, the best of its heuristics' list as timed in the first call at each size: a contestant of the rung "time".
// Filled in by forge/baselines.cc: @NAME@ words in capitals between at-signs.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <map>
#include <tuple>

namespace {

constexpr int kChoices = 16, kTries = 5;
constexpr size_t kWorkspaceBytes = size_t{64} << 20;

template <class F>
void find(void* file, const char* name, F& function) { function = reinterpret_cast<F>(dlsym(file, name)); }

struct Library {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  bool usable = false;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_operation = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  Library() {
    void* file = dlopen("@LIBRARY@", RTLD_NOW | RTLD_LOCAL);
    if (!file) return;
    decltype(&cublasLtCreate) create = nullptr;
    find(file, "cublasLtCreate", create);
    find(file, "cublasLtMatmul", matmul);
    find(file, "cublasLtMatmulAlgoGetHeuristic", heuristic);
    find(file, "cublasLtMatmulDescCreate", create_operation);
    find(file, "cublasLtMatmulDescSetAttribute", set_operation);
    find(file, "cublasLtMatrixLayoutCreate", create_layout);
    find(file, "cublasLtMatmulPreferenceCreate", create_preference);
    find(file, "cublasLtMatmulPreferenceSetAttribute", set_preference);
    usable = create && matmul && heuristic && create_operation && set_operation && create_layout && create_preference && set_preference && create(&handle) == CUBLAS_STATUS_SUCCESS &&
             cudaMalloc(&workspace, kWorkspaceBytes) == cudaSuccess;
  }
};

struct Product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t b = nullptr, a = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
  bool usable = false;
};

}  // namespace

extern "C" cudaError_t @FUNCTION@(@PARAMETERS@, cudaStream_t stream) {
  static const Library library;
  static std::map<std::tuple<long long, long long, long long>, Product> products;
  if (!library.usable) return cudaErrorSharedObjectSymbolNotFound;
  const float one = 1, zero = 0;
  const auto run = [&](const Product& p, const cublasLtMatmulAlgo_t& algorithm) {
    return library.matmul(library.handle, p.operation, &one, @B@, p.b, @A@, p.a, &zero, @C@, p.c, @C@, p.c, &algorithm, library.workspace, kWorkspaceBytes, stream);
  };
  Product& product = products[{@M@, @N@, @K@}];
  if (!product.operation) {
    const cublasOperation_t op_b = @OP_B@, op_a = @OP_A@;
    cublasLtMatmulPreference_t preference = nullptr;
    library.create_operation(&product.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    library.set_operation(product.operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b);
    library.set_operation(product.operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof op_a);
    library.create_layout(&product.b, @TYPE@, op_b == CUBLAS_OP_N ? @N@ : @K@, op_b == CUBLAS_OP_N ? @K@ : @N@, @LD_B@);
    library.create_layout(&product.a, @TYPE@, op_a == CUBLAS_OP_N ? @K@ : @M@, op_a == CUBLAS_OP_N ? @M@ : @K@, @LD_A@);
    library.create_layout(&product.c, @TYPE_C@, @N@, @M@, @N@);
    library.create_preference(&preference);
    library.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes);
    cublasLtMatmulHeuristicResult_t choices[kChoices];
    int count = 0;
    library.heuristic(library.handle, product.operation, product.b, product.a, product.c, product.c, preference, kChoices, choices, &count);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    float best = 1e30f;
    for (int i = 0; i < count; ++i) {
      float least = 1e30f;
      for (int turn = 0; turn < kTries; ++turn) {
        cudaEventRecord(begin, stream);
        if (run(product, choices[i].algo) != CUBLAS_STATUS_SUCCESS) break;
        cudaEventRecord(end, stream);
        float ms = 0;
        if (cudaEventSynchronize(end) == cudaSuccess && cudaEventElapsedTime(&ms, begin, end) == cudaSuccess && turn > 0 && ms < least) least = ms;
      }
      if (least < best) {
        best = least;
        product.chosen = choices[i];
        product.usable = true;
      }
    }
  }
  if (!product.usable) return cudaErrorNotSupported;
  return run(product, product.chosen.algo) == CUBLAS_STATUS_SUCCESS ? cudaGetLastError() : cudaErrorUnknown;
}
