#include "mcp/workspace.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"

namespace kforge::mcp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKept = 500, kMaxSourceBytes = 4u << 20;
constexpr std::uint64_t kMaxKeptBytes = 64ull << 20;

Expected<std::string> folder(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed || !fs::is_directory(real, failed)) return fail(ErrorCode::bad_input, "there is no such folder", {path, 0, 0});
  return real.string();
}

}  // namespace

Expected<Workspace> Workspace::open(const ServerOptions& options) {
  std::vector<std::string> roots;
  for (const std::string& root : options.roots.empty() ? std::vector<std::string>{"."} : options.roots) {
    auto real = folder(root);
    if (!real) return Unexpected(real.error());
    roots.push_back(std::move(*real));
  }
  for (const std::string& context : options.context)
    if (const auto real = folder(context); !real) return Unexpected(real.error());
  auto sources = TemporaryDirectory::create("kforge-mcp");
  if (!sources) return Unexpected(sources.error());
  return Workspace(options, std::move(roots), std::move(*sources));
}

std::string Workspace::roots_text() const { return join(roots_, ", "); }

Expected<std::string> Workspace::file(const std::string& path) const {
  std::error_code failed;
  const fs::path real = fs::canonical(fs::path(roots_.front()) / path, failed);   // an absolute path stays what it is
  const bool inside = !failed && std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) { return real.string().starts_with(root == "/" ? root : root + "/"); });
  // One answer for what is not there and what may not be read: nothing is told of files outside.
  if (!inside) return fail(ErrorCode::bad_input, "there is no such file below the folders that this server reads", {path, 0, 0}, "it reads below: " + roots_text());
  if (!fs::is_regular_file(real, failed)) return fail(ErrorCode::bad_input, "this is no regular file", {path, 0, 0});
  return real.string();
}

Expected<std::string> Workspace::write_source(std::string_view text) {
  if (text.size() > kMaxSourceBytes) return fail(ErrorCode::bad_input, "the source is longer than 4 MiB");
  const fs::path home = sources_.path() / hash_hex(text).substr(0, 16);
  if (auto made = make_directories(home); !made) return Unexpected(made.error());
  const fs::path path = home / "candidate.cu";
  if (auto written = write_file_atomic(path, text); !written) return Unexpected(written.error());
  return path.string();
}

Link Workspace::keep(const std::string& kind, const std::string& mime, const std::string& what, std::string text) {
  const Link link{kind, fmt::format("kforge://{}/{}", kind, hash_hex(text).substr(0, 16)), mime, what};
  const std::lock_guard lock(shelf_->mutex);
  auto& items = shelf_->items;
  const auto known = std::find_if(items.begin(), items.end(), [&](const Kept& item) { return item.link.uri == link.uri; });
  if (known != items.end()) {
    items.splice(items.begin(), items, known);
    return link;
  }
  shelf_->bytes += text.size();
  items.push_front({link, std::move(text)});
  while (items.size() > 1 && (items.size() > kMaxKept || shelf_->bytes > kMaxKeptBytes)) {
    shelf_->bytes -= items.back().text.size();
    items.pop_back();
  }
  return link;
}

std::string Workspace::kept_text(const std::string& kind, const std::string& id) const {
  const std::string uri = fmt::format("kforge://{}/{}", kind, id);
  const std::lock_guard lock(shelf_->mutex);
  for (const Kept& item : shelf_->items)
    if (item.link.uri == uri) return item.text;
  return {};
}

std::vector<Link> Workspace::kept() const {
  const std::lock_guard lock(shelf_->mutex);
  std::vector<Link> out;
  for (const Kept& item : shelf_->items) out.push_back(item.link);
  return out;
}

void Workspace::remove_files() { static_cast<void>(remove_tree(sources_.path())); }

}  // namespace kforge::mcp
