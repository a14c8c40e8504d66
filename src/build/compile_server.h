// Builds of one kind (one task, target and set of flags), faster than nvcc makes them, and byte for byte as nvcc makes them.
//
// Most of a build's time goes into the headers that every candidate includes. So nvcc is asked for its steps (--dryrun), and those of them that
// read headers (two preprocessors, cudafe++, cicc) are run once up to the candidate's own text and kept there as fork servers; the host compiler has
// the part of its input that is always the same as a precompiled header, kept in the cache. ptxas, fatbinary and the linker run as nvcc runs them.
//
// Only success is taken from here. Where a step fails, or nvcc would do anything unforeseen, the caller runs nvcc itself; so what
// people read about a failed build is what nvcc says.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/costs.h"
#include "build/builder.h"
#include "build/compile.h"

namespace kforge::build {

// What builds of one kind have in common.
struct BuildKind {
  std::vector<std::string> nvcc;   // the command over candidate.cu in the current folder, --keep included
  std::string wrapper;             // text of candidate.cu, with the path `placeholder` in place of the candidate's
  std::string placeholder;
  std::vector<std::string> system_folders;   // whose files never change
  std::string key;                 // of all this and the tools
  std::vector<std::string> caps = {};   // nvcc's -maxrregcount=N of this build, which only the steps after the texts see: builds of one kind differ in it
};
// Name of a file beside a candidate that there is not.
std::string placeholder_beside(const std::string& source);

struct ServedBuild {
  CompileOutcome outcome;               // ok, or a limit was exceeded
  std::vector<std::string> files_read;  // by the preprocessors
};

// Thread-safe.
class CompileServer {
 public:
  // What the steps and the servers take is added to `ledger`, which may be null; what the servers took for themselves, when they end.
  // A server pays from the second build of a kind on: the first is left to nvcc, unless many are to come for sure.
  explicit CompileServer(CostLedger* ledger = nullptr, bool many = false);
  ~CompileServer();
  CompileServer(const CompileServer&) = delete;
  CompileServer& operator=(const CompileServer&) = delete;

  // find_toolchain(), asked once.
  Expected<Toolchain> toolchain();

  // Makes candidate.so, candidate.ptx and what goes with them in `folder`, as nvcc would. Nothing where nvcc has to be run itself.
  std::optional<ServedBuild> build(const BuildKind& kind, const std::string& source, const std::filesystem::path& folder, const Limits& limits);

 private:
  class Pipeline;
  std::shared_ptr<Pipeline> pipeline_of(const BuildKind& kind);

  struct Known { std::string key; std::size_t builds = 0; std::shared_ptr<Pipeline> pipeline = nullptr; };   // builds: since the last pipeline ended
  CostLedger* ledger_;
  const std::size_t worthwhile_;   // from which build of a kind on
  std::mutex mutex_;
  std::optional<Toolchain> toolchain_;
  std::vector<Known> known_;   // used last stands last
};

}  // namespace kforge::build
