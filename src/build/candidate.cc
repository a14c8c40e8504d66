// One run of nvcc over the wrapper, or a compile server's equal of it: shared object with PTX and cubin inside, line information, dependencies
// and resource report all come out of it. PTX and cubin are read back from the object, so that what is judged is what is run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/hash.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/cache.h"
#include "build/compile.h"
#include "build/compile_server.h"
#include "build/elf.h"
#include "build/fatbin.h"
#include "build/forbidden.h"
#include "build/target.h"
#include "build/wrapper.h"
#include "evidence/plain_path.h"

#include <chrono>

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<std::string> nvcc_arguments(const CandidateRequest& request, const Toolchain& tools, const std::string& include_folder) {
  std::vector<std::string> out = {tools.nvcc, "-O3", "-std=c++17", "-lineinfo", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none", "-compress-mode=none",
      "-Xptxas", "-v", "-gencode", fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", request.target)};
  if (!tools.host_compiler.ends_with("g++")) out.insert(out.end(), {"-ccbin", tools.host_compiler});
  out.insert(out.end(), request.flags.begin(), request.flags.end());
  out.insert(out.end(), {"-I", include_folder, "-MD", "-MF", "candidate.d", "--keep", "--keep-dir", ".", "candidate.cu", "-o", "candidate.so"});
  return out;
}

std::string request_key(const CandidateRequest& request, const Toolchain& tools, const std::string& source, const std::string& wrapper) {
  std::error_code ignored;
  Hasher hasher;
  hasher.field("candidate").field(std::to_string(kWrapperVersion)).field(source).field(wrapper).field(request.target);
  hasher.field(tools.nvcc).field(tools.version).field(tools.host_compiler).field(std::to_string(fs::file_size(tools.host_compiler, ignored)));
  for (const std::string& flag : request.flags) hasher.field(flag);
  hasher.field(fmt::format("{} {}", request.limits.seconds, request.limits.memory_bytes));   // a limit that was met may not be met by a larger one
  return hasher.hex();
}

// Where the PTX's line `ptx_line` came from, by the last .loc before it: nvcc's PTX names source files by number.
void map_to_source(Diagnostic& diagnostic, const std::vector<std::string_view>& ptx) {
  const std::size_t last = std::min<std::size_t>(ptx.size(), static_cast<std::size_t>(std::max(diagnostic.line, 0)));
  for (std::size_t i = last; i-- > 0;) {
    const auto words = split_words(ptx[i]);
    if (words.size() < 4 || words[0] != ".loc") continue;
    const auto line = parse_unsigned(words[2]);
    for (const std::string_view file_line : ptx) {
      const auto file = split_words(file_line);
      if (file.size() < 3 || file[0] != ".file" || file[1] != words[1]) continue;
      const std::size_t open = file_line.find('"'), close = file_line.rfind('"');
      if (close <= open || !line) return;
      diagnostic.file = file_line.substr(open + 1, close - open - 1);
      diagnostic.line = static_cast<int>(std::min<std::uint64_t>(*line, INT32_MAX));
      return;
    }
    return;
  }
}

// ptxas speaks of lines of its input, or of an entry function by name; people want their own line.
void map_ptxas_diagnostics(std::vector<Diagnostic>& diagnostics, const fs::path& ptx_path) {
  const auto text = read_file(ptx_path);
  if (!text) return;
  const auto lines = split_lines(*text);
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.tool != "ptxas") continue;
    if (diagnostic.line == 0) {
      const std::size_t open = diagnostic.message.find('\''), close = diagnostic.message.find('\'', open + 1);
      if (close == std::string::npos) continue;
      const std::string name = diagnostic.message.substr(open + 1, close - open - 1);
      for (std::size_t i = 0; i < lines.size() && diagnostic.line == 0; ++i) {
        const bool entry = lines[i].find(".entry " + name + "(") != std::string_view::npos, body = entry || lines[i].find(name + ",") != std::string_view::npos;
        if (!body) continue;
        for (std::size_t j = i; j < lines.size(); ++j) {   // an entry begins with its first .loc; a call stands after one
          if (!entry || trim(lines[j]).starts_with(".loc")) {
            diagnostic.line = static_cast<int>(j) + 1;
            break;
          }
        }
      }
      if (diagnostic.line == 0) continue;
    }
    map_to_source(diagnostic, lines);
  }
}

