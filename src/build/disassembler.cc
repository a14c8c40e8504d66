#include "build/disassembler.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/compile.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 120;   // a large kernel takes ptxas half a minute

// "sm_90a" of ".target sm_90a, debug".
std::string target_of(std::string_view ptx) {
  const std::size_t at = ptx.find(".target");
  if (at == std::string_view::npos) return {};
  const auto words = split_words(ptx.substr(at, 200));
  if (words.size() < 2) return {};
  const std::string_view name = words[1].substr(0, words[1].find(','));
  return name.starts_with("sm_") ? std::string(name) : std::string();
}

Expected<std::string> run_tool(std::vector<std::string> arguments, const fs::path& folder) {
  const std::string program = arguments[0];
  ProcessRequest request;
  request.arguments = in_tool_environment(std::move(arguments), folder.string());
  request.working_directory = folder;
  request.limits.wall_seconds = kSeconds;
  request.limits.memory_bytes = Limits{}.memory_bytes;
  auto ended = run_process(request);
  if (!ended) return Unexpected(ended.error());
  if (!ended->succeeded()) return fail(ErrorCode::bad_input, fmt::format("{}: {} ({})", fs::path(program).filename().string(), trim(ended->err).substr(0, 400), describe_end(*ended)));
  return std::move(ended->out);
}

}  // namespace

std::optional<std::string> find_disassembler() {
  if (const char* named = std::getenv("KFORGE_NVDISASM"); named && *named) {
    const auto found = find_program(named);
    return found ? std::optional(found->string()) : std::nullopt;
  }
  if (const auto tools = find_toolchain())
    if (const auto found = find_program((fs::path(tools->nvcc).parent_path() / "nvdisasm").string())) return found->string();
  if (const auto found = find_program("nvdisasm")) return found->string();
  const auto root = project_root();
  const auto found = root ? find_program((*root / ".kforge" / "disassembler" / "nvidia" / "cu13" / "bin" / "nvdisasm").string()) : std::nullopt;
  return found ? std::optional(found->string()) : std::nullopt;
}

Expected<std::string> disassemble(std::string_view ptx) {
  const std::string target = target_of(ptx);
  if (target.empty()) return fail(ErrorCode::bad_input, "the PTX names no target (.target sm_90)");
  const auto disassembler = find_disassembler();
  if (!disassembler) return fail(ErrorCode::missing, "nvdisasm was not found, which shows machine code", {}, "tools/setup.sh disassembler fetches it (4 MB), or install the CUDA toolkit; PTX is there without");
  const auto tools = find_toolchain();
  if (!tools) return Unexpected(tools.error());
  const auto folder = TemporaryDirectory::create("kforge-sass");
  if (!folder) return Unexpected(folder.error());
  if (!write_scratch(folder->path() / "kernel.ptx", ptx)) return Unexpected(machine_error("the PTX could not be written to " + folder->path().string()));
  const std::string ptxas = (fs::path(tools->nvcc).parent_path() / "ptxas").string();
  if (const auto assembled = run_tool({ptxas, "-arch=" + target, "--generate-line-info", "kernel.ptx", "-o", "kernel.cubin"}, folder->path()); !assembled) return assembled;
  return run_tool({*disassembler, "-c", "-gi", "kernel.cubin"}, folder->path());
}

}  // namespace kforge::build
