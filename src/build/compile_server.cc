#include "build/compile_server.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>

#include "base/clock.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "build/cache.h"
#include "build/fork_server.h"
#include "build/host_prefix.h"
#include "build/nvcc_steps.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPipelines = 2;         // at once: each keeps some 350 MB
constexpr std::size_t kKinds = 64;            // remembered
constexpr std::size_t kWorthwhile = 2;        // builds of a kind, from which on a pipeline pays where nobody knows how many come
constexpr std::uint64_t kTextBytes = 256ull << 20;
constexpr std::string_view kPlaceholderStem = "kforge-candidate-8f14e45fceea167a";

// The start of the line in which `file` is first named, quoted; npos when it is not.
std::size_t start_of_marker(std::string_view text, const std::string& file) {
  const std::size_t named = text.find("\"" + file + "\"");
  if (named == std::string_view::npos) return named;
  const std::size_t newline = text.rfind('\n', named);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// Everything of a scratch file from `at` on becomes `tail`.
bool replace_tail(const fs::path& path, std::size_t at, std::string_view tail) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  if (!file.write(tail.data(), static_cast<std::streamsize>(tail.size())).flush().good()) return false;
  std::error_code error;
  fs::resize_file(path, at + tail.size(), error);
  return !error;
}

// One build on its way through the steps: what is left of the limits, what the tools said.
struct Passage {
  fs::path folder;
  Limits limits;
  CostLedger* ledger = nullptr;
  std::string output = {};
  Trouble trouble = {};

  bool note(std::string_view stage, const ToolEnd& end, const std::string& said, double wall_s) {
    if (ledger) ledger->add(stage, end.cpu_s, wall_s);
    output += said;
    trouble = trouble_of(end, said, limits, folder);
    return end.ok;
  }
};

}  // namespace

std::string placeholder_beside(const std::string& source) { return (fs::path(source).parent_path() / kPlaceholderStem).string() + ".cu"; }

// Every member function returns false where nvcc has to be run instead.
class CompileServer::Pipeline {
 public:
  Pipeline(BuildKind kind, CostLedger* ledger) : kind_(std::move(kind)), ledger_(ledger) {}

  std::optional<ServedBuild> build(const std::string& source, const std::vector<std::string>& caps, const fs::path& folder, const Limits& limits) {
    if (!is_plain(source) || !prepare()) return std::nullopt;
    const NvccSteps* capped = caps.empty() ? nullptr : capped_steps(caps);
    if (!caps.empty() && !capped) return std::nullopt;
    Passage passage{folder, limits, ledger_};
    ServedBuild out;
    const bool made = preprocess(passage, source, out.files_read) && compile(passage, source, capped);
    if (!made && passage.trouble.limit.empty()) return std::nullopt;
    out.outcome.ok = made;
    out.outcome.output = std::move(passage.output);
    out.outcome.trouble = std::move(passage.trouble);
    return out;
  }

 private:
  // A path that stands for itself between quotes, and a text that does not speak of the placeholder.
  static bool is_plain(const std::string& source) {
    if (source.find_first_of("\"\\\n") != std::string::npos) return false;
    const auto text = read_file(source, kTextBytes);
    return text && text->find(kPlaceholderStem) == std::string::npos;
  }

  // The folder, nvcc's steps, and the preprocessors on their way.
  bool prepare() {
    const std::lock_guard lock(mutex_);
    if (prepared_) return usable_;
    prepared_ = true;
    const auto cache = Cache::open();
    if (!cache) return false;
    auto folder = cache->workspace();
    if (!folder) return false;
    folder_.emplace(std::move(*folder));
    if (!write_scratch(folder_->path() / "candidate.cu", kind_.wrapper)) return false;
    auto steps = asked_steps({});
    if (!steps) return false;
    steps_ = std::move(*steps);
    return usable_ = start(device_text_, steps_.preprocess_device, {kind_.placeholder, 0}) && start(host_text_, steps_.preprocess_host, {kind_.placeholder, 0});
  }

  std::optional<NvccSteps> asked_steps(const std::vector<std::string>& caps) const {
    std::vector<std::string> ask = kind_.nvcc;
    ask.insert(ask.end(), caps.begin(), caps.end());
    ask.push_back("--dryrun");
    const auto said = run_compiler(ask, folder_->path(), {});
    return said && said->ok ? parse_dryrun(said->output) : std::nullopt;
  }

