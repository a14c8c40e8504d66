// Tensor cores through wmma and mma.sync, ldmatrix, cp.async pipelines.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

template <class In, class Out, int M, int N, int K> __device__ void multiply(const In* a, const In* b, Out* c, int ld) {
  wmma::fragment<wmma::matrix_a, M, N, K, In, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, In, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Out> fc;
  wmma::fill_fragment(fc, Out(0));
  wmma::load_matrix_sync(fa, a, ld);
  wmma::load_matrix_sync(fb, b, ld);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, ld, wmma::mem_row_major);
}
__global__ void fragments(__half* h, float* f, signed char* s, unsigned char* u, int* i, int ld) {
  __shared__ __half tile[256];
  tile[threadIdx.x] = h[threadIdx.x];
  __syncthreads();
  multiply<__half, float, 16, 16, 16>(tile, h, f, ld);
  multiply<__half, __half, 8, 32, 16>(h, h, h, ld);
  multiply<__half, float, 32, 8, 16>(h, h, f, ld);
  multiply<signed char, int, 16, 16, 16>(s, s, i, ld);
  multiply<unsigned char, int, 8, 32, 16>(u, u, i, ld);
}
__global__ void mma_sync(unsigned* r, float* c, const float4* g, int n) {
  __shared__ alignas(16) unsigned stage[2][512];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&stage[0][threadIdx.x * 4]));
#if __CUDA_ARCH__ >= 800
  for (int k = 0; k < n; ++k) {
    __pipeline_memcpy_async(&stage[k & 1][threadIdx.x * 4], g + k, 16);
    __pipeline_memcpy_async(&stage[k & 1][threadIdx.x * 4 + 4], g + k, 8, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
  }
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n cp.async.wait_all;" ::"r"(at), "l"(g));
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 4; }" ::"r"(at), "l"(g), "r"(n));
#endif
  unsigned a0, a1, a2, a3, b0, b1;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(at + 64));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(b0));
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
  r[threadIdx.x] = a0 + a1 + a2 + a3 + b0 + b1;
}
