#include "build/host_prefix.h"

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "build/cache.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = "prefix.h";
constexpr const char* kCompiled = "prefix.h.gch";
constexpr const char* kHash = "hash";           // of the compiled form: a damaged one is made again

void replace_value(Command& command, std::string_view option, const std::string& value) {
  const auto found = std::find(command.begin(), command.end(), option);
  if (found != command.end() && found + 1 != command.end()) *(found + 1) = value;
}

Command to_header(Command command, const std::string& input) {
  std::erase(command, "-c");
  replace_value(command, "-x", "c++-header");
  replace_value(command, "-o", kCompiled);
  std::replace(command.begin(), command.end(), input, std::string(kHeader));
  return command;
}

bool is_whole(const fs::path& folder, std::string_view text) {
  const auto header = read_file(folder / kHeader), hash = read_file(folder / kHash);
  const auto now = hash_file(folder / kCompiled);
  return header && hash && now && *header == text && *hash == *now;
}

}  // namespace

Command to_assembly(Command command) {
  std::replace(command.begin(), command.end(), std::string("-c"), std::string("-S"));
  replace_value(command, "-o", fs::path(option_value(command, "-o")).replace_extension(".s").string());
  return command;
}

std::optional<HostPrefix> precompile(std::string_view text, const Command& command, const std::string& input, const std::vector<std::string>& environment,
                                     const Limits& limits, CostLedger* ledger) {
  const auto cache = Cache::open();
  if (!cache) return std::nullopt;
  std::error_code error;
  Hasher hasher;
  hasher.field("host prefix").field(text).field(std::to_string(fs::file_size(command.front(), error)));
  for (const std::string& word : command) hasher.field(word);
  const fs::path kept = cache->folder() / ("host-" + hasher.hex());
  if (is_whole(kept, text)) {
    fs::last_write_time(kept, fs::file_time_type::clock::now(), error);
    return HostPrefix{std::string(text), kept / kHeader};
  }
  const auto workspace = cache->workspace();
  if (!workspace) return std::nullopt;
  const fs::path made = workspace->path() / "made";
  if (!make_directories(made) || !write_scratch(made / kHeader, text)) return std::nullopt;
  ProcessRequest request;
  request.arguments = to_header(command, input);
  request.environment = environment;
  request.working_directory = made;
  request.limits = {.wall_seconds = kWallSeconds, .cpu_seconds = whole_seconds(limits.seconds), .memory_bytes = limits.memory_bytes};
  const auto result = run_process(request);
  if (result && ledger) ledger->add("c++", result->cpu_seconds, result->wall_seconds);
  if (!result || !result->succeeded()) return std::nullopt;
  const auto hash = hash_file(made / kCompiled);
  if (!hash || !write_scratch(made / kHash, *hash)) return std::nullopt;
  fs::rename(kept, workspace->path() / "broken", error);   // where there is one
  fs::rename(made, kept, error);                           // or another process was first
  if (!is_whole(kept, text)) return std::nullopt;
  return HostPrefix{std::string(text), kept / kHeader};
}

}  // namespace kforge::build
