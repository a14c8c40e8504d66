// One of two texts that are compiled apart (-rdc=true).
__constant__ int offsets[2] = {40, 2};
static __device__ int secret() { return offsets[1]; }
__device__ int answer(int which) { return which == 0 ? offsets[0] : secret(); }