  // The steps with a cap on registers; null where they differ in more than cicc, ptxas and fatbinary.
  const NvccSteps* capped_steps(const std::vector<std::string>& caps) {
    const std::lock_guard lock(mutex_);
    const auto [found, fresh] = capped_.try_emplace(caps);
    if (fresh) found->second = asked_steps(caps);
    const auto& steps = found->second;
    const bool same = steps && steps->preprocess_device == steps_.preprocess_device && steps->preprocess_host == steps_.preprocess_host && steps->cudafe == steps_.cudafe &&
                      steps->compile_host == steps_.compile_host && steps->link == steps_.link;
    return same ? &*steps : nullptr;
  }

  std::vector<std::string> environment() const { return tool_environment(kind_.nvcc.front(), folder_->path().string()); }

  Command located(Command command) const {
    if (const auto program = find_program(command.front(), environment().front().substr(std::string_view("PATH=").size()))) command.front() = program->string();
    return command;
  }

  bool start(std::unique_ptr<ForkServer>& server, const Command& command, const ForkPlace& place) {
    auto started = ForkServer::start(located(command), environment(), folder_->path(), place, ledger_);
    if (!started) return false;
    server = std::move(*started);
    return true;
  }

  bool serve(Passage& passage, std::string_view stage, ForkServer& server, const std::string& file) {
    const auto outcome = server.run(passage.folder, file, passage.limits);
    return outcome && passage.note(stage, outcome->end, outcome->output, outcome->wall_s);
  }

  bool run(Passage& passage, std::string_view stage, const Command& command) {
    ProcessRequest request;
    request.arguments = located(command);
    request.environment = environment();
    request.working_directory = passage.folder;
    request.merge_output = true;
    request.limits = {.wall_seconds = kWallSeconds, .cpu_seconds = whole_seconds(passage.limits.seconds), .memory_bytes = passage.limits.memory_bytes, .output_bytes = 16ull << 20};
    const auto result = run_process(request);
    return result && passage.note(stage, {result->succeeded(), result->timed_out, result->exit_status, result->signal, result->cpu_seconds}, result->out, result->wall_seconds);
  }

  // Both texts, with the candidate's path where the placeholder stood. The first time they show where the candidate's own text begins.
  bool preprocess(Passage& passage, const std::string& source, std::vector<std::string>& files_read) {
    struct Text { ForkServer& server; const Command& command; std::string& start; std::unique_ptr<ForkServer>& next; const Command& next_command; };
    for (const Text& text : {Text{*device_text_, steps_.preprocess_device, device_start_, device_, steps_.cicc}, Text{*host_text_, steps_.preprocess_host, host_start_, host_, steps_.cudafe}}) {
      const std::string name = option_value(text.command, "-o");
      if (!serve(passage, "preprocessor", text.server, source)) return false;
      const auto mapped = MappedFile::open(passage.folder / name, kTextBytes);
      if (!mapped) return false;
      const std::string_view made = mapped->text();
      const std::size_t own = start_of_marker(made, kind_.placeholder);
      if (own == std::string::npos || !begin_next(text.start, text.next, text.next_command, name, made.substr(0, own))) return false;
      const std::string rest = replace_all(std::string(made.substr(own)), kind_.placeholder, source);
      for (std::string& file : marked_files(rest)) files_read.push_back(std::move(file));
      if (!replace_tail(passage.folder / name, own, rest)) return false;   // what comes before is what the compilers have read
    }
    return true;
  }

  // Starts the compiler that reads the text, up to where it is always the same.
  bool begin_next(std::string& kept, std::unique_ptr<ForkServer>& server, const Command& command, const std::string& name, std::string_view start_text) {
    const std::lock_guard lock(mutex_);
    if (server) return start_text == kept;
    if (!usable_ || !user_files(marked_files(start_text), folder_->path(), kind_.system_folders).empty()) return usable_ = false;   // a file of the user's may change
    kept = start_text;
    return usable_ = std::count(command.begin(), command.end(), name) == 1 && write_scratch(folder_->path() / name, kept) && start(server, command, {name, kept.size()});
  }