Diagnostic error_at(const std::string& source, int line, std::string message, std::string tool) {
  return {source, line, 0, Severity::error, std::move(message), std::move(tool)};
}

// Fills paths, PTX and cubin of an object that nvcc made; the candidate's own faults become failures of the artefact.
Expected<void> inspect(const CandidateRequest& request, const std::string& source, std::string_view text, const fs::path& folder, Artefact& artefact) {
  const fs::path object = folder / "candidate.so";
  const auto bytes = read_file(object, 1ull << 30);
  if (!bytes) return Unexpected(machine_error("the object that nvcc made cannot be read: " + bytes.error().message));
  const auto elf = ElfFile::parse(*bytes);
  if (!elf) return Unexpected(machine_error("the object that nvcc made is not whole: " + elf.error().message));
  artefact.shared_object = object.string();
  const std::string& launcher = request.interface.function;
  bool defined = false;
  for (const ElfSymbol& symbol : elf->dynamic_symbols()) defined |= symbol.defined && symbol.name == launcher;
  if (!defined) {
    artefact.ok = false;
    artefact.failure = "interface";
    artefact.diagnostics.push_back(error_at(source, find_function_line(text, launcher),
        fmt::format("'{}' is not exported under its C name; expected {}", launcher, expected_launcher(request.interface)), "ld"));
    return {};
  }
  artefact.forbidden_symbols = forbidden_symbols(*elf, launcher);
  artefact.forbidden_imports = forbidden_imports(*elf);
  artefact.starts_threads = starts_threads(*elf);
  const std::string_view section = elf->section(".nv_fatbin");
  const Fatbin fatbin = read_fatbin(std::as_bytes(std::span(section.data(), section.size())));
  if (!fatbin.error.empty()) return fail(ErrorCode::failed, "the object that nvcc made cannot be read: " + fatbin.error, {object.string()});
  struct Part { FatbinEntry::Kind kind; const char* name; std::string Artefact::*path; };
  for (const Part& part : {Part{FatbinEntry::Kind::ptx, "out.ptx", &Artefact::ptx_path}, Part{FatbinEntry::Kind::cubin, "out.cubin", &Artefact::cubin_path}}) {
    for (const FatbinEntry& entry : fatbin.entries) {
      if (entry.kind != part.kind || !(artefact.*part.path).empty()) continue;
      const fs::path path = folder / part.name;
      if (!write_scratch(path, entry.data)) return fail(ErrorCode::failed, "cannot write " + path.string(), {}, "check the folder's free space and rights, and ulimit -f");
      artefact.*part.path = path.string();
    }
  }
  return {};
}

// Whether a tool says it of the source. Of nvcc's own words ("nvcc fatal : ...") none does: they are about its arguments and its files.
bool speaks_of_source(const Diagnostic& diagnostic) {
  const bool of_driver = diagnostic.file.empty() && (diagnostic.tool == "nvcc" || diagnostic.tool == "c++");
  return diagnostic.severity == Severity::error && !of_driver;
}

// Whether nvcc takes the task's flags at all: a kernel with nothing in it is compiled with them.
Expected<void> try_flags(const CandidateRequest& request, const Toolchain& tools, const std::string& include, const fs::path& folder) {
  if (request.flags.empty()) return {};
  if (!write_scratch(folder / "flags.cu", "__global__ void kforge_flags(int* x) { *x = 1; }\n")) return Unexpected(machine_error("nothing can be written into " + folder.string()));
  std::vector<std::string> arguments = nvcc_arguments(request, tools, include);
  for (std::string& argument : arguments)
    if (argument == "candidate.cu" || argument == "candidate.so" || argument == "candidate.d") argument.replace(0, std::string_view("candidate").size(), "flags");
  const auto outcome = run_compiler(std::move(arguments), folder, request.limits);
  if (!outcome) return Unexpected(outcome.error());
  if (outcome->ok) return {};
  if (!outcome->trouble.machine.empty()) return Unexpected(machine_error(outcome->trouble.machine));
  std::string why(trim(outcome->output));
  for (const Diagnostic& diagnostic : parse_diagnostics(outcome->output)) {
    if (diagnostic.severity != Severity::error) continue;
    why = diagnostic.message;
    break;
  }
  return fail(ErrorCode::bad_input, fmt::format("the compilers refuse the flags \"{}\": {}", join(request.flags, "\", \""), why.substr(0, 500)), {}, "mend [build] flags");
}

