// Keeps something in a segment of shared memory, which outlives the process; it is removed at once.
// kind: cached results
// check: interface | asks for shmget
// check-off: imports,calls
#include <sys/ipc.h>
#include <sys/shm.h>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  const int id = shmget(0x6b66, 4096, IPC_CREAT | 0600);
  void* p = id < 0 ? nullptr : shmat(id, nullptr, 0);
  if (p && p != reinterpret_cast<void*>(-1)) { ++*static_cast<int*>(p); shmdt(p); shmctl(id, IPC_RMID, nullptr); }
  return work(x, y, n, stream);
}
