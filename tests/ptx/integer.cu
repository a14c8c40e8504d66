// Integer arithmetic of every width, carry chains of 128-bit integers, and the integer intrinsics.
template <class T> __device__ T mix(T a, T b, int s) {
  return (a + b) * (a - b) / (b | 1) % (a | 3) ^ (a << (s & 7)) ^ (b >> (s & 7)) ^ (a & ~b) ^ (a > b ? a : b) ^ (a < b ? T(1) : T(2));
}
template <class T> __global__ void widths(T* p, int s) { p[threadIdx.x] = mix(p[s], p[s + 1], s); }
template __global__ void widths(signed char*, int);
template __global__ void widths(unsigned char*, int);
template __global__ void widths(short*, int);
template __global__ void widths(unsigned short*, int);
template __global__ void widths(int*, int);
template __global__ void widths(unsigned*, int);
template __global__ void widths(long long*, int);
template __global__ void widths(unsigned long long*, int);
template __global__ void widths(__int128*, int);
template __global__ void widths(unsigned __int128*, int);

__global__ void intrinsics(unsigned* u, int* s, unsigned long long* w, int n) {
  u[0] = __popc(u[n]) + __clz(s[n]) + __ffs(s[n + 1]) + __brev(u[2]) + __byte_perm(u[3], u[4], 0x5140) + __popcll(w[1]) + __clzll(w[2]) + __ffsll(w[3]);
  u[1] = __funnelshift_l(u[3], u[4], n) + __funnelshift_rc(u[5], u[6], n) + __umulhi(u[7], u[8]) + __usad(u[1], u[2], u[3]) + __sad(s[1], s[2], u[3]);
  w[0] = __umul64hi(w[1], w[2]) + __brevll(w[3]) + __mul64hi(s[3], s[4]) + __umul24(u[3], u[4]) + __mul24(s[3], s[4]);
  u[2] = __vadd4(u[3], u[4]) + __vabsdiffs2(u[5], u[6]) + __vmaxu4(u[3], u[4]) + __vcmpgts2(u[1], u[2]) + __vavgu4(u[1], u[9]) + __vsadu4(u[3], u[4]);
  s[0] = __dp4a(s[1], s[2], s[3]) + __dp2a_lo(s[4], s[5], s[6]) + __rhadd(s[1], s[2]) + __hadd(s[3], s[4]) + max(min(s[1], n), -n) + abs(s[7]);
}