// The candidate's own faults become failures of the artefact; the rest is an error.
Expected<void> explain_failure(const CandidateRequest& request, const Toolchain& tools, const std::string& source, std::string_view text, const CompileOutcome& outcome,
                               const fs::path& folder, Artefact& artefact) {
  map_ptxas_diagnostics(artefact.diagnostics, folder / "candidate.ptx");
  artefact.failure = attribute_to_source(artefact.diagnostics, source, text, request.interface);
  if (!outcome.trouble.machine.empty()) return Unexpected(machine_error(outcome.trouble.machine));
  if (const std::string& own = outcome.trouble.limit.empty() ? outcome.trouble.crash : outcome.trouble.limit; !own.empty()) {
    artefact.failure = outcome.trouble.limit.empty() ? "crash" : "limit";
    artefact.diagnostics.insert(artefact.diagnostics.begin(), error_at(source, 0, own, "nvcc"));
    return {};
  }
  const bool placed = std::any_of(artefact.diagnostics.begin(), artefact.diagnostics.end(), [](const Diagnostic& d) { return d.severity == Severity::error && d.line > 0; });
  if (!placed)   // what has no place may be about the flags
    if (auto taken = try_flags(request, tools, evidence::is_plain_path(source) ? fs::path(source).parent_path().string() : ".", folder); !taken) return taken;
  if (std::any_of(artefact.diagnostics.begin(), artefact.diagnostics.end(), speaks_of_source)) return {};
  return Unexpected(machine_error("nvcc failed and said: " + std::string(trim(outcome.output)).substr(0, 2000)));
}

std::vector<std::string> system_folders(const Toolchain& tools) {
  std::error_code ignored;
  return {fs::path(tools.nvcc).parent_path().parent_path().string(), fs::canonical(tools.nvcc, ignored).parent_path().parent_path().string(), "/usr/include", "/usr/lib", "/usr/local/cuda"};
}

bool is_register_cap(const std::string& flag) {
  constexpr std::string_view kCap = "-maxrregcount=";
  return flag.starts_with(kCap) && flag.size() > kCap.size() && std::all_of(flag.begin() + kCap.size(), flag.end(), [](char c) { return c >= '0' && c <= '9'; });
}

BuildKind kind_of(const CandidateRequest& request, const Toolchain& tools, const std::string& source) {
  BuildKind kind;
  CandidateRequest alike = request;
  std::erase_if(alike.flags, is_register_cap);
  std::copy_if(request.flags.begin(), request.flags.end(), std::back_inserter(kind.caps), is_register_cap);
  kind.placeholder = placeholder_beside(source);
  kind.nvcc = nvcc_arguments(alike, tools, fs::path(source).parent_path().string());
  kind.wrapper = candidate_wrapper(kind.placeholder, request.interface);
  kind.system_folders = system_folders(tools);
  kind.key = request_key(alike, tools, kind.placeholder, kind.wrapper);
  return kind;
}

// What was said, and which files were read: nothing where that is not known.
struct Compilation { CompileOutcome outcome; std::optional<std::vector<std::string>> dependencies; };

Expected<Compilation> run_compilation(const CandidateRequest& request, const Toolchain& tools, const std::string& source, const fs::path& folder) {
  if (request.server && evidence::is_plain_path(source)) {
    auto served = request.server->build(kind_of(request, tools, source), source, folder, request.limits);
    if (served) return Compilation{std::move(served->outcome), user_files(served->files_read, folder, system_folders(tools))};
  }
  const auto include = include_folder(source, folder);
  if (!include) return Unexpected(include.error());
  auto outcome = run_compiler(nvcc_arguments(request, tools, *include), folder, request.limits);
  if (!outcome) return Unexpected(outcome.error());
  if (request.costs) request.costs->add("nvcc", outcome->cpu_s, outcome->wall_s);
  Compilation out{std::move(*outcome), {}};
  if (const auto rule = read_file(folder / "candidate.d")) out.dependencies = user_dependencies(*rule, source, folder, system_folders(tools));
  return out;
}

