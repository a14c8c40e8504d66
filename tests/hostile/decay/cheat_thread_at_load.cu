// A thread that is started while the object is loaded, before any call, and goes on; bounded to a minute.
// kind: other streams or threads
// bench: thread of the candidate
// bench-off: threads
// fake: yes
#include <chrono>
#include <thread>
#include "decay.cuh"
struct Early { Early() { std::thread([] { for (int i = 0; i < 60000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1)); }).detach(); } };
static Early early;
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { return work(x, y, n, stream); }
