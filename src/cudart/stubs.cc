// Everything that libcudart exports and api.def does not implement: a weak function that says its name once on stderr and
// answers cudaErrorNotSupported. A row in api.def replaces it, since a strong definition wins over a weak one.
#include <cstdio>
#include <set>
#include <string_view>

#include "cudart/context.h"
#include "cudart/unsupported.h"

namespace kforge::cudart {
namespace {

// `[interface] allow`'s word for functions that are not there.
const char* kind_of(std::string_view name) {
  struct Row { std::string_view prefix; const char* kind; };
  static constexpr Row kRows[] = {{"cudaGraphics", "libraries"}, {"cudaGraph", "graph"}, {"cudaStreamBeginCapture", "graph"},
                                  {"cudaStreamEndCapture", "graph"}, {"cudaMalloc", "workspace"}, {"cudaMemPool", "workspace"},
                                  {"cudaHost", "host_alloc"}, {"cudaLibrary", "libraries"}, {"cudaIpc", "libraries"},
                                  {"cudaImportExternal", "libraries"}, {"cudaExternal", "libraries"}};
  for (const Row& row : kRows)
    if (name.substr(0, row.prefix.size()) == row.prefix) return row.kind;
  return "";
}

}  // namespace

int unsupported(const char* name) {
  const Function function{name, Mode::plain, kind_of(name)};
  return run(function, [&](Context&) {
    static std::set<std::string_view> said;
    if (said.insert(name).second) std::fprintf(stderr, "kforge: %s is not supported by the emulated runtime yet\n", name);
    return cudaErrorNotSupported;
  });
}

}  // namespace kforge::cudart

#define KFORGE_EXPORT(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return kforge::cudart::unsupported(#name); }
#include "cudart/exports.def"
#undef KFORGE_EXPORT
