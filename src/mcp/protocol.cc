#include "mcp/protocol.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "kforge/version.h"

namespace kforge::mcp {
namespace {

constexpr std::array<std::string_view, 4> kHandshakeVersions{"2024-11-05", "2025-03-26", "2025-06-18", kLatestHandshake};
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::uint64_t kMostCalls = 64;           // under way, waiting ones included
constexpr std::int64_t kCacheMs = 60'000;

constexpr const char* kInstructions =
    "Kernel Forge judges CUDA kernels without a GPU. Start with plan_task, write a kernel with the task's interface, call check_candidate after every change and mend what its findings name; profile_candidate shows "
    "where the time goes, sweep_parameters tries tile sizes, explain_finding teaches the rule behind a finding. Answers are short; what they leave out is behind kforge:// handles, to be read as resources.";

Json server_info() { return {{"name", "kernel-forge"}, {"title", "Kernel Forge"}, {"version", kVersion}}; }
Json capabilities() { return {{"tools", Json::object()}, {"resources", Json::object()}}; }

const Json* envelope(const Json& params) {
  const auto meta = params.find("_meta");
  return meta != params.end() && meta->is_object() && meta->contains(kVersionKey) ? &*meta : nullptr;
}

tl::unexpected<RpcError> refuse(int code, std::string message, Json data = nullptr) { return tl::unexpected(RpcError{code, std::move(message), std::move(data)}); }

Json supported() {
  Json out = Json::array({kModernVersion});
  for (const std::string_view version : kHandshakeVersions) out.push_back(version);
  return out;
}

bool links_are_known(const Peer& peer, bool modern) { return modern || peer.version >= "2025-06-18"; }

Json answer_json(const Answer& answer, bool with_links) {
  Json content = Json::array({{{"type", "text"}, {"text", answer.text}}});
  Json out;
  if (with_links)
    for (const Link& link : answer.links) content.push_back({{"type", "resource_link"}, {"uri", link.uri}, {"name", link.kind}, {"description", link.what}, {"mimeType", link.mime}});
  out["content"] = std::move(content);
  if (with_links) out["structuredContent"] = answer.data;
  return out;
}

// A bug in a tool ends its call, not the server.
Expected<Answer> run_safely(const Tool& tool, const ToolCall& call) {
  try {
    return tool.run(call);
  } catch (const std::exception& bug) {
    return fail(ErrorCode::failed, std::string("this is a bug in Kernel Forge: ") + bug.what());
  }
}

Json fault_json(const std::string& text) { return {{"content", Json::array({{{"type", "text"}, {"text", text}}})}, {"isError", true}}; }

}  // namespace

bool is_handshake_version(std::string_view version) { return std::find(kHandshakeVersions.begin(), kHandshakeVersions.end(), version) != kHandshakeVersions.end(); }

// --- calls of a peer ---

std::shared_ptr<std::atomic<bool>> Peer::begin(const Json& id) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = calls_.try_emplace(to_text(id), std::make_shared<std::atomic<bool>>(false));
  return fresh ? at->second : nullptr;
}

void Peer::end(const Json& id) {
  const std::lock_guard lock(mutex_);
  calls_.erase(to_text(id));
}

void Peer::cancel(const Json& id) {
  const std::lock_guard lock(mutex_);
  if (const auto at = calls_.find(to_text(id)); at != calls_.end()) *at->second = true;
}

void Peer::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, cancelled] : calls_) *cancelled = true;
}

// --- methods ---

const Protocol::Method Protocol::kMethods[] = {
    {"initialize", &Protocol::initialize, true, false, false},
    {"ping", &Protocol::ping, true, false, false},
    {"server/discover", &Protocol::discover, false, true, true},
    {"tools/list", &Protocol::list_tools, true, true, true},
    {"resources/list", &Protocol::list_resources, true, true, true},
    {"resources/templates/list", &Protocol::list_templates, true, true, true},
    {"resources/read", &Protocol::read_resource, true, true, true},
};

