#include "build/cache.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMaxBytes = 4ull << 30;
constexpr auto kInUse = std::chrono::hours(1);

struct File { const char* name; std::string Artefact::*path; };
constexpr File kFiles[] = {{"candidate.so", &Artefact::shared_object}, {"candidate.ptx", &Artefact::ptx_path}, {"candidate.cubin", &Artefact::cubin_path}};

struct KernelField { const char* name; int KernelReport::*field; };
constexpr KernelField kKernelFields[] = {{"registers", &KernelReport::registers}, {"shared", &KernelReport::static_shared_bytes},
    {"constant", &KernelReport::constant_bytes}, {"stack", &KernelReport::stack_bytes}, {"barriers", &KernelReport::barriers},
    {"spill_stores", &KernelReport::spill_store_bytes}, {"spill_loads", &KernelReport::spill_load_bytes}};

Json to_json(const Artefact& artefact) {
  Json json = {{"ok", artefact.ok}, {"failure", artefact.failure}, {"forbidden", artefact.forbidden_symbols}, {"imports", artefact.forbidden_imports}, {"starts_threads", artefact.starts_threads}, {"kernels", Json::array()}, {"diagnostics", Json::array()}};
  for (const KernelReport& kernel : artefact.kernels) {
    Json row = {{"kernel", kernel.kernel}};
    for (const KernelField& field : kKernelFields) row[field.name] = kernel.*field.field;
    json["kernels"].push_back(std::move(row));
  }
  for (const Diagnostic& d : artefact.diagnostics) {
    json["diagnostics"].push_back({d.file, d.line, d.column, static_cast<int>(d.severity), d.message, d.tool});
  }
  return json;
}

Artefact from_json(const Json& json) {
  Artefact artefact;
  json.at("ok").get_to(artefact.ok);
  json.at("failure").get_to(artefact.failure);
  json.at("forbidden").get_to(artefact.forbidden_symbols);
  json.at("imports").get_to(artefact.forbidden_imports);
  json.at("starts_threads").get_to(artefact.starts_threads);
  for (const Json& row : json.at("kernels")) {
    KernelReport& kernel = artefact.kernels.emplace_back();
    row.at("kernel").get_to(kernel.kernel);
    for (const KernelField& field : kKernelFields) row.at(field.name).get_to(kernel.*field.field);
  }
  for (const Json& row : json.at("diagnostics")) {
    artefact.diagnostics.push_back({row.at(0), row.at(1), row.at(2), static_cast<Severity>(row.at(3).get<int>()), row.at(4), row.at(5)});
  }
  return artefact;
}

// "HASH OF BODY\nBODY": a text that vouches for itself.
std::string sealed(const std::string& body) { return hash_hex(body) + "\n" + body; }

std::optional<Json> unsealed(const fs::path& path) {
  const auto text = read_file(path, 64ull << 20);
  if (!text) return std::nullopt;
  const std::size_t end = text->find('\n');
  if (end == std::string::npos || hash_hex(text->substr(end + 1)) != text->substr(0, end)) return std::nullopt;
  Json json = Json::parse(text->begin() + static_cast<std::ptrdiff_t>(end) + 1, text->end(), nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

std::optional<std::string> entry_key(const std::string& request_key, const std::vector<std::string>& dependencies) {
  Hasher hasher;
  hasher.field(request_key);
  for (const std::string& path : dependencies) {
    const auto hash = hash_file(path);
    if (!hash) return std::nullopt;
    hasher.field(path).field(*hash);
  }
  return hasher.hex();
}

// The artefact whose files have just gone to `entry`.
Artefact moved(Artefact artefact, const std::string& key, const fs::path& entry) {
  for (const File& file : kFiles)
    if (!(artefact.*file.path).empty()) artefact.*file.path = (entry / file.name).string();
  artefact.key = key;
  return artefact;
}

std::uint64_t tree_bytes(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const auto size = it->file_size(ignored);
    if (!ignored) sum += size;
  }
  return sum;
}

}  // namespace

Expected<Cache> Cache::open() {
  const auto root = cache_folder();
  if (!root) return Unexpected(root.error());
  const fs::path folder = *root / "build";
  if (auto made = make_directories(folder); !made) return Unexpected(made.error());
  return Cache(folder);
}

