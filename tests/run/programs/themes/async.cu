// libcu++: atomic_ref, atomics that wait, latch, barrier, semaphore, pipeline, asynchronous copies, within and across blocks.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/atomic>

#include "self_check.h"

namespace cg = cooperative_groups;

__global__ void use_barrier(int* out, int rounds) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  __shared__ int values[2][128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int mine = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    values[round % 2][threadIdx.x] = mine;
    barrier.arrive_and_wait();
    mine = values[round % 2][(threadIdx.x + 1) % blockDim.x] + 1;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

// Half of the block produces, half consumes: two barriers a stage.
__global__ void produce_and_consume(const int* in, int* out, int parts) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier ready[2], filled[2];
  __shared__ int buffers[2][64];
  if (threadIdx.x < 4) init(threadIdx.x < 2 ? &ready[threadIdx.x] : &filled[threadIdx.x - 2], blockDim.x);
  __syncthreads();
  if (threadIdx.x < 64) {
    for (int part = 0; part < parts; ++part) {
      ready[part % 2].arrive_and_wait();
      buffers[part % 2][threadIdx.x] = in[part * 64 + threadIdx.x] * 2;
      (void)filled[part % 2].arrive();
    }
  } else {
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    for (int part = 0; part < parts; ++part) {
      filled[part % 2].arrive_and_wait();
      out[part * 64 + threadIdx.x - 64] = buffers[part % 2][127 - threadIdx.x];
      (void)ready[part % 2].arrive();
    }
  }
}

__global__ void copy_with_barrier(const int4* in, int4* out, int parts) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ alignas(16) int4 stage[128];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  for (int part = 0; part < parts; ++part) {
    cuda::memcpy_async(block, stage, in + part * 128, cuda::aligned_size_t<16>(sizeof(stage)), barrier);
    barrier.arrive_and_wait();
    int4 value = stage[127 - threadIdx.x];
    value.x += part;
    out[part * 128 + threadIdx.x] = value;
    block.sync();
  }
}

template <int kStages>
__global__ void copy_with_pipeline(const int* in, int* out, int parts) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  __shared__ int stage[kStages][64];
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int part = 0, loaded = 0; part < parts; ++part) {
    for (; loaded < parts && loaded < part + kStages; ++loaded) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stage[loaded % kStages], in + loaded * 64, sizeof(int) * 64, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[part * 64 + threadIdx.x] = stage[part % kStages][63 - threadIdx.x];
    pipeline.consumer_release();
  }
}

__global__ void own_pipeline(const float* in, float* out, int count) {
  __shared__ float stage[2][64];
  auto pipeline = cuda::make_pipeline();
  const int parts = count / 64;
  pipeline.producer_acquire();
  cuda::memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, sizeof(float), pipeline);
  pipeline.producer_commit();
  for (int part = 0; part < parts; ++part) {
    if (part + 1 < parts) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&stage[(part + 1) % 2][threadIdx.x], in + (part + 1) * 64 + threadIdx.x, sizeof(float), pipeline);
      pipeline.producer_commit();
      cuda::pipeline_consumer_wait_prior<1>(pipeline);
    } else {
      cuda::pipeline_consumer_wait_prior<0>(pipeline);
    }
    out[part * 64 + threadIdx.x] = stage[part % 2][threadIdx.x] * 2;
    pipeline.consumer_release();
  }
}

struct Board {
  cuda::atomic<int, cuda::thread_scope_device> flag{0}, turn{0};
  cuda::counting_semaphore<cuda::thread_scope_device, 2> slots{2};
  cuda::binary_semaphore<cuda::thread_scope_device> lock{1};
  cuda::latch<cuda::thread_scope_device> all{4};
  cuda::barrier<cuda::thread_scope_device> meeting{4};
  int inside = 0, most = 0, counter = 0, payload = 0, seen[4] = {};
};
__global__ void across_blocks(Board* board, int* out) {
  const int b = blockIdx.x;
  if (threadIdx.x != 0) return;
  // A message: block 3 tells, the others wait.
  if (b == 3) {
    board->payload = 123;
    board->flag.store(1, cuda::memory_order_release);
    board->flag.notify_all();
  } else {
    board->flag.wait(0, cuda::memory_order_acquire);
  }
  out[b] = board->payload;
  for (int i = 0; i < 5; ++i) {
    board->lock.acquire();
    ++board->counter;
    board->lock.release();
  }
  board->slots.acquire();
  cuda::atomic_ref<int, cuda::thread_scope_device> inside(board->inside), most(board->most);
  most.fetch_max(inside.fetch_add(1) + 1);
  inside.fetch_sub(1);
  board->slots.release();
  board->all.arrive_and_wait();
  out[4 + b] = board->counter;
  // In turn, by the youngest first.
  while (board->turn.load(cuda::memory_order_acquire) != 3 - b) __nanosleep(50);
  out[8 + b] = 3 - b;
  board->turn.store(4 - b, cuda::memory_order_release);
  board->seen[b] = b + 1;
  board->meeting.arrive_and_wait();
  int sum = 0;
  for (int value : board->seen) sum += value;
  out[12 + b] = sum;
}

int main() {
  int* out = managed<int>(2048);
  use_barrier<<<3, 128>>>(out, 10);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 384; ++i) EXPECT_EQ(out[i], (i % 128 + 10) % 128 + 10);
  const int parts = 12;
  int* in = managed<int>(parts * 512);
  for (int i = 0; i < parts * 512; ++i) in[i] = i * 3;
  produce_and_consume<<<1, 128>>>(in, out, parts);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < parts * 64; ++i) EXPECT_EQ(out[i], 2 * in[i / 64 * 64 + 63 - i % 64]);
  int* copied = managed<int>(parts * 512);
  copy_with_barrier<<<1, 128>>>(reinterpret_cast<int4*>(in), reinterpret_cast<int4*>(copied), parts);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < parts * 128; ++i) EXPECT_EQ(copied[i * 4], in[(i / 128 * 128 + 127 - i % 128) * 4] + i / 128);
  copy_with_pipeline<3><<<1, 64>>>(in, out, parts);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < parts * 64; ++i) EXPECT_EQ(out[i], in[i / 64 * 64 + 63 - i % 64]);
  float *from = managed<float>(640), *to = managed<float>(640);
  for (int i = 0; i < 640; ++i) from[i] = static_cast<float>(i);
  own_pipeline<<<1, 64>>>(from, to, 640);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 640; ++i) EXPECT_EQ(to[i], 2 * i);
  void* room = nullptr;
  CHECK(cudaMallocManaged(&room, sizeof(Board)));
  auto* board = new (room) Board;
  across_blocks<<<4, 32>>>(board, out);
  CHECK(cudaDeviceSynchronize());
  for (int b = 0; b < 4; ++b) {
    EXPECT_EQ(out[b], 123);
    EXPECT_EQ(out[4 + b], 20);
    EXPECT_EQ(out[8 + b], 3 - b);
    EXPECT_EQ(out[12 + b], 10);
  }
  EXPECT(board->most >= 1 && board->most <= 2);
  return finish();
}