tl::expected<Json, RpcError> Protocol::initialize(Peer& peer, const Json& params) {
  const Json wanted = params.value("protocolVersion", Json());
  if (!wanted.is_string()) return refuse(kInvalidParams, "initialize names its \"protocolVersion\"");
  peer.version = is_handshake_version(wanted.get<std::string>()) ? wanted.get<std::string>() : kLatestHandshake;
  return Json{{"protocolVersion", peer.version}, {"capabilities", capabilities()}, {"serverInfo", server_info()}, {"instructions", kInstructions}};
}

tl::expected<Json, RpcError> Protocol::discover(Peer&, const Json&) { return Json{{"supportedVersions", supported()}, {"capabilities", capabilities()}, {"instructions", kInstructions}}; }

tl::expected<Json, RpcError> Protocol::ping(Peer&, const Json&) { return Json::object(); }

tl::expected<Json, RpcError> Protocol::list_tools(Peer&, const Json&) {
  Json list = Json::array();
  for (const Tool& tool : tools())
    list.push_back({{"name", tool.name}, {"title", tool.title}, {"description", tool.what}, {"inputSchema", schema_of(tool)},
                    {"annotations", {{"readOnlyHint", !tool.writes}, {"destructiveHint", false}, {"idempotentHint", true}, {"openWorldHint", false}}}});
  return Json{{"tools", std::move(list)}};
}

tl::expected<Json, RpcError> Protocol::list_resources(Peer&, const Json&) {
  Json list = Json::array();
  for (const Link& link : workspace_.kept()) list.push_back({{"uri", link.uri}, {"name", link.kind}, {"description", link.what}, {"mimeType", link.mime}});
  return Json{{"resources", std::move(list)}};
}

tl::expected<Json, RpcError> Protocol::list_templates(Peer&, const Json&) { return Json{{"resourceTemplates", resource_templates()}}; }

tl::expected<Json, RpcError> Protocol::read_resource(Peer& peer, const Json& params) {
  const Json uri = params.value("uri", Json());
  if (!uri.is_string()) return refuse(kInvalidParams, "resources/read names its \"uri\"");
  auto text = resource_text(workspace_, uri.get<std::string>());
  if (!text) return refuse(peer.era == Peer::Era::modern ? kInvalidParams : kResourceNotFound, text.error().message, {{"uri", uri}});
  return Json{{"contents", Json::array({{{"uri", uri}, {"mimeType", text->mime}, {"text", std::move(text->text)}}})}};
}

// --- the way of a message ---

tl::expected<bool, RpcError> Protocol::settle_era(Peer& peer, const Message& message) const {
  const Json* meta = message.method == "initialize" ? nullptr : envelope(message.params);
  const auto era = meta ? Peer::Era::modern : Peer::Era::handshake;
  auto open = Peer::Era::open;
  // A method that only the modern era has says what its request lacks.
  const bool wants_envelope = !meta && (message.method == "server/discover" || message.method == "subscriptions/listen");
  if (wants_envelope && peer.era != Peer::Era::handshake) return refuse(kInvalidParams, fmt::format("params._meta must carry \"{}\" and \"{}\"", kVersionKey, kCapabilitiesKey));
  if (meta) {
    const Json& version = (*meta)[kVersionKey];
    if (!version.is_string() || !meta->contains(kCapabilitiesKey)) return refuse(kInvalidParams, fmt::format("params._meta must carry \"{}\" and \"{}\"", kVersionKey, kCapabilitiesKey));
    if (version != kModernVersion) return refuse(kUnsupportedVersion, "Unsupported protocol version", {{"supported", supported()}, {"requested", version}});
  }
  if (peer.era.compare_exchange_strong(open, era) || open == era) return era == Peer::Era::modern;
  if (open == Peer::Era::modern && message.method == "initialize")
    return refuse(kUnsupportedVersion, "this connection speaks 2026-07-28, which has no handshake", {{"supported", supported()}, {"requested", message.params.value("protocolVersion", Json(""))}});
  if (open == Peer::Era::modern) return refuse(kInvalidParams, fmt::format("params._meta must carry \"{}\" and \"{}\"", kVersionKey, kCapabilitiesKey));
  return refuse(kInvalidRequest, "this connection began with a handshake: requests carry no envelope of 2026-07-28");
}

Json Protocol::finished(Json result, bool modern, bool cacheable) const {
  if (!modern) return result;
  result["resultType"] = "complete";
  result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
  if (cacheable) {
    result["ttlMs"] = result.contains("tools") || result.contains("supportedVersions") ? kCacheMs : 0;
    result["cacheScope"] = "private";
  }
  return result;
}

