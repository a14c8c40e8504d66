// Softmax of the rows of a matrix by cuDNN, as a contestant of the rung "time". Filled in by forge/baselines.cc: @NAME@ words in capitals between at-signs.
// cuDNN's headers need not be there: what is called is declared here, as cudnn_graph.h and cudnn_ops.h (version 9) have it.
#include <cuda_runtime.h>
#include <dlfcn.h>

namespace {

using Handle = void*;
using Descriptor = void*;
constexpr int kNchw = 0, kAccurate = 1, kInstance = 0;      // CUDNN_TENSOR_NCHW, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE

template <class F>
void find(void* file, const char* name, F& function) { function = reinterpret_cast<F>(dlsym(file, name)); }

struct Library {
  Handle handle = nullptr;
  Descriptor matrix = nullptr;
  bool usable = false;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*set_descriptor)(Descriptor, int format, int type, int n, int c, int h, int w) = nullptr;
  int (*softmax)(Handle, int algorithm, int mode, const void* alpha, Descriptor, const void* x, const void* beta, Descriptor, void* y) = nullptr;
  Library() {
    void* file = dlopen("@LIBRARY@", RTLD_NOW | RTLD_GLOBAL);   // its parts find each other
    if (!file) return;
    int (*create)(Handle*) = nullptr;
    int (*create_descriptor)(Descriptor*) = nullptr;
    find(file, "cudnnCreate", create);
    find(file, "cudnnCreateTensorDescriptor", create_descriptor);
    find(file, "cudnnSetStream", set_stream);
    find(file, "cudnnSetTensor4dDescriptor", set_descriptor);
    find(file, "cudnnSoftmaxForward", softmax);
    usable = create && create_descriptor && set_stream && set_descriptor && softmax && create(&handle) == 0 && create_descriptor(&matrix) == 0;
  }
};

}  // namespace

extern "C" cudaError_t @FUNCTION@(@PARAMETERS@, cudaStream_t stream) {
  static const Library library;
  if (!library.usable || library.set_stream(library.handle, stream) != 0) return cudaErrorSharedObjectSymbolNotFound;
  if (library.set_descriptor(library.matrix, kNchw, @TYPE@, static_cast<int>(@ROWS@), static_cast<int>(@K@), 1, 1) != 0) return cudaErrorInvalidValue;
  const @SCALE@ one = 1, zero = 0;
  const int status = library.softmax(library.handle, kAccurate, kInstance, &one, library.matrix, @A@, &zero, library.matrix, @C@);
  return status == 0 ? cudaGetLastError() : cudaErrorUnknown;
}
