// printf on the device: what comes out is what the host's printf makes of the same arguments.
#include <cstdio>

#define LINES                                                                                                      \
  SAY("%d %i %5d|%-5d|%05d|%+d|% d\n", 1, -2, 3, 4, 5, 6, 7);                                                       \
  SAY("%u %x %X %o %#x %#o\n", 4000000000u, 0xdeadu, 0xbeefu, 8u, 255u, 8u);                                        \
  SAY("%ld %lld %lu %llu %llx %zu\n", -5000000000l, -6000000000ll, 5000000000ul, 18446744073709551615ull, 0x123456789abcull, sizeof(int)); \
  SAY("%hd %hhd %hu %hhu\n", 70000, 300, 70000, 300);                                                              \
  SAY("%f %.2f %10.3f|%-10.1f|%+.0f %e %.3E %g %G\n", 1.5, 2.345, 3.14159, 2.5, 7.0, 12345.678, 0.00012, 1e10, 1e-10); \
  SAY("%a %A %.1a\n", 1.0, 0.5, 3.7);                                                                              \
  SAY("%c%c%c|%5c|%-3c|\n", 'a', 'b', 'c', 'd', 'e');                                                              \
  SAY("%s|%10s|%-10s|%.3s|%%|%10.2s|\n", "text", "right", "left", "cutoff", "xyz");                                \
  SAY("%*d|%-*d|%.*f|%*.*f\n", 6, 42, 6, 42, 3, 2.71828, 8, 2, 2.71828);                                            \
  SAY("%f %f %f\n", 1.0 / zero, -1.0 / zero, zero / zero);                                                          \
  SAY("no arguments\n");                                                                                            \
  SAY("%d %s %f %c %lld %u %x %g %d %d %d %d %d %d %d %d\n", 1, "two", 3.0, '4', 5ll, 6u, 7u, 8.0, 9, 10, 11, 12, 13, 14, 15, 16);

__global__ void speak(double zero, int* returned) {
  int n = 0;
#define SAY(...) n += printf(__VA_ARGS__)
  LINES
  returned[0] = n;
  returned[1] = printf("%d%d\n", 1, 2);
  returned[2] = printf("plain\n");
#undef SAY
}

int main(int argc, char**) {
  volatile double zero_value = 0;
  const double zero = zero_value;
  if (argc > 1) {   // what it has to be
#define SAY(...) printf(__VA_ARGS__)
    LINES
    std::puts("12\nplain\n2 0");
    return 0;
  }
  int* returned;
  int host[3];
  cudaMalloc(&returned, sizeof host);
  speak<<<1, 1>>>(zero, returned);
  cudaMemcpy(host, returned, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", host[1], host[2]);
  return cudaGetLastError();
}
