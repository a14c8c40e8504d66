// What the server answers, whatever carried the message: handshake or envelope, tools, resources, cancellation.
//
// A peer is one client: a process on the other end of standard input, or a session of HTTP. Its calls are named by the ids that it chose. Calls of tools run
// on threads of their own; everything else is answered at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mcp/json_rpc.h"
#include "mcp/tool.h"
#include "mcp/workspace.h"

namespace kforge::mcp {

inline constexpr const char* kModernVersion = "2026-07-28";        // every request carries its own envelope
inline constexpr const char* kLatestHandshake = "2025-11-25";
bool is_handshake_version(std::string_view version);

// Where messages for a client go: notifications of one request, then its answer. Called from any thread, one message at a time.
using Send = std::function<void(const Json& message, bool last)>;

class Peer {
 public:
  enum class Era : std::uint8_t { open, handshake, modern };   // the first request decides

  // Both once a call is under way. `cancel` of an id that is not there does nothing.
  std::shared_ptr<std::atomic<bool>> begin(const Json& id);      // null: a call of this id is running
  void end(const Json& id);
  void cancel(const Json& id);
  void cancel_all();

  std::atomic<Era> era{Era::open};
  std::string version = kLatestHandshake;    // of the handshake

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<std::atomic<bool>>> calls_;   // by the id's JSON text: "1" is not 1
};

// Made by std::make_shared: a call that outlives its server keeps it alive.
class Protocol : public std::enable_shared_from_this<Protocol> {
 public:
  explicit Protocol(Workspace workspace) : workspace_(std::move(workspace)) {}

  // Answers a request by `send`, now or later; a notification is acted upon. A call that was cancelled is ended with `send(null, true)`: no message.
  void take(const std::shared_ptr<Peer>& peer, const Message& message, const Send& send);

  // Ends all calls and waits for them, at most so long; false: some still run.
  bool stop(double seconds);

  Workspace& workspace() { return workspace_; }

 private:
  struct Method {
    std::string_view name;
    tl::expected<Json, RpcError> (Protocol::*answer)(Peer&, const Json& params);
    bool handshake, modern;            // eras that have it
    bool cacheable;                    // answers carry hints for caches (2026-07-28)
  };
  static const Method kMethods[];

  tl::expected<Json, RpcError> initialize(Peer& peer, const Json& params);
  tl::expected<Json, RpcError> discover(Peer& peer, const Json& params);
  tl::expected<Json, RpcError> ping(Peer& peer, const Json& params);
  tl::expected<Json, RpcError> list_tools(Peer& peer, const Json& params);
  tl::expected<Json, RpcError> list_resources(Peer& peer, const Json& params);
  tl::expected<Json, RpcError> list_templates(Peer& peer, const Json& params);
  tl::expected<Json, RpcError> read_resource(Peer& peer, const Json& params);

  tl::expected<bool, RpcError> settle_era(Peer& peer, const Message& message) const;   // whether the request is a modern one
  Json finished(Json result, bool modern, bool cacheable) const;
  void call_tool(const std::shared_ptr<Peer>& peer, const Message& message, bool modern, const Send& send);
  void run_tool(Peer& peer, const Tool& tool, const Message& message, bool modern, const Send& send, std::atomic<bool>& cancelled);

  Workspace workspace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t running_ = 0, working_ = 0;      // calls; those of them that are not waiting for their turn
  std::atomic<bool> stopping_{false};
};

// The text behind a handle. Errors: kInvalidParams with the reason (the caller knows which code the era has for it).
struct ResourceText { std::string mime, text; };
tl::expected<ResourceText, RpcError> resource_text(const Workspace& workspace, const std::string& uri);
Json resource_templates();

}  // namespace kforge::mcp
