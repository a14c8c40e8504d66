// Every math.h function that device code commonly calls, in f32 and f64, and the fast intrinsics.
#include <cmath>

template <class T> __device__ T all(T x, T y) {
  T s = sin(x) + cos(y) + tan(x) + asin(x) + acos(y) + atan(x) + atan2(x, y);
  s += sinh(x) + cosh(y) + tanh(x) + asinh(x) + acosh(y) + atanh(x);
  s += exp(x) + exp2(y) + expm1(x) + log(x) + log2(y) + log10(x) + log1p(y);
  s += pow(x, y) + sqrt(x) + cbrt(y) + hypot(x, y) + rsqrt(x) + rcbrt(y);
  s += erf(x) + erfc(y) + erfinv(x) + erfcinv(y) + lgamma(x) + tgamma(y) + normcdf(x);
  s += fmod(x, y) + remainder(x, y) + floor(x) + ceil(y) + rint(x) + trunc(y) + round(x);
  s += fmin(x, y) + fmax(x, y) + fdim(x, y) + fma(x, y, s) + copysign(x, y) + nextafter(x, y);
  int e = 0;
  s += frexp(x, &e) + ldexp(y, e) + scalbn(x, 3) + logb(y) + ilogb(x);
  s += j0(x) + j1(y) + jn(3, x) + y0(x) + y1(y) + sinpi(x) + cospi(y);
  return isnan(s) || isinf(s) || signbit(s) ? T(0) : s;
}
__global__ void f32(float* p) { p[threadIdx.x] = all(p[threadIdx.x], p[threadIdx.x + 1]); }
__global__ void f64(double* p) { p[threadIdx.x] = all(p[threadIdx.x], p[threadIdx.x + 1]); }
__global__ void fast(float* p, int n) {
  float x = p[threadIdx.x], y = p[n];
  p[0] = __sinf(x) + __cosf(y) + __expf(x) + __logf(y) + __powf(x, y) + __fdividef(x, y) + __tanf(x) + __saturatef(y);
  p[1] = __fadd_rz(x, y) + __fmul_rd(x, y) + __fmaf_ru(x, y, x) + __frcp_rn(x) + __fsqrt_rz(y) + __fdiv_rd(x, y);
  p[2] = __float2int_rd(x) + __int2float_rz(n) + __float2uint_rn(y) + __float2ll_rz(x) + __ll2float_ru(n);
  p[3] = __int_as_float(__float_as_int(x) ^ n) + rsqrtf(y) + __frsqrt_rn(x) + exp10f(y) + rhypotf(x, y) + norm3df(x, y, x);
}
__global__ void fast64(double* p, long long n) {
  double x = p[threadIdx.x], y = p[n];
  p[0] = __dadd_rz(x, y) + __dmul_rd(x, y) + __fma_ru(x, y, x) + __drcp_rn(x) + __dsqrt_rz(y) + __ddiv_rd(x, y);
  p[1] = __double2int_rd(x) + __ll2double_rz(n) + __double2uint_rn(y) + __double2float_rd(x) + __hiloint2double(__double2hiint(x), __double2loint(y));
}
