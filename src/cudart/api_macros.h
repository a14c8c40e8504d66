// A row of api.def (and of versions/*.def) as an exported function.
#pragma once

#include <cstdint>
#include <cstdio>

#include "cudart/array_api.h"
#include "cudart/capture.h"
#include "cudart/context.h"
#include "cudart/device_api.h"
#include "cudart/driver_entry.h"
#include "cudart/function_api.h"
#include "cudart/graph_api.h"
#include "cudart/launch_api.h"
#include "cudart/library_api.h"
#include "cudart/memory_api.h"
#include "cudart/pool_api.h"
#include "cudart/stream_api.h"

#define KFORGE_EXPORTED extern "C" __attribute__((visibility("default")))

#define KFORGE_API(name, mode, kind, parameters, expression)                              \
  KFORGE_EXPORTED int name parameters {                                                   \
    static constexpr Function kFunction{#name, Mode::mode, kind};                         \
    return run(kFunction, [&]([[maybe_unused]] Context& c) -> Status { return expression; }); \
  }
#define KFORGE_API_ON(name, mode, kind, parameters, default_stream, expression)           \
  KFORGE_EXPORTED int name parameters {                                                   \
    static constexpr Function kFunction{#name, Mode::mode, kind};                         \
    return run(kFunction, [&]([[maybe_unused]] Context& c) -> Status {                    \
      [[maybe_unused]] const auto on = [](void* stream = nullptr) {                       \
        return stream != nullptr ? stream : reinterpret_cast<void*>(std::uintptr_t{default_stream}); \
      };                                                                                  \
      return expression;                                                                  \
    });                                                                                   \
  }
#define KFORGE_API_STREAM(name, suffix, mode, kind, parameters, expression) \
  KFORGE_API_ON(name, mode, kind, parameters, 0, expression)                \
  KFORGE_API_ON(name##suffix, mode, kind, parameters, 2, expression)
