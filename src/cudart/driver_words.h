// What `[interface] allow` calls the use of a driver function: the word that api.def gives the runtime's function for the same. By the driver a launcher
// could otherwise do all that it may not do by the runtime.
#pragma once

#include <string_view>

namespace kforge::cudart {

// "" for always allowed.
constexpr const char* allow_word(std::string_view name) {
  struct Row { std::string_view start; const char* word; };
  // The first that fits counts.
  constexpr Row kRows[] = {{"cuModule", "libraries"}, {"cuLibrary", "libraries"}, {"cuLink", "libraries"},
                           {"cuMemHostGet", ""}, {"cuMemHost", "host_alloc"}, {"cuMemAllocHost", "host_alloc"}, {"cuMemFreeHost", "host_alloc"},
                           {"cuMemAlloc", "workspace"}, {"cuMemFree", "workspace"}, {"cuMemPoolGet", ""}, {"cuMemPool", "workspace"}, {"cuDeviceSetMemPool", "workspace"},
                           {"cuMemAddress", "workspace"}, {"cuMemCreate", "workspace"}, {"cuMemMap", "workspace"}, {"cuMemUnmap", "workspace"}, {"cuMemRelease", "workspace"},
                           {"cuMemSetAccess", "workspace"}, {"cuArrayCreate", "workspace"}, {"cuArray3DCreate", "workspace"}, {"cuArrayDestroy", "workspace"},
                           {"cuStreamCreate", "streams"}, {"cuStreamDestroy", "streams"}, {"cuEventCreate", "streams"}, {"cuEventDestroy", "streams"},
                           {"cuStreamSynchronize", "sync"}, {"cuStreamQuery", "sync"}, {"cuEventSynchronize", "sync"}, {"cuEventQuery", "sync"}, {"cuCtxSynchronize", "sync"},
                           {"cuCtxDestroy", "sync"}, {"cuDevicePrimaryCtxReset", "sync"},
                           {"cuGraph", "graph"}, {"cuStreamBeginCapture", "graph"}, {"cuStreamEndCapture", "graph"}, {"cuStreamIsCapturing", "graph"}};
  if (name.starts_with("cuMemcpy")) return name.find("Async") == std::string_view::npos ? "sync" : "";
  for (const Row& row : kRows)
    if (name.starts_with(row.start)) return row.word;
  return "";
}

}  // namespace kforge::cudart
