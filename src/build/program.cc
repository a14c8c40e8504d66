// One run of nvcc per source and one to link: each compilation tells what it read, and host sources need no detour.
#include "build/program.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "build/cache.h"
#include "build/compile.h"
#include "build/elf.h"
#include "build/target.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kBuildVersion = 3;   // part of the cache key: raise it when the commands below change

bool has_extension(const std::string& path, std::initializer_list<const char*> extensions) {
  const std::string extension = fs::path(path).extension().string();
  return std::any_of(extensions.begin(), extensions.end(), [&](const char* known) { return extension == known; });
}

bool is_compiled(const std::string& path) { return has_extension(path, {".cu", ".cpp", ".cc", ".cxx", ".c", ".C"}); }
bool is_linked(const std::string& path) { return has_extension(path, {".o", ".a", ".so"}); }

// The compilers run in a folder of their own: paths in flags become absolute.
std::vector<std::string> absolute_flags(const std::vector<std::string>& flags) {
  static constexpr std::array<std::string_view, 5> kFolders = {"-I", "-L", "-isystem", "--include-path=", "-include"};
  std::vector<std::string> out;
  bool path_next = false;
  for (const std::string& flag : flags) {
    if (std::exchange(path_next, false)) {
      out.push_back(fs::absolute(flag).string());
      continue;
    }
    const auto known = std::find_if(kFolders.begin(), kFolders.end(), [&](std::string_view prefix) { return flag.starts_with(prefix); });
    if (known == kFolders.end()) {
      out.push_back(flag);
    } else if (flag.size() == known->size()) {
      out.push_back(flag);
      path_next = true;
    } else {
      out.push_back(std::string(*known) + fs::absolute(flag.substr(known->size())).string());
    }
  }
  return out;
}

bool names_target(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag.starts_with("-arch") || flag.starts_with("--gpu-architecture") || flag.starts_with("-gencode") || flag.starts_with("--generate-code");
  });
}

bool names_optimisation(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) { return flag.starts_with("-O") || flag.starts_with("--optimize"); });
}

// One of the runtime's own error texts: a program that holds it holds the runtime.
constexpr std::string_view kRuntimeText = "the provided PTX was compiled with an unsupported toolchain.";

struct Plan {
  Toolchain tools;
  std::vector<std::string> sources, flags;
  std::string target;   // of all sources: target.h
};

constexpr std::string_view kHostOptimisation = "-O2";

// -g: host lines, for the places of allocations. -O2: nvcc leaves host code as slow as -O0, and many programs compute their own
// reference there. The rest is what nvcc does by itself.
std::vector<std::string> common_arguments(const ProgramRequest& request, const Plan& plan) {
  std::vector<std::string> out = {plan.tools.nvcc, "-g", "-lineinfo", "-cudart", "shared", "-compress-mode=none"};
  if (!names_optimisation(plan.flags)) out.emplace_back(kHostOptimisation);
  const bool specific = plan.target != std::to_string(request.sm);   // -arch would make a plain version beside it
  if (!names_target(plan.flags)) out.push_back(fmt::format(fmt::runtime(specific ? "-gencode=arch=compute_{0},code=[compute_{0},sm_{0}]" : "-arch=sm_{}"), plan.target));
  if (!plan.tools.host_compiler.ends_with("g++")) out.insert(out.end(), {"-ccbin", plan.tools.host_compiler});
  out.insert(out.end(), plan.flags.begin(), plan.flags.end());
  return out;
}

std::string request_key(const Plan& plan) {
  std::error_code ignored;
  Hasher hasher;
  hasher.field("program").field(std::to_string(kBuildVersion)).field(plan.target);
  hasher.field(plan.tools.nvcc).field(std::to_string(fs::last_write_time(plan.tools.nvcc, ignored).time_since_epoch().count()));
  hasher.field(plan.tools.host_compiler).field(std::to_string(fs::file_size(plan.tools.host_compiler, ignored)));
  for (const std::string& source : plan.sources) hasher.field(source);
  for (const std::string& flag : plan.flags) hasher.field(flag);
  return hasher.hex();
}

struct Build { Program program; Artefact artefact; std::vector<std::string> dependencies; };

// False when the tool failed: its words are the program's then. `said`: its words, if they are wanted.
Expected<bool> run_tool(std::vector<std::string> arguments, const fs::path& folder, const Limits& limits, Program& program, std::string* said = nullptr) {
  auto outcome = run_compiler(std::move(arguments), folder, limits);
  if (!outcome) return Unexpected(outcome.error());
  if (said != nullptr) *said = outcome->output;
  if (outcome->ok) return true;
  if (!outcome->trouble.machine.empty()) return Unexpected(machine_error(outcome->trouble.machine));
  const std::string own = outcome->trouble.limit + outcome->trouble.crash;
  program.output = outcome->output + (own.empty() ? "" : own + "\n");
  return false;
}

// A compiler warned of a function that ends without its result. Optimised host code runs on into what lies behind it then, where nvcc by
// itself, which does not optimise host code, goes on with some value: many programs have such functions that nobody takes the value of.
bool lacks_return(std::string_view said) { return said.find("#940-D") != std::string_view::npos || said.find("-Wreturn-type") != std::string_view::npos; }

