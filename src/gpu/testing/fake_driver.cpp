// A CUDA driver and an NVML without a device, in one library, for tests of what reads them. $KFORGE_FAKE_GPU says which machine this is:
// "h200" (default), "cut" (an H200 with fewer multiprocessors), "unknown" (a part without a data sheet), "none" (a driver, no GPU), "old" (a driver for CUDA 12.2),
// $KFORGE_FAKE_XIDS is a file of Xid numbers, which NVML's events tell one after the other as soon as they stand there; after a 79 no device answers.
// "small" (an H200 with little cache and memory: tests run its kernels on the CPU), "two" and "three" (so many of these), "worn" (a small one whose memory has a row that could not be replaced), "mismatch" (libraries of another version than the kernel module), "hot" (thermal slowdown), "capped" (power cap).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool is(const char* machine) {
  const char* value = std::getenv("KFORGE_FAKE_GPU");
  return std::string(value && *value ? value : "h200") == machine;
}

int gpus() { return is("two") ? 2 : is("three") ? 3 : 1; }
bool small() { return is("small") || is("worn") || gpus() > 1; }

// Numbers of the file that no event set has told yet. One process reads them at a time.
struct EventSet { std::size_t told = 0; };
int xid_at(std::size_t place) {
  const char* path = std::getenv("KFORGE_FAKE_XIDS");
  std::FILE* file = path ? std::fopen(path, "r") : nullptr;
  if (!file) return 0;
  int number = 0;
  for (std::size_t i = 0; i <= place; ++i)
    if (std::fscanf(file, "%d", &number) != 1) number = 0;
  std::fclose(file);
  return number;
}
bool fell_off() {
  for (std::size_t i = 0; const int number = xid_at(i); ++i)
    if (number == 79) return true;
  return false;
}

struct Attribute { int number, value; };
constexpr Attribute kH200[] = {{75, 9}, {76, 0}, {16, 132}, {37, 6016}, {1, 1024}, {39, 2048}, {106, 32}, {12, 65536}, {82, 65536}, {8, 49152},
                               {97, 232448}, {81, 233472}, {111, 1024}, {13, 1980000}, {36, 3201000}, {38, 62914560}};

const char* name() { return is("unknown") ? "NVIDIA H300 Imaginary" : "NVIDIA H200"; }

int copy(char* to, unsigned bytes, const char* text) {
  std::snprintf(to, bytes, "%s", text);
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return is("none") ? 100 : is("mismatch") ? 803 : 0; }
int cuDriverGetVersion(int* version) { *version = is("old") ? 12020 : 13000; return 0; }
int cuDeviceGetCount(int* count) { *count = gpus(); return 0; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDeviceGetName(char* to, int bytes, int) { return copy(to, static_cast<unsigned>(bytes), name()); }
int cuDeviceGetUuid_v2(unsigned char* to, int device) { for (int i = 0; i < 16; ++i) to[i] = static_cast<unsigned char>(17 * i + device); return 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { *bytes = small() ? 1ull << 30 : 150110011392ull; return 0; }
int cuGetErrorString(int error, const char** text) { *text = error == 803 ? "system has unsupported display driver / cuda driver combination" : "fake error"; return 0; }
int cuDeviceGetAttribute(int* value, int number, int) {
  for (const Attribute& row : kH200)
    if (row.number == number) {
      *value = number == 16 && (is("cut") || is("unknown")) ? 114 : number == 38 && (small() || is("hot")) ? 1 << 20 : row.value;
      return 0;
    }
  return 1;
}

int nvmlInit_v2() { return is("mismatch") ? 18 : 0; }
const char* nvmlErrorString(int error) { return error == 18 ? "Driver/library version mismatch" : "fake NVML error"; }
int nvmlSystemGetDriverVersion(char* to, unsigned bytes) { return copy(to, bytes, is("old") ? "535.54.03" : "580.65.06"); }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { *version = is("old") ? 12020 : 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = is("none") ? 0 : static_cast<unsigned>(gpus()); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) { static int one; *device = &one; return 0; }
int nvmlDeviceGetName(void*, char* to, unsigned bytes) { return copy(to, bytes, name()); }
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) { *mhz = type == 2 ? 3201 : is("hot") ? 1200 : 1980; return 0; }
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) { *mhz = type == 2 ? 3201 : 1980; return 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { *celsius = is("hot") ? 91 : 45; return fell_off() ? 15 : 0; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { *milliwatts = 400000; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { *milliwatts = 700000; return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) { *bits = is("hot") ? 0x20 : is("capped") ? 0x4 : 0; return 0; }
int nvmlDeviceGetMemoryBusWidth(void*, unsigned* bits) { *bits = 6016; return 0; }
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) { *corrected = *uncorrected = *pending = 0; *failed = is("worn"); return 0; }

struct EventData { void* device; unsigned long long type, data; unsigned instances[2]; };
int nvmlEventSetCreate(void** set) { *set = new EventSet; return 0; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
int nvmlEventSetWait_v2(void* set, EventData* out, unsigned wait_ms) {
  const std::size_t told = static_cast<EventSet*>(set)->told;
  const int number = xid_at(told);
  // What a program brings about comes after its fault, when somebody waits for it.
  if (number == 0 || (number < 48 && told == 0 && wait_ms == 0)) return 10;   // time is up
  ++static_cast<EventSet*>(set)->told;
  *out = {nullptr, 0x8, static_cast<unsigned long long>(number), {0, 0}};
  return 0;
}
int nvmlEventSetFree(void* set) { delete static_cast<EventSet*>(set); return 0; }
}
