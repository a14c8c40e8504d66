#include "forge/remote.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/held_directory.h"
#include "base/process.h"
#include "base/text.h"
#include "kforge/report.h"

namespace kforge::forge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSchema = "kforge.request/1";
constexpr std::uint64_t kMostFileBytes = 4ull << 20, kMostBytes = 32ull << 20;
constexpr std::string_view kEndings[] = {".toml", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".cuh", ".cu", ".inc", ".inl"};

struct CodeName { ErrorCode code; const char* name; };
constexpr CodeName kCodes[] = {{ErrorCode::bad_input, "bad_input"}, {ErrorCode::missing, "missing"}, {ErrorCode::unsupported, "unsupported"}, {ErrorCode::limit, "limit"}, {ErrorCode::failed, "failed"}};

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

bool is_source(const fs::path& path) {
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) { return path.extension() == ending; });
}

// A name below the folder of the other side: relative, and nowhere upwards.
bool is_safe_name(const fs::path& name) {
  if (name.empty() || name.is_absolute()) return false;
  return std::none_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".." || part == "."; });
}

Expected<void> add_file(std::map<std::string, std::string>& files, std::uint64_t& total, const fs::path& path, const std::string& name) {
  auto text = read_file(path, kMostFileBytes);
  if (!text) return fail(ErrorCode::bad_input, "it cannot be sent: " + text.error().message, {path.string(), 0, 0});
  total += text->size();
  if (total > kMostBytes) return fail(ErrorCode::bad_input, fmt::format("the task's folder holds more than {} of sources", human_bytes(static_cast<double>(kMostBytes))), {path.parent_path().string(), 0, 0}, "give the task a folder of its own");
  files[name] = std::move(*text);
  return {};
}

json options_json(const CheckOptions& o) {
  return {{"gpu", o.gpu}, {"only_correctness", o.only_correctness}, {"seed", o.seed}, {"fresh_seed", o.fresh_seed}, {"call_seconds", o.call_seconds}, {"call_instructions", o.call_instructions},
          {"measure_instructions", o.measure_instructions}, {"time_seconds", o.time_seconds}, {"warm", o.warm}, {"sanitize", o.sanitize}, {"counters", o.counters}};
}

CheckOptions read_options(const json& j) {
  CheckOptions o;
  o.gpu = j.value("gpu", o.gpu);
  o.only_correctness = j.value("only_correctness", o.only_correctness);
  o.seed = j.value("seed", o.seed);
  o.fresh_seed = j.value("fresh_seed", o.fresh_seed);
  o.call_seconds = j.value("call_seconds", o.call_seconds);
  o.call_instructions = j.value("call_instructions", o.call_instructions);
  o.measure_instructions = j.value("measure_instructions", o.measure_instructions);
  o.time_seconds = j.value("time_seconds", o.time_seconds);
  o.warm = j.value("warm", o.warm);
  o.sanitize = j.value("sanitize", o.sanitize);
  o.counters = j.value("counters", o.counters);
  return o;
}

json error_json(const Error& error) {
  const char* name = "failed";
  for (const CodeName& row : kCodes)
    if (row.code == error.code) name = row.name;
  return {{"code", name}, {"message", error.message}, {"file", error.where.file}, {"line", error.where.line}, {"hint", error.hint}};
}

Error read_error(const json& j) {
  Error out;
  const std::string code = j.value("code", "failed");
  for (const CodeName& row : kCodes)
    if (code == row.name) out.code = row.code;
  out.message = j.value("message", "no reason was given");
  out.where = {j.value("file", ""), j.value("line", 0), 0};
  out.hint = j.value("hint", "");
  return out;
}

Expected<Verdict> judge(const json& request, const std::string& device, const std::function<void(std::string_view)>& progress) {
  auto folder = HeldDirectory::create("kforge-request");
  if (!folder) return Unexpected(folder.error());
  for (const auto& [name, text] : request.at("files").items()) {
    if (!is_safe_name(name) || !text.is_string()) return fail(ErrorCode::bad_input, fmt::format("'{}' is no name for a file of a request", name));
    const fs::path path = folder->path() / name;
    if (auto made = make_directories(path.parent_path()); !made) return Unexpected(made.error());
    if (auto written = write_file_atomic(path, text.get_ref<const std::string&>()); !written) return Unexpected(written.error());
  }
  CheckOptions options = read_options(request.value("options", json::object()));
  const std::string task = request.at("task"), candidate = request.at("candidate");
  if (!is_safe_name(task) || !is_safe_name(candidate)) return fail(ErrorCode::bad_input, "task and candidate must be among the files of the request");
  options.task = (folder->path() / task).string();
  options.candidate = (folder->path() / candidate).string();
  options.device = device;
  options.progress = progress;
  return check(options);
}

}  // namespace

