// cuTensorMapEncodeTiled of the driver, which the runtime finds: a launcher that links nothing of the driver can describe tensors to the copying unit.
using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

cudaError_t find_encode(Encode& encode) {
  static Encode known = nullptr;
  if (known == nullptr) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found); error != cudaSuccess) return error;
    known = reinterpret_cast<Encode>(entry);
  }
  encode = known;
  return cudaSuccess;
}