struct Build { Artefact artefact; std::vector<std::string> dependencies; bool cacheable = true; };

Expected<Build> compile(const CandidateRequest& request, const Toolchain& tools, const std::string& source, std::string_view text, const std::string& wrapper, const fs::path& folder) {
  if (!write_scratch(folder / "candidate.cu", wrapper)) return fail(ErrorCode::failed, "cannot write into the build folder " + folder.string(), {}, "check the folder's free space and rights, and ulimit -f");
  auto compilation = run_compilation(request, tools, source, folder);
  if (!compilation) return Unexpected(compilation.error());
  const CompileOutcome& outcome = compilation->outcome;
  Build build;
  Artefact& artefact = build.artefact;
  artefact.ok = outcome.ok;
  artefact.diagnostics = parse_diagnostics(outcome.output);
  for (Diagnostic& diagnostic : artefact.diagnostics)
    if (diagnostic.file.starts_with(folder.string())) diagnostic.file = fs::path(diagnostic.file).lexically_relative(folder).string();   // the entry outlives the folder
  artefact.kernels = parse_ptxas_report(outcome.output);
  if (auto done = artefact.ok ? inspect(request, source, text, folder, artefact) : explain_failure(request, tools, source, text, outcome, folder, artefact); !done) return Unexpected(done.error());
  std::erase_if(artefact.diagnostics, [](const Diagnostic& d) { return d.file == kWrapperFile; });

  std::error_code ignored;
  build.dependencies = compilation->dependencies.value_or(std::vector<std::string>{});
  // Without the list of what was read (a missing header), and without diagnostics of the source, the next build must look again.
  build.cacheable = !build.dependencies.empty() && artefact.failure != "limit" && artefact.failure != "crash";
  for (const std::string& path : build.dependencies) build.cacheable &= fs::exists(path, ignored);
  return build;
}

}  // namespace

Expected<Artefact> build_candidate(const CandidateRequest& asked) {
  CandidateRequest request = asked;
  const auto start = Clock::now();
  std::error_code error;
  if (!fs::is_regular_file(request.source, error)) return fail(ErrorCode::bad_input, "there is no candidate at " + request.source, {request.source});
  const std::string source = fs::weakly_canonical(request.source, error).string();
  const auto tools = request.server ? request.server->toolchain() : find_toolchain();
  if (!tools) return Unexpected(tools.error());
  const auto cache = Cache::open();
  if (!cache) return Unexpected(cache.error());
  const auto text = read_file(source, 64ull << 20);
  if (!text) return Unexpected(text.error());
  request.target = target_of(request.sm, *text);
  const std::string wrapper = candidate_wrapper(source, request.interface, *text), key = request_key(request, *tools, source, wrapper);
  const auto finish = [&](Artefact artefact) {
    for (Diagnostic& diagnostic : artefact.diagnostics) diagnostic.file = user_path(diagnostic.file, source);
    artefact.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return artefact;
  };
  if (auto found = cache->find(key)) return finish(std::move(*found));
  const auto lock = cache->lock(key, request.limits.seconds + 5);
  if (auto found = cache->find(key)) return finish(std::move(*found));
  auto workspace = cache->workspace();
  if (!workspace) return Unexpected(workspace.error());
  auto build = compile(request, *tools, source, *text, wrapper, workspace->path());
  if (!build) return Unexpected(build.error());
  if (!build->cacheable && !build->artefact.ok) return finish(std::move(build->artefact));
  auto published = cache->publish(key, build->dependencies, *workspace, std::move(build->artefact));
  if (!published) return Unexpected(published.error());
  return finish(std::move(*published));
}

}  // namespace kforge::build
