// Loads and stores of every width, space and cache hint; atomics of every shape; fences.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

template <class T> __device__ void hints(T* p) {
  p[0] = __ldg(p + 1); p[2] = __ldcg(p + 3); p[4] = __ldca(p + 5); p[6] = __ldcs(p + 7); p[8] = __ldlu(p + 9); p[10] = __ldcv(p + 11);
  __stwb(p + 12, p[1]); __stcg(p + 13, p[1]); __stcs(p + 14, p[1]); __stwt(p + 15, p[1]);
}
__global__ void loads(char* a, short2* b, int* c, float4* d, double2* e, ulonglong2* f) { hints(a); hints(b); hints(c); hints(d); hints(e); hints(f); }
template <class T> __device__ void updates(T* p, T v) {
  atomicAdd(p, v); p[1] = atomicAdd(p + 1, v); p[2] = atomicMin(p + 2, v); atomicMax(p + 3, v); p[3] = atomicExch(p + 4, v);
  p[4] = atomicCAS(p + 5, v, T(v + 1)); atomicAnd(p + 6, v); p[6] = atomicOr(p + 7, v); atomicXor(p + 8, v);
}
__global__ void atomics(int* a, unsigned* b, unsigned long long* c, float* d, double* e, unsigned short* h) {
  __shared__ unsigned s[16];
  s[threadIdx.x] = 0;
  updates(a, 3); updates(b, 5u); updates(c, 7ull); updates(s, 9u);
  atomicSub(a, 1); b[9] = atomicInc(b, 4); b[10] = atomicDec(s, 4); d[0] = atomicAdd(d, 1.f); atomicAdd(e, 2.0); e[1] = atomicAdd_system(e, 1.0);
  a[9] = atomicAdd_block(a, 2); h[0] = atomicCAS(h + 1, h[2], h[3]); d[1] = atomicExch(d + 2, 3.f);
  __threadfence(); __threadfence_block(); __threadfence_system();
}
template <cuda::thread_scope S> __device__ void standard(int* p, unsigned long long* q) {
  cuda::atomic_ref<int, S> a(*p);
  cuda::atomic_ref<unsigned long long, S> b(*q);
  a.fetch_add(1, cuda::memory_order_relaxed); a.fetch_sub(1, cuda::memory_order_acquire); a.fetch_max(4, cuda::memory_order_release);
  a.store(a.load(cuda::memory_order_acquire) + 1, cuda::memory_order_release);
  int expected = 3;
  a.compare_exchange_strong(expected, 4, cuda::memory_order_acq_rel);
  b.exchange(b.load() + expected); b.fetch_or(2); b.fetch_and(1, cuda::memory_order_seq_cst); b.wait(3);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, S);
}
__global__ void scopes(int* p, unsigned long long* q, float* f) {
  standard<cuda::thread_scope_block>(p, q); standard<cuda::thread_scope_device>(p, q); standard<cuda::thread_scope_system>(p, q);
  cuda::atomic_ref<float, cuda::thread_scope_device>(*f).fetch_add(1.f);
  volatile int* v = p; v[0] = v[1] + 1;
}
__global__ void spaces(unsigned* out, void* p) {
  out[0] = __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p) + 8 * __isConstant(p);
  out[1] = static_cast<unsigned>(__cvta_generic_to_shared(p)) + static_cast<unsigned>(__cvta_generic_to_global(p));
  int local[40];
  for (int i = 0; i < 40; ++i) local[i] = out[i];
  for (int i = 0; i < 40; ++i) out[local[i] & 63] = local[(i * 7) % 40];
}
