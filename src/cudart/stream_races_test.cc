// Which operations of streams and graphs may overlap on one byte, and which are ordered.
#include "cudart/stream_races.h"

#include <gtest/gtest.h>

#include "cudart/context.h"
#include "cudart/graph_run.h"
#include "cudart/memory_api.h"
#include "cudart/pool_api.h"

namespace kforge::cudart {
namespace {

using Touch = emulator::Footprint::Touch;
constexpr std::size_t kBytes = 256;

struct StreamOrder : ::testing::Test {
  Context& context = Context::get();
  Stream *a = nullptr, *b = nullptr, *blocking = nullptr, *legacy = nullptr;
  void* memory = nullptr;

  void SetUp() override {
    context.reset();
    context.settings.checks.safety = true;
    a = context.create_stream(1, 0), b = context.create_stream(1, 0), blocking = context.create_stream(0, 0), legacy = context.find_stream(nullptr);
    ASSERT_EQ(allocate(context, &memory, kBytes, emulator::MemoryKind::device), cudaSuccess);
  }
  void TearDown() override { context.reset(); }

  static StreamOperation touching(Touch touch, emulator::Address first, std::uint64_t bytes) {
    StreamOperation operation;
    operation.what = "an operation";
    operation.footprint.add(touch, first, bytes, 0);
    operation.footprint.settle();
    operation.footprint.name_place({});
    return operation;
  }
  void run(Stream& stream, Touch touch, std::uint64_t offset = 0, std::uint64_t bytes = 4) { run(stream, touching(touch, reinterpret_cast<emulator::Address>(memory) + offset, bytes)); }
  void run(Stream& stream, StreamOperation operation, bool programmatic = false) {
    auto primaries = context.stream_races.take_primaries(stream.index);
    if (!programmatic) primaries.clear();
    context.issue(stream, operation.what, 1);
    context.stream_races.add(context, std::move(operation), stream, std::move(primaries));
  }
  void order(Stream& first, Stream& second) { context.timeline.wait(second.index, context.timeline.record(first.index)); }
  std::size_t races() { return context.log.violation_count(); }
};

TEST_F(StreamOrder, AWriteAndAReadOfTwoStreamsNeedAnEvent) {
  run(*a, Touch::write);
  run(*b, Touch::read);
  EXPECT_EQ(races(), 1u);
  context.log.clear();
  order(*a, *b), order(*b, *a);
  run(*a, Touch::write);
  order(*a, *b);
  run(*b, Touch::read);
  EXPECT_EQ(races(), 0u);
}

TEST_F(StreamOrder, ReadsAndOtherBytesAndAtomicsAreFree) {
  run(*a, Touch::read), run(*b, Touch::read);
  run(*a, Touch::write, 8), run(*b, Touch::write, 12);
  run(*a, Touch::strong_write, 16), run(*b, Touch::strong_write, 16);
  EXPECT_EQ(races(), 0u);
}

TEST_F(StreamOrder, WhatTheHostHasWaitedForIsOver) {
  run(*a, Touch::write);
  context.timeline.host_waits_for(b->index);
  run(*b, Touch::read);
  EXPECT_EQ(races(), 1u);
  context.log.clear();
  context.timeline.host_waits_for(a->index), context.timeline.host_waits_for(b->index);
  run(*b, Touch::write);
  EXPECT_EQ(races(), 0u);
}

TEST_F(StreamOrder, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  run(*blocking, Touch::write);
  run(*legacy, Touch::read);
  EXPECT_EQ(races(), 0u);
  run(*a, Touch::write);
  EXPECT_EQ(races(), 2u);   // with either of them
}

TEST_F(StreamOrder, AnAllocationByTheHostMayWaitForAll) {
  run(*a, Touch::write);
  void* other = nullptr;
  EXPECT_EQ(allocate(context, &other, kBytes, emulator::MemoryKind::device), cudaSuccess);
  run(*b, Touch::read);
  EXPECT_EQ(races(), 0u);
}

TEST_F(StreamOrder, MemoryOfAStreamComesAndGoesInItsOrder) {
  void* own = nullptr;
  ASSERT_EQ(allocate_async(context, &own, kBytes, a), cudaSuccess);
  const auto use = [&](Stream& stream) { run(stream, touching(Touch::write, reinterpret_cast<emulator::Address>(own), 4)); };
  use(*a);
  EXPECT_EQ(races(), 0u);
  use(*b);
  EXPECT_EQ(races(), 2u);   // with the allocation and with the other use
  context.log.clear();
  order(*a, *b);
  use(*b);
  EXPECT_EQ(races(), 0u);
  ASSERT_EQ(release_async(context, own, a), cudaSuccess);
  EXPECT_EQ(races(), 1u);   // with the uses of the other stream, which are alike
}

TEST_F(StreamOrder, ADependentLaunchOverlapsTheOneThatLetsItStart) {
  const auto address = reinterpret_cast<emulator::Address>(memory);
  StreamOperation first = touching(Touch::write, address, 4);
  first.starts_next = true;
  run(*a, first);
  run(*a, touching(Touch::read, address, 4), true);
  EXPECT_EQ(races(), 1u);
  run(*a, first);
  run(*a, touching(Touch::read, address, 4));   // an ordinary launch
  run(*a, touching(Touch::read, address, 4), true);   // the one before it lets nothing start early
  EXPECT_EQ(races(), 1u);
}

struct GraphOrder : StreamOrder {
  Graph graph;
  GraphNode* fill_node(std::uint64_t offset, std::uint64_t bytes, std::vector<GraphNode*> after) {
    FillWork work;
    work.to = {static_cast<std::byte*>(memory) + offset, bytes, bytes};
    work.width = bytes;
    return graph.add(work, after);
  }
  void launch(Stream& stream) { EXPECT_EQ(run_nodes(context, stream, run_order(graph)), cudaSuccess); }
};

TEST_F(GraphOrder, BranchesAreNotOrdered) {
  GraphNode* const root = fill_node(0, 16, {});
  fill_node(0, 8, {root}), fill_node(8, 8, {root});
  launch(*a);
  EXPECT_EQ(races(), 0u);
  fill_node(4, 8, {root});   // meets either of them
  context.timeline.host_waits_for_all();
  launch(*a);
  EXPECT_EQ(races(), 2u);
}

TEST_F(GraphOrder, AJoinAndTheWorkAfterTheGraphComeAfterAllBranches) {
  GraphNode* const root = fill_node(0, 16, {});
  std::vector<GraphNode*> branches;
  for (std::uint64_t k = 0; k < 4; ++k) branches.push_back(fill_node(4 * k, 4, {root}));
  GraphNode* const empty = graph.add(EmptyWork{}, branches);
  fill_node(0, 16, {empty});
  for (int i = 0; i < 3; ++i) launch(*a);
  run(*a, Touch::write, 0, 16);
  EXPECT_EQ(races(), 0u);
  EXPECT_EQ(a->branches.size(), 3u);   // used again by every launch
  run(*b, Touch::write, 0, 16);
  EXPECT_GT(races(), 0u);
}

TEST_F(GraphOrder, AChainNeedsNoBranch) {
  fill_node(0, 16, {fill_node(0, 16, {fill_node(0, 16, {})})});
  launch(*a);
  EXPECT_EQ(races(), 0u);
  EXPECT_TRUE(a->branches.empty());
}

}  // namespace
}  // namespace kforge::cudart
