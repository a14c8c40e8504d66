// What a stream can be given to do, as values: each asynchronous function of the runtime makes one and submits it. A stream that
// captures puts it into its graph; any other performs it at once (timeline.h tells the promised order). Graph nodes hold them too.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "cudart/abi_graph.h"
#include "cudart/context.h"
#include "cudart/launch_api.h"

namespace kforge::cudart {

struct Side { void* pointer = nullptr; std::size_t pitch = 0, slice = 0; };   // bytes from row to row, from plane to plane

struct CopyWork {
  Side to, from;
  std::size_t width = 0, height = 1, depth = 1;   // width in bytes
  int kind = kCopyDefault;
  Copy3D given{};                                 // as the program described it, for graph nodes
};

struct FillWork {
  Side to;
  unsigned value = 0, element_bytes = 1;
  std::size_t width = 0, height = 1, depth = 1;   // width in elements
};

struct KernelWork {
  KernelRecord* kernel = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;
};

struct HostWork { void (*function)(void*) = nullptr; void* data = nullptr; };
struct RecordWork { void* event = nullptr; };
struct WaitWork { void* event = nullptr; };
struct AllocWork { AllocNodeParams params{}; };
struct FreeWork { void* pointer = nullptr; };
struct ChildWork { std::shared_ptr<Graph> graph; };
struct EmptyWork {};

using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork, AllocWork, FreeWork>;

Status submit(Context& context, Stream& stream, Work work);
Status perform(Context& context, Stream& stream, const Work& work);

// One each, in the room's files.
Status perform(Context& context, Stream& stream, const KernelWork& work);
Status perform(Context& context, Stream& stream, const CopyWork& work);
Status perform(Context& context, Stream& stream, const FillWork& work);
Status perform(Context& context, Stream& stream, const HostWork& work);
Status perform(Context& context, Stream& stream, const RecordWork& work);
Status perform(Context& context, Stream& stream, const WaitWork& work);
Status perform(Context& context, Stream& stream, const AllocWork& work);
Status perform(Context& context, Stream& stream, const FreeWork& work);
Status perform(Context& context, Stream& stream, const ChildWork& work);
inline Status perform(Context&, Stream&, const EmptyWork&) { return cudaSuccess; }

// Checked and laid out, as a launch with these arguments would be.
Status make_kernel_work(Context& context, const void* kernel, const LaunchShape& shape, void** arguments, void** extra, KernelWork& work);
// cudaErrorInvalidValue for a description that names no memory, or both an array and a pointer.
Status make_copy_work(Context& context, const Copy3D& given, CopyWork& work);

}  // namespace kforge::cudart
