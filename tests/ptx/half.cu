// f16, bf16 and fp8 arithmetic, scalar and packed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <class T> __device__ T mix(T a, T b) {
  T c = __hadd(a, b);
  c = __hfma(a, b, __hsub(c, __hmul(a, b)));
  c = __hmax(c, __hmin(a, __hneg(b)));
  c = __hdiv(__habs(c), b);
  if (__hgt(c, a) && __hlt(a, b)) c = hexp(c);
  c = T(1) * hsqrt(hlog(hfloor(htrunc(hrint(hceil(c))))));
  return hrcp(hsin(hcos(hexp2(c)))) + hrsqrt(__hadd_sat(a, b));
}
template <class T> __device__ T mix2(T a, T b) {
  T c = __hfma2(a, b, __hadd2(a, __hmul2(a, b)));
  c = __hmax2(c, __hmin2(a, __hneg2(b)));
  if (__hbgt2(c, a) || __hbeq2(a, b)) c = h2exp(c);
  return __hadd2(__heq2(a, b), h2sqrt(__h2div(__habs2(c), b)));
}
__global__ void f16(__half* p) { p[0] = mix(p[1], p[2]); }
__global__ void f16x2(__half2* p) { p[0] = mix2(p[1], p[2]); }
__global__ void bf16(__nv_bfloat16* p) { p[0] = mix(p[1], p[2]); }
__global__ void bf16x2(__nv_bfloat162* p) { p[0] = mix2(p[1], p[2]); }
__global__ void converts(__half* h, __nv_bfloat16* b, float* f, double* d, int* i, long long* l) {
  h[0] = __float2half_rz(f[0]); h[1] = __double2half(d[0]); h[2] = __int2half_rn(i[0]); h[3] = __ll2half_rd(l[0]); h[4] = __ushort_as_half(i[1]);
  b[0] = __float2bfloat16_ru(f[1]); b[1] = __double2bfloat16(d[1]); b[2] = __int2bfloat16_rn(i[2]); b[3] = __ll2bfloat16_rd(l[1]);
  f[2] = __half2float(h[5]) + __bfloat162float(b[5]) + __half2int_rz(h[6]) + __bfloat162ll_rd(b[6]);
  reinterpret_cast<__half2*>(h)[8] = __floats2half2_rn(f[3], f[4]);
  reinterpret_cast<__nv_bfloat162*>(b)[8] = __floats2bfloat162_rn(f[3], f[4]);
  atomicAdd(h + 20, h[7]); atomicAdd(b + 20, b[7]);
  atomicAdd(reinterpret_cast<__half2*>(h) + 30, __half2half2(h[9]));
  atomicAdd(reinterpret_cast<__nv_bfloat162*>(b) + 30, __bfloat162bfloat162(b[9]));
}
__global__ void fp8(__nv_fp8_e4m3* a, __nv_fp8x2_e5m2* b, float* f, float2* g) {
  a[0] = __nv_fp8_e4m3(f[0]); b[0] = __nv_fp8x2_e5m2(g[0]); f[1] = float(a[1]); g[1] = float2(b[1]);
}