Expected<std::string> request_line(const CheckOptions& options, const task::Task& task, const std::string& candidate, std::uint64_t id) {
  std::error_code ignored;
  const fs::path folder = fs::absolute(task.path, ignored).lexically_normal().parent_path();
  const auto within = [&](const std::string& path) { return is_safe_name(fs::absolute(path, ignored).lexically_normal().lexically_relative(folder)); };
  std::vector<std::string> needed = {task.reference};
  if (task.goal) needed.insert(needed.end(), task.goal->versus.begin(), task.goal->versus.end());
  for (const std::string& path : needed)
    if ((path.ends_with(".cu") || path == task.reference) && !path.empty() && !within(path))
      return fail(ErrorCode::bad_input, "a file of the task lies outside its folder and cannot be sent", {path, 0, 0}, "move it beside the task file");
  std::map<std::string, std::string> files;
  std::uint64_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored)) {
    if (!entry.is_regular_file(ignored) || !is_source(entry.path())) continue;
    if (auto added = add_file(files, total, entry.path(), entry.path().lexically_relative(folder).string()); !added) return Unexpected(added.error());
  }
  const std::string sent = "kforge-candidate/" + fs::path(candidate).filename().string();
  if (auto added = add_file(files, total, candidate, sent); !added) return Unexpected(added.error());
  return dump({{"schema", kSchema}, {"id", id}, {"task", fs::path(task.path).filename().string()}, {"candidate", sent}, {"files", files}, {"options", options_json(options)}});
}

Expected<Verdict> check_by_command(const std::string& command, const CheckOptions& options, const task::Task& task, const std::string& candidate) {
  auto line = request_line(options, task, candidate, 1);
  if (!line) return Unexpected(line.error());
  ProcessRequest process;
  for (const std::string_view word : split_words(command)) process.arguments.emplace_back(word);
  if (process.arguments.empty()) return fail(ErrorCode::bad_input, "--device cmd: names no command", {}, "--device 'cmd:ssh host kforge worker'");
  process.stdin_text = std::move(*line);
  if (options.progress) options.progress("at " + command);
  const auto result = run_process(process);
  if (!result) return Unexpected(result.error());
  for (const std::string_view answer : split_lines(result->out)) {
    const json one = json::parse(answer, nullptr, false);
    if (!one.is_object() || one.value("id", json()) != 1) continue;   // what a login prints
    if (const auto error = one.find("error"); error != one.end() && error->is_object()) return Unexpected(read_error(*error));
    if (const auto found = one.find("verdict"); found != one.end()) {
      auto verdict = read_verdict(found->dump(), "the answer of " + command);
      if (verdict) verdict->candidate = candidate;
      return verdict;
    }
  }
  const std::string_view said = trim(result->err);
  return fail(ErrorCode::failed, fmt::format("'{}' ended ({}) without an answer{}{}", command, describe_end(*result), said.empty() ? "" : ": ", said.substr(said.size() - std::min<std::size_t>(said.size(), 300))), {},
              "run it by hand: it must start `kforge worker` and pass its input and output on");
}

}  // namespace kforge::forge

namespace kforge {

void answer_request(std::string_view line, const std::string& device, const std::function<void(const std::string&)>& write) {
  using nlohmann::json;
  const json request = json::parse(line, nullptr, false);
  json id = nullptr;
  Expected<Verdict> verdict = fail(ErrorCode::bad_input, fmt::format("this is no request of the schema {}", forge::kSchema), {}, "kforge check --device 'cmd:...' writes them");
  try {
    if (request.is_object() && request.value("schema", "") == forge::kSchema) {
      id = request.at("id");
      verdict = forge::judge(request, device, [&](std::string_view text) { write(forge::dump({{"id", id}, {"progress", text}})); });
    }
  } catch (const json::exception& error) {
    verdict = fail(ErrorCode::bad_input, fmt::format("the request lacks something: {}", error.what()));
  }
  if (!verdict) write(forge::dump({{"id", id}, {"error", forge::error_json(verdict.error())}}));
  else write(forge::dump({{"id", id}, {"verdict", json::parse(to_json(*verdict))}}));
}

}  // namespace kforge