std::optional<Artefact> Cache::load(const std::string& key) const {
  const fs::path entry = folder_ / key;
  const auto json = unsealed(entry / "entry.json");
  if (!json) return std::nullopt;
  Artefact artefact;
  try {   // the library's only way to say "not that shape"
    artefact = from_json(json->at("artefact"));
    for (const File& file : kFiles) {
      const auto recorded = json->at("files").find(file.name);
      if (recorded == json->at("files").end()) continue;
      const auto actual = hash_file(entry / file.name);
      if (!actual || *actual != recorded->get<std::string>()) return std::nullopt;
      artefact.*file.path = (entry / file.name).string();
    }
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  artefact.key = key;
  std::error_code ignored;
  fs::last_write_time(entry / "entry.json", fs::file_time_type::clock::now(), ignored);
  return artefact;
}

std::optional<Artefact> Cache::find(const std::string& request_key) const {
  const auto manifest = unsealed(folder_ / (request_key + ".json"));
  if (!manifest || !manifest->is_array()) return std::nullopt;
  std::vector<std::string> dependencies;
  for (const Json& path : *manifest) {
    if (!path.is_string()) return std::nullopt;
    dependencies.push_back(path);
  }
  const auto key = entry_key(request_key, dependencies);
  if (!key) return std::nullopt;
  auto artefact = load(*key);
  if (artefact) artefact->from_cache = true;
  return artefact;
}

Expected<HeldDirectory> Cache::workspace() const { return HeldDirectory::create("work", folder_); }

Expected<Artefact> Cache::publish(const std::string& request_key, const std::vector<std::string>& dependencies, const HeldDirectory& workspace,
                                  Artefact artefact) const {
  const auto key = entry_key(request_key, dependencies);
  if (!key) return fail(ErrorCode::failed, "a file that the build read is gone, and its result cannot be kept: one of " + join(dependencies, ", "), {}, "run again");
  const fs::path made = workspace.path() / "entry", entry = folder_ / *key;
  if (auto ok = make_directories(made); !ok) return Unexpected(ok.error());
  Json files = Json::object();
  std::error_code error;
  for (const File& file : kFiles) {
    if ((artefact.*file.path).empty()) continue;
    fs::rename(artefact.*file.path, made / file.name, error);
    if (error) return fail(ErrorCode::failed, "cannot move " + artefact.*file.path + " into the cache: " + error.message());
    const auto hash = hash_file(made / file.name);
    if (!hash) return Unexpected(hash.error());
    files[file.name] = *hash;
  }
  const std::string body = Json{{"artefact", to_json(artefact)}, {"files", files}}.dump(1, ' ', false, Json::error_handler_t::replace);
  if (auto ok = write_file_atomic(made / "entry.json", sealed(body), Flush::later); !ok) return Unexpected(ok.error());
  std::optional<Artefact> published;
  for (int attempt = 0; attempt < 3 && !published; ++attempt) {
    fs::rename(made, entry, error);   // fails when the entry is there, unless it is an empty folder
    published = error ? load(*key) : moved(std::move(artefact), *key, entry);
    if (!published) fs::rename(entry, workspace.path() / ("broken" + std::to_string(attempt)), error);
  }
  if (!published) return fail(ErrorCode::failed, "cannot write the cache entry " + entry.string(), {}, "check the folder's free space and rights");
  const std::string manifest = Json(dependencies).dump(1, ' ', false, Json::error_handler_t::replace);
  if (auto ok = write_file_atomic(folder_ / (request_key + ".json"), sealed(manifest), Flush::later); !ok) return Unexpected(ok.error());
  if (key->back() == '0') {   // one in sixteen pays for the look around
    shrink(kMaxBytes);
    sweep_held_directories("work", folder_);
  }
  return *published;
}

std::optional<FileLock> Cache::lock(const std::string& request_key, double timeout_seconds) const {
  auto lock = FileLock::acquire(folder_ / ("lock-" + request_key.substr(0, 2)), timeout_seconds);
  if (!lock) return std::nullopt;
  return std::move(*lock);
}

void Cache::shrink(std::uint64_t bytes) const {
  struct Entry { fs::path path; fs::file_time_type used; std::uint64_t bytes; };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    const fs::path stamp = it->path() / "entry.json";
    const auto used = fs::exists(stamp, ignored) ? fs::last_write_time(stamp, ignored) : fs::last_write_time(it->path(), ignored);
    entries.push_back({it->path(), used, tree_bytes(it->path())});
    total += entries.back().bytes;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= bytes || fs::file_time_type::clock::now() - entry.used < kInUse) return;
    if (remove_tree(entry.path)) total -= entry.bytes;
  }
}

}  // namespace kforge::build
