// The task's reference: the same trampoline, built by the host compiler. It is the user's own code: what is wrong with it
// is wrong with the task.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/hash.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/cache.h"
#include "build/compile.h"
#include "build/wrapper.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

Error reference_error(const std::string& source, const CompileOutcome& outcome, const Interface& interface) {
  if (!outcome.trouble.machine.empty()) return machine_error(outcome.trouble.machine);
  const auto text = read_file(source);
  auto diagnostics = parse_diagnostics(outcome.output);
  attribute_to_source(diagnostics, source, text ? *text : std::string(), interface);
  for (Diagnostic& diagnostic : diagnostics) {
    diagnostic.file = user_path(diagnostic.file, source);
    if (diagnostic.severity != Severity::error) continue;
    std::string message = replace_all(diagnostic.message, expected_launcher(interface), expected_reference(interface));
    return {ErrorCode::bad_input, "the reference does not build: " + message, {diagnostic.file, diagnostic.line, diagnostic.column},
            "the reference takes host pointers, then sizes, then scalars, and no stream"};
  }
  const Trouble& trouble = outcome.trouble;
  const std::string why = !trouble.limit.empty() ? trouble.limit : !trouble.crash.empty() ? trouble.crash : outcome.output.substr(0, 500);
  return {ErrorCode::bad_input, "the reference does not build: " + why, {source}, {}};
}

}  // namespace

Expected<Artefact> build_reference(const ReferenceRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  std::error_code error;
  if (!fs::is_regular_file(request.source, error)) return fail(ErrorCode::bad_input, "there is no reference at " + request.source, {request.source});
  const std::string source = fs::weakly_canonical(request.source, error).string();
  const auto compiler = find_host_compiler();
  if (!compiler) return Unexpected(compiler.error());
  const auto cache = Cache::open();
  if (!cache) return Unexpected(cache.error());
  const auto text = read_file(source, 64ull << 20);
  if (!text) return Unexpected(text.error());
  const std::string wrapper = reference_wrapper(source, request.interface, *text);
  Hasher hasher;
  hasher.field("reference").field(std::to_string(kWrapperVersion)).field(source).field(wrapper).field(*compiler);
  hasher.field(std::to_string(fs::file_size(*compiler, error)));
  const std::string key = hasher.hex();
  auto artefact = cache->find(key);
  if (!artefact) {
    const auto lock = cache->lock(key, request.limits.seconds + 5);
    artefact = cache->find(key);
    if (!artefact) {
      const auto workspace = cache->workspace();
      if (!workspace) return Unexpected(workspace.error());
      const fs::path& folder = workspace->path();
      if (auto written = write_file_atomic(folder / "reference.cc", wrapper); !written) return Unexpected(written.error());
      const auto include = include_folder(source, folder);
      if (!include) return Unexpected(include.error());
      const auto outcome = run_compiler({*compiler, "-O2", "-std=c++17", "-shared", "-fPIC", "-I", *include, "-MD", "-MF",
                                         "reference.d", "reference.cc", "-o", "reference.so"}, folder, request.limits);
      if (!outcome) return Unexpected(outcome.error());
      if (request.costs) request.costs->add("reference compiler", outcome->cpu_s, outcome->wall_s);
      if (!outcome->ok) return Unexpected(reference_error(source, *outcome, request.interface));
      const auto rule = read_file(folder / "reference.d");
      if (!rule) return Unexpected(rule.error());
      Artefact made;
      made.ok = true;
      made.shared_object = (folder / "reference.so").string();
      made.diagnostics = parse_diagnostics(outcome->output);
      auto published = cache->publish(key, user_dependencies(*rule, source, folder, {"/usr/include", "/usr/lib"}), *workspace, std::move(made));
      if (!published) return Unexpected(published.error());
      artefact = std::move(*published);
    }
  }
  artefact->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *artefact;
}

}  // namespace kforge::build