void Protocol::take(const std::shared_ptr<Peer>& peer, const Message& message, const Send& send) {
  if (!message.is_request()) {
    if (message.method == "notifications/cancelled" && message.params.contains("requestId")) peer->cancel(message.params["requestId"]);
    return;
  }
  const auto modern = settle_era(*peer, message);
  if (!modern) return send(error_message(message.id, modern.error()), true);
  if (message.method == "tools/call") return call_tool(peer, message, *modern, send);
  for (const Method& method : kMethods) {
    if (method.name != message.method || !(*modern ? method.modern : method.handshake)) continue;
    auto result = (this->*method.answer)(*peer, message.params);
    return send(result ? result_message(message.id, finished(std::move(*result), *modern, method.cacheable)) : error_message(message.id, result.error()), true);
  }
  send(error_message(message.id, {kMethodNotFound, "there is no method " + message.method.substr(0, 100), nullptr}), true);
}

void Protocol::call_tool(const std::shared_ptr<Peer>& peer, const Message& message, bool modern, const Send& send) {
  const auto refused = [&](int code, std::string text) { send(error_message(message.id, {code, std::move(text), nullptr}), true); };
  const Json name = message.params.value("name", Json());
  const Tool* tool = name.is_string() ? find_tool(name.get<std::string>()) : nullptr;
  if (!tool) return refused(kInvalidParams, "there is no tool " + to_text(name).substr(0, 100) + "; tools/list names them");
  if (message.params.contains("arguments") && !message.params["arguments"].is_object()) return refused(kInvalidParams, "a tool's \"arguments\" are an object");
  {
    const std::lock_guard lock(mutex_);
    if (running_ >= kMostCalls || stopping_) return refused(kInternalError, fmt::format("{} calls are under way: wait for their answers", running_));
    ++running_;
  }
  const auto cancelled = peer->begin(message.id);
  if (!cancelled) {
    const std::lock_guard lock(mutex_);
    --running_;
    return refused(kInvalidRequest, "a call with this id is running");
  }
  std::thread([self = shared_from_this(), this, peer, tool, message, modern, send, cancelled] {
    run_tool(*peer, *tool, message, modern, send, *cancelled);
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }).detach();
}

void Protocol::run_tool(Peer& peer, const Tool& tool, const Message& message, bool modern, const Send& send, std::atomic<bool>& cancelled) {
  const Json arguments = message.params.value("arguments", Json::object());
  const Json token = message.params.value("_meta", Json::object()).value("progressToken", Json());
  Json result;
  if (const std::string fault = argument_fault(tool, arguments); !fault.empty()) result = fault_json(fault);   // the model can mend it
  else {
    ToolCall call;
    call.workspace = &workspace_;
    call.arguments = &arguments;
    call.cancelled = [&] { return cancelled.load() || stopping_.load(); };
    double steps = 0;
    std::mutex one_at_a_time;
    call.progress = [&](std::string_view text) {
      if (token.is_null() || call.cancelled()) return;
      const std::lock_guard lock(one_at_a_time);
      send(notification("notifications/progress", {{"progressToken", token}, {"progress", ++steps}, {"message", text}}), false);
    };
    {
      std::unique_lock lock(mutex_);
      const auto my_turn = [&] { return working_ < workspace_.options().calls || call.cancelled(); };
      while (!my_turn()) changed_.wait_for(lock, std::chrono::milliseconds(100));   // a cancellation wakes nobody
      ++working_;
    }
    const auto answer = call.cancelled() ? Expected<Answer>(fail(ErrorCode::limit, "cancelled")) : run_safely(tool, call);
    {
      const std::lock_guard lock(mutex_);
      --working_;
      changed_.notify_all();
    }
    result = answer ? answer_json(*answer, links_are_known(peer, modern)) : fault_json(to_string(answer.error()));
  }
  peer.end(message.id);
  if (cancelled || stopping_) return send(nullptr, true);
  send(result_message(message.id, finished(std::move(result), modern, false)), true);
}

bool Protocol::stop(double seconds) {
  stopping_ = true;
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return running_ == 0; });
}

}  // namespace kforge::mcp
