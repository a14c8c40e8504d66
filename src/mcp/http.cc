// The transport over HTTP ("Streamable HTTP"): each message is a POST to /mcp; its answer is JSON, or a stream of events when notifications precede it.
//
// One thread runs libevent's loop and is the only one to touch its objects; calls hand their messages over through an outbox. In the era without handshake
// a client cancels by closing the connection of its request.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "base/unique_fd.h"
#include "mcp/http_rules.h"
#include "mcp/interrupt.h"
#include "mcp/protocol.h"

namespace kforge::mcp {
namespace {

constexpr double kStopSeconds = 1.5;
constexpr std::size_t kMaxSessions = 64;
constexpr int kIdleSeconds = 120;                 // of a connection without a request
constexpr int kLookEvery = 100;                   // ms, for clients that went away
constexpr int kPingEvery = 15'000;                // ms, a comment in a silent stream

struct Exchange {
  evhttp_request* request = nullptr;              // null once it is answered
  std::shared_ptr<Peer> peer;
  Json id;
  bool modern = false, streaming = false;
  int silent_ms = 0;
};

// Messages of calls on their way to the loop's thread.
class Outbox {
 public:
  struct Item { std::shared_ptr<Exchange> exchange; Json message; bool last; };
  explicit Outbox(int wake) : wake_(wake) {}
  void put(Item item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_.get(), &one, sizeof one));
  }
  std::vector<Item> take() {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_.get(), &count, sizeof count));
    return std::exchange(items_, {});
  }
  int descriptor() const { return wake_.get(); }

 private:
  std::mutex mutex_;
  std::vector<Item> items_;
  UniqueFd wake_;
};

