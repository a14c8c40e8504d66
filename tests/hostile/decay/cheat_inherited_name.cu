// A thread that is started in a host function, whose thread is the driver's: it inherits that one's name. Bounded to a minute.
// kind: other streams or threads
// bench: thread of the candidate
// bench-off: threads
// fake: yes
#include <chrono>
#include <thread>
#include "decay.cuh"
static void start(void*) { std::thread([] { for (int i = 0; i < 60000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1)); }).detach(); }
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static bool once = false;
  if (!once) { once = true; cudaLaunchHostFunc(stream, start, nullptr); }
  return work(x, y, n, stream);
}