// Without the language (-x cu): objects would be read as sources.
std::vector<std::string> link_arguments(const std::vector<std::string>& common) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < common.size(); ++i) {
    const bool named = common[i] == "-x" || common[i] == "--x";
    if (named) ++i;
    else if (!common[i].starts_with("-x=") && !common[i].starts_with("--x=")) out.push_back(common[i]);
  }
  return out;
}

Expected<Build> compile(const ProgramRequest& request, const Plan& plan, const fs::path& folder) {
  Build build;
  const std::vector<std::string> common = common_arguments(request, plan);
  const std::string toolkit = fs::path(plan.tools.nvcc).parent_path().parent_path().string();
  std::error_code ignored;
  const std::vector<std::string> system_folders = {toolkit, fs::canonical(toolkit, ignored).string(), "/usr/include", "/usr/lib", "/usr/local/cuda"};
  std::vector<std::string> link = link_arguments(common);
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    const std::string& source = plan.sources[i];
    build.dependencies.push_back(source);
    if (is_linked(source)) {
      link.push_back(source);
      continue;
    }
    const std::string object = fmt::format("{}.o", i), rule = fmt::format("{}.d", i);
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), {"-c", source, "-o", object, "-MD", "-MF", rule});
    if (fs::path(source).extension() == ".C") arguments.insert(arguments.end(), {"-x", "c++"});
    std::string said;
    auto done = run_tool(arguments, folder, request.limits, build.program, &said);
    if (done && *done && !names_optimisation(plan.flags) && lacks_return(said)) {
      std::replace(arguments.begin(), arguments.end(), std::string(kHostOptimisation), std::string("-O0"));
      done = run_tool(std::move(arguments), folder, request.limits, build.program);
    }
    if (!done) return Unexpected(done.error());
    if (!*done) return build;
    link.push_back(object);
    if (const auto text = read_file(folder / rule))
      for (std::string& path : user_dependencies(*text, source, folder, system_folders)) build.dependencies.push_back(std::move(path));
  }
  link.insert(link.end(), {"-o", "program"});
  const auto linked = run_tool(std::move(link), folder, request.limits, build.program);
  if (!linked) return Unexpected(linked.error());
  if (!*linked) return build;
  std::sort(build.dependencies.begin(), build.dependencies.end());
  build.dependencies.erase(std::unique(build.dependencies.begin(), build.dependencies.end()), build.dependencies.end());
  build.program.ok = build.artefact.ok = true;
  build.artefact.shared_object = (folder / "program").string();
  return build;
}

}  // namespace

bool is_program_source(const std::string& path) { return is_compiled(path) || is_linked(path); }

Expected<Program> build_program(const ProgramRequest& request) {
  const auto start = Clock::now();
  std::error_code error;
  for (const std::string& source : request.sources)
    if (!fs::is_regular_file(source, error)) return fail(ErrorCode::bad_input, "there is no source file at " + source, {source});
  auto tools = find_toolchain();
  if (!tools) return Unexpected(tools.error());
  const auto cache = Cache::open();
  if (!cache) return Unexpected(cache.error());
  Plan plan{std::move(*tools), {}, absolute_flags(request.flags), std::to_string(request.sm)};
  for (const std::string& source : request.sources) {
    plan.sources.push_back(fs::weakly_canonical(source, error).string());
    const auto text = is_compiled(source) ? read_file(source, 64ull << 20) : Expected<std::string>(std::string());
    if (text && target_of(request.sm, *text) != plan.target) plan.target = target_of(request.sm, *text);
  }
  const std::string key = request_key(plan);
  const auto finish = [&](const std::string& path, bool from_cache) {
    return Program{true, path, {}, from_cache, std::chrono::duration<double>(Clock::now() - start).count()};
  };
  if (const auto found = cache->find(key)) return finish(found->shared_object, true);
  const auto lock = cache->lock(key, request.limits.seconds + 5);
  if (const auto found = cache->find(key)) return finish(found->shared_object, true);
  const auto workspace = cache->workspace();
  if (!workspace) return Unexpected(workspace.error());
  auto build = compile(request, plan, workspace->path());
  if (!build) return Unexpected(build.error());
  if (!build->program.ok) return build->program;
  const auto published = cache->publish(key, build->dependencies, *workspace, std::move(build->artefact));
  if (!published) return Unexpected(published.error());
  return finish(published->shared_object, false);
}

Expected<BinaryFacts> inspect_binary(const std::string& path) {
  const auto bytes = read_file(path, 4ull << 30);
  if (!bytes) return Unexpected(bytes.error());
  BinaryFacts facts;
  const auto elf = ElfFile::parse(*bytes);
  if (!elf) return facts;
  facts.elf = true;
  facts.device_code = !elf->section(".nv_fatbin").empty();
  facts.libraries = elf->needed_libraries();
  facts.static_runtime = bytes->find(kRuntimeText) != std::string::npos;
  constexpr std::string_view kRuntime = "libcudart.so.";
  for (const std::string& library : facts.libraries) {
    if (library.starts_with(kRuntime)) facts.runtime = static_cast<int>(parse_unsigned(std::string_view(library).substr(kRuntime.size(), 2)).value_or(0));
    facts.driver |= library.starts_with("libcuda.so");
  }
  return facts;
}

}  // namespace kforge::build
