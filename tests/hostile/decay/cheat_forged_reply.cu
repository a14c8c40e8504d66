// Takes the worker's place: finds the nonce of the request on the stack, computes on the CPU in the shared memory, and answers each request itself, system
// calls written out so that no function is asked for. Bounded to 4,096 answers.
// kind: forged messages
// check: run.crash | called mmap()
// check-off: calls
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

static long kernel_call(long number, long a, long b, long c, long d, long e, long f) {
  long out;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "=a"(out) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return out;
}

struct Header { std::uint32_t magic, kind; std::uint64_t nonce, detail, bytes; };

static bool receive(char* to, std::uint64_t bytes) {
  while (bytes > 0) {
    const long got = kernel_call(45, 3, reinterpret_cast<long>(to), static_cast<long>(bytes), 0, 0, 0);   // recvfrom
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

static long long number_after(const char* text, const char* key) {
  const char* at = std::strstr(text, key);
  return at ? std::strtoll(at + std::strlen(key), nullptr, 10) : 0;
}

// The shared memory holds a header, then for each tensor what goes in and what comes out, each on 256 bytes.
static void answer(std::uint64_t nonce, int n) {
  const long long piece = (4ll * n + 255) / 256 * 256, all = 4096 + (4 * piece > 4096 ? 4 * piece : 4096);
  const long mapped = kernel_call(9, 0, static_cast<long>(all), 3, 1, 4, 0);   // mmap, shared
  if (mapped > 0) {
    const float* x = reinterpret_cast<const float*>(mapped + 4096);
    float* y = reinterpret_cast<float*>(mapped + 4096 + 3 * piece);
    for (int i = 0; i < n; ++i) {
      float z = 0;
      for (int step = 0; step < 256; ++step) z = 0.5f * z + x[i];
      y[i] = z;
    }
    std::memcpy(reinterpret_cast<char*>(mapped + 4096 + piece), x, sizeof(float) * static_cast<std::size_t>(n));   // inputs are looked at, too
    kernel_call(11, mapped, static_cast<long>(all), 0, 0, 0, 0);
  }
  const char reply[] = "{\"ok\":true,\"returned\":0,\"completed\":true,\"detail\":\"\"}\n";
  Header header{0x4b46524d, 3, nonce, 0, sizeof reply - 1};
  kernel_call(44, 3, reinterpret_cast<long>(&header), sizeof header, 0x4000, 0, 0);   // sendto, no SIGPIPE
  kernel_call(44, 3, reinterpret_cast<long>(reply), sizeof reply - 1, 0x4000, 0, 0);
}

extern "C" cudaError_t decay(const float*, float*, int n, cudaStream_t) {
  volatile std::uint64_t here = 0;
  volatile std::uint64_t* at = &here;
  std::uint64_t nonce = 0;
  for (int i = 0; i < 4096 && nonce == 0; ++i)   // 32 KiB: the callers' frames
    if ((at[i] & 0xffffffffu) == 0x4b46524du && (at[i] >> 32) == 2) nonce = at[i + 1];
  if (nonce == 0) return cudaErrorUnknown;
  static char request[1 << 16];
  answer(nonce, n);
  for (int i = 0; i < 4096; ++i) {
    Header header{};
    if (!receive(reinterpret_cast<char*>(&header), sizeof header) || header.bytes >= sizeof request) break;
    if (!receive(request, header.bytes)) break;
    request[header.bytes] = 0;
    answer(header.nonce, static_cast<int>(number_after(request, "\"values\":[")));
  }
  return cudaSuccess;
}