  // The kept cicc has read its arguments: with others it is run from the start.
  bool compile(Passage& passage, const std::string& source, const NvccSteps* capped) {
    const NvccSteps& steps = capped ? *capped : steps_;
    return serve(passage, "cudafe++", *host_, option_value(steps_.preprocess_host, "-o")) &&
           (capped ? run(passage, "cicc", steps.cicc) : serve(passage, "cicc", *device_, option_value(steps_.preprocess_device, "-o"))) &&
           run(passage, "ptxas", steps.ptxas) && run(passage, "fatbinary", steps.fatbinary) && compile_host(passage, source) && link(passage);
  }

  // To assembly, with the part of its input that is always the same precompiled.
  bool compile_host(Passage& passage, const std::string& source) {
    const std::string name = option_value(steps_.cudafe, "--gen_c_file_name");
    const auto mapped = MappedFile::open(passage.folder / name, kTextBytes);
    if (!mapped) return false;
    const std::string_view text = mapped->text();
    Command command = to_assembly(steps_.compile_host);
    if (const HostPrefix* prefix = host_prefix(text, source, passage.limits); prefix && text.starts_with(prefix->text)) {
      const std::string rest(text.substr(prefix->text.size()));   // the file is about to be written
      if (!write_scratch(passage.folder / name, rest)) return false;
      command.insert(command.begin() + 1, {"-include", prefix->header.string()});
    }
    return run(passage, "c++", command);
  }

  const HostPrefix* host_prefix(std::string_view text, const std::string& source, const Limits& limits) {
    const std::lock_guard lock(mutex_);
    if (prefix_asked_) return prefix_ ? &*prefix_ : nullptr;
    prefix_asked_ = true;
    const std::size_t own = start_of_marker(text, source);
    if (own == std::string_view::npos) return nullptr;
    prefix_ = precompile(text.substr(0, own), located(steps_.compile_host), option_value(steps_.cudafe, "--gen_c_file_name"), environment(), limits, ledger_);
    return prefix_ ? &*prefix_ : nullptr;
  }

  bool link(Passage& passage) {
    Command command = steps_.link;
    const std::string object = option_value(steps_.compile_host, "-o"), assembly = option_value(to_assembly(steps_.compile_host), "-o");
    if (std::count(command.begin(), command.end(), object) != 1) return false;
    std::replace(command.begin(), command.end(), object, assembly);
    return run(passage, "ld", command);
  }

  const BuildKind kind_;
  CostLedger* const ledger_;
  std::mutex mutex_;             // of what the first builds find out
  bool prepared_ = false, usable_ = false, prefix_asked_ = false;
  std::optional<HeldDirectory> folder_;
  NvccSteps steps_;
  std::map<std::vector<std::string>, std::optional<NvccSteps>> capped_;   // by the cap; nodes stay where they are
  std::string device_start_, host_start_;
  std::optional<HostPrefix> prefix_;
  std::unique_ptr<ForkServer> device_text_, host_text_, device_, host_;
};

CompileServer::CompileServer(CostLedger* ledger, bool many) : ledger_(ledger), worthwhile_(many ? 1 : kWorthwhile) {}
CompileServer::~CompileServer() = default;

Expected<Toolchain> CompileServer::toolchain() {
  const std::lock_guard lock(mutex_);
  if (toolchain_) return *toolchain_;
  auto found = find_toolchain();
  if (found) toolchain_ = *found;
  return found;
}

std::optional<ServedBuild> CompileServer::build(const BuildKind& kind, const std::string& source, const fs::path& folder, const Limits& limits) {
  const auto pipeline = pipeline_of(kind);
  return pipeline ? pipeline->build(source, kind.caps, folder, limits) : std::nullopt;
}

std::shared_ptr<CompileServer::Pipeline> CompileServer::pipeline_of(const BuildKind& kind) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.key == kind.key; });
  if (found == known_.end()) found = known_.insert(known_.end(), {kind.key});
  std::rotate(found, found + 1, known_.end());
  if (known_.size() > kKinds) known_.erase(known_.begin());
  Known& known = known_.back();
  if (++known.builds < worthwhile_) return nullptr;
  if (!known.pipeline) known.pipeline = std::make_shared<Pipeline>(kind, ledger_);
  std::size_t pipelines = 0;
  for (auto it = known_.rbegin(); it != known_.rend(); ++it)
    if (it->pipeline && ++pipelines > kPipelines) *it = {it->key};   // builds that use it still hold it
  return known.pipeline;
}

}  // namespace kforge::build