std::string random_name() {
  unsigned char bytes[16] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return {};
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

Headers headers_of(evhttp_request* request) {
  return [request](const char* name) {
    const char* value = evhttp_find_header(evhttp_request_get_input_headers(request), name);
    return std::string(value ? value : "");
  };
}

void set_header(evhttp_request* request, const char* name, const std::string& value) { evhttp_add_header(evhttp_request_get_output_headers(request), name, value.c_str()); }

void reply(evhttp_request* request, int status, const std::string& type, const std::string& body) {
  evbuffer* out = evhttp_request_get_output_buffer(request);
  if (!body.empty()) set_header(request, "Content-Type", type);
  evbuffer_add(out, body.data(), body.size());
  evhttp_send_reply(request, status, nullptr, nullptr);
}

void reply_json(evhttp_request* request, int status, const Json& message) { reply(request, status, "application/json", to_text(message)); }

void send_event(evhttp_request* request, const std::string& text) {
  evbuffer* chunk = evbuffer_new();
  evbuffer_add(chunk, text.data(), text.size());
  evhttp_send_reply_chunk(request, chunk);
  evbuffer_free(chunk);
}

class HttpServer {
 public:
  HttpServer(std::shared_ptr<Protocol> protocol, std::string token, int wake) : protocol_(std::move(protocol)), token_(std::move(token)), outbox_(std::make_shared<Outbox>(wake)), base_(event_base_new()), http_(evhttp_new(base_)) {
    evhttp_set_max_body_size(http_, static_cast<ev_ssize_t>(kMaxMessageBytes));
    evhttp_set_max_headers_size(http_, 64 << 10);
    evhttp_set_timeout(http_, kIdleSeconds);
    evhttp_set_allowed_methods(http_, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT);
    evhttp_set_gencb(http_, [](evhttp_request* request, void* self) { static_cast<HttpServer*>(self)->take(request); }, this);
  }
  ~HttpServer() {
    for (event* watcher : watchers_) event_free(watcher);
    evhttp_free(http_);
    event_base_free(base_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port that it listens on; 0: taken.
  std::uint16_t listen(std::uint16_t port) {
    evhttp_bound_socket* bound = evhttp_bind_socket_with_handle(http_, "127.0.0.1", port);
    if (!bound) return 0;
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

  void run(int interrupt) {
    watch(interrupt, [](evutil_socket_t, short, void* self) { event_base_loopbreak(static_cast<HttpServer*>(self)->base_); });
    watch(outbox_->descriptor(), [](evutil_socket_t, short, void* self) { static_cast<HttpServer*>(self)->deliver(); });
    watchers_.push_back(event_new(base_, -1, EV_PERSIST, [](evutil_socket_t, short, void* self) { static_cast<HttpServer*>(self)->look_after_clients(); }, this));
    const timeval every{0, kLookEvery * 1000};
    event_add(watchers_.back(), &every);
    event_base_dispatch(base_);
  }

 private:
  void watch(int descriptor, event_callback_fn on_ready) {
    watchers_.push_back(event_new(base_, descriptor, EV_READ | EV_PERSIST, on_ready, this));
    event_add(watchers_.back(), nullptr);
  }

  void take(evhttp_request* request) {
    const Headers headers = headers_of(request);
    const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    if (const HttpFault fault = access_fault(headers, token_); fault.status) {
      if (fault.status == 401) set_header(request, "WWW-Authenticate", "Bearer");
      return reply(request, fault.status, "text/plain", fault.reason + "\n");
    }
    if (!path || std::string_view(path) != "/mcp") return reply(request, 404, "text/plain", "the endpoint is /mcp\n");
    if (evhttp_request_get_command(request) == EVHTTP_REQ_DELETE) return end_session(request, headers("Mcp-Session-Id"));
    if (evhttp_request_get_command(request) != EVHTTP_REQ_POST) {
      set_header(request, "Allow", "POST, DELETE");
      return reply(request, 405, "text/plain", "messages are sent by POST; there is no stream to listen to\n");
    }
    if (const HttpFault fault = type_fault(headers); fault.status) return reply(request, fault.status, "text/plain", fault.reason + "\n");
    evbuffer* body = evhttp_request_get_input_buffer(request);
    const std::size_t size = evbuffer_get_length(body);
    const auto message = read_message({reinterpret_cast<const char*>(evbuffer_pullup(body, -1)), size});
    if (!message) return reply_json(request, 400, error_message(message.error().id, message.error().error));
    take_message(request, headers, *message);
  }

  void end_session(evhttp_request* request, const std::string& name) {
    const auto at = sessions_.find(name);
    if (at == sessions_.end()) return reply(request, 404, "text/plain", "there is no such session\n");
    at->second->cancel_all();
    order_.remove(name);
    sessions_.erase(at);
    reply(request, 204, "", "");
  }

  void take_message(evhttp_request* request, const Headers& headers, const Message& message) {
    const auto refuse = [&](int status, int code, const std::string& text) { reply_json(request, status, error_message(message.id, {code, text, nullptr})); };
    const std::string version = headers("MCP-Protocol-Version");
    const Json meta = message.params.value("_meta", Json::object());
    const bool enveloped = meta.is_object() && meta.contains("io.modelcontextprotocol/protocolVersion");
    const bool modern = version == kModernVersion || enveloped;
    std::shared_ptr<Peer> peer;
    if (modern) {
      if (message.is_request())
        if (const std::string fault = routing_fault(headers, message); !fault.empty() && enveloped) return refuse(400, kHeaderMismatch, fault);
      peer = std::make_shared<Peer>();   // a request is whole by itself
      peer->era = Peer::Era::modern;
    } else {
      if (!version.empty() && !is_handshake_version(version)) return refuse(400, kUnsupportedVersion, "this server does not speak MCP " + version.substr(0, 40));
      const std::string name = headers("Mcp-Session-Id");
      if (message.method == "initialize" && name.empty()) peer = begin_session(request);
      else if (const auto at = sessions_.find(name); at != sessions_.end()) peer = at->second;
      else if (!name.empty()) return refuse(404, kInvalidRequest, "there is no such session: initialize again");
      else if (message.is_request() && message.method == "server/discover") return refuse(400, kInvalidParams, "server/discover carries the envelope of 2026-07-28");
      else return refuse(400, kInvalidRequest, "initialize first: the header Mcp-Session-Id is missing");
    }
    if (!message.is_request()) {
      if (!modern) protocol_->take(peer, message, [](const Json&, bool) {});
      return reply(request, 202, "", "");
    }
    auto exchange = std::make_shared<Exchange>();
    exchange->request = request;
    exchange->peer = peer;
    exchange->id = message.id;
    exchange->modern = modern;
    exchanges_.push_back(exchange);
    protocol_->take(peer, message, [outbox = outbox_, exchange](const Json& text, bool last) { outbox->put({exchange, text, last}); });
    deliver();   // most are answered already
  }

  std::shared_ptr<Peer> begin_session(evhttp_request* request) {
    const std::string name = random_name();
    if (order_.size() == kMaxSessions) {   // the oldest one: clients are told to initialize again
      sessions_[order_.front()]->cancel_all();
      sessions_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(name);
    set_header(request, "Mcp-Session-Id", name);
    return sessions_[name] = std::make_shared<Peer>();
  }

  void begin_stream(Exchange& exchange) {
    if (std::exchange(exchange.streaming, true)) return;
    set_header(exchange.request, "Content-Type", "text/event-stream");
    set_header(exchange.request, "Cache-Control", "no-cache, no-transform");
    evhttp_send_reply_start(exchange.request, 200, nullptr);
  }

  void deliver() {
    for (const Outbox::Item& item : outbox_->take()) {
      Exchange& exchange = *item.exchange;
      if (!exchange.request) continue;
      exchange.silent_ms = 0;
      if (item.last && !exchange.streaming && !item.message.is_null()) {
        reply_json(std::exchange(exchange.request, nullptr), exchange.modern ? http_status(item.message) : 200, item.message);
        continue;
      }
      begin_stream(exchange);
      if (!item.message.is_null()) send_event(exchange.request, "event: message\r\ndata: " + to_text(item.message) + "\r\n\r\n");
      if (item.last) evhttp_send_reply_end(std::exchange(exchange.request, nullptr));
    }
    exchanges_.remove_if([](const auto& exchange) { return !exchange->request; });
  }

  bool is_gone(const Exchange& exchange) const {
    evhttp_connection* connection = evhttp_request_get_connection(exchange.request);
    if (!connection) return true;   // libevent gave it up
    pollfd state{bufferevent_getfd(evhttp_connection_get_bufferevent(connection)), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  void look_after_clients() {
    for (const auto& exchange : exchanges_) {
      if (exchange->modern && is_gone(*exchange)) exchange->peer->cancel(exchange->id);
      exchange->silent_ms += kLookEvery;
      if (exchange->silent_ms < kPingEvery) continue;
      exchange->silent_ms = 0;
      begin_stream(*exchange);
      send_event(exchange->request, ": still at work\r\n\r\n");
    }
  }

  std::shared_ptr<Protocol> protocol_;
  std::string token_;
  std::shared_ptr<Outbox> outbox_;   // calls may outlive the server
  event_base* base_;
  evhttp* http_;
  std::vector<event*> watchers_;
  std::list<std::shared_ptr<Exchange>> exchanges_;
  std::map<std::string, std::shared_ptr<Peer>> sessions_;
  std::list<std::string> order_;     // of the sessions' beginnings
};

}  // namespace

Expected<void> serve_http(const ServerOptions& options) {
  auto workspace = Workspace::open(options);
  if (!workspace) return Unexpected(workspace.error());
  const int interrupt = interrupt_descriptor(), wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (interrupt < 0 || wake < 0) return fail(ErrorCode::failed, "no pipe is to be had");
  const std::string roots = workspace->roots_text();
  const auto protocol = std::make_shared<Protocol>(std::move(*workspace));
  {
    HttpServer server(protocol, options.token, wake);
    const std::uint16_t port = server.listen(options.port);
    if (port == 0) return fail(ErrorCode::failed, fmt::format("port {} of 127.0.0.1 cannot be listened on", options.port), {}, "--port 0 takes a free one");
    if (options.say) options.say(fmt::format("http://127.0.0.1:{}/mcp, reads below {}{}", port, roots, options.token.empty() ? "" : ", asks for a token"));
    server.run(interrupt);
    protocol->stop(kStopSeconds);
  }
  protocol->workspace().remove_files();
  return {};
}

}  // namespace kforge::mcp
