// A server on the loopback that answers as a test tells it to: whole, in pieces, late, half, or with a reset. One connection at a time, which ends with the answer.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace kforge::llm {

// One step of an answer.
struct Serve {
  std::string bytes{};
  int wait_ms = 0;         // before the bytes
  bool reset = false;      // then the connection is reset in place of closed
};
using Script = std::vector<Serve>;

inline std::string http(int status, const std::string& body, const std::string& type = "application/json", const std::string& more = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\ncontent-type: " + type + "\r\nconnection: close\r\n" + more + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
// The head of a stream whose length nobody knows.
inline std::string stream_head() { return "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"; }

class FaultServer {
 public:
  // `answer`: of the n-th request, from 0 on.
  explicit FaultServer(std::function<Script(int number, const std::string& body)> answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(listener_, 16);
    thread_ = std::thread([this] { serve(); });
  }
  ~FaultServer() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const { return count_; }
  // Of the n-th request: its head and body as they came.
  std::string head(std::size_t n) { const std::lock_guard lock(mutex_); return heads_.at(n); }
  std::string body(std::size_t n) { const std::lock_guard lock(mutex_); return bodies_.at(n); }

 private:
  void serve() {
    while (!stop_) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      timeval patience{5, 0};
      ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      answer(connection);
      ::close(connection);
    }
  }
  void answer(int connection) {
    std::string text;
    char buffer[65536];
    std::size_t head_end = std::string::npos, wanted = 0;
    while (head_end == std::string::npos || text.size() < head_end + 4 + wanted) {
      const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) return;
      text.append(buffer, static_cast<std::size_t>(got));
      if (head_end != std::string::npos || (head_end = text.find("\r\n\r\n")) == std::string::npos) continue;
      const std::string head = to_lower(text.substr(0, head_end));
      const std::size_t at = head.find("content-length: ");
      wanted = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    }
    const std::string body = text.substr(head_end + 4);
    {
      const std::lock_guard lock(mutex_);
      heads_.push_back(text.substr(0, head_end));
      bodies_.push_back(body);
    }
    for (const Serve& step : answer_(count_++, body)) {
      for (int waited = 0; waited < step.wait_ms && !stop_; waited += 10) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (std::size_t sent = 0; sent < step.bytes.size();) {
        const ssize_t n = ::send(connection, step.bytes.data() + sent, step.bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return;
        sent += static_cast<std::size_t>(n);
      }
      if (!step.reset) continue;
      const linger now{1, 0};
      ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      return;
    }
  }

  std::function<Script(int, const std::string&)> answer_;
  int listener_ = -1;
  unsigned port_ = 0;
  std::atomic<int> count_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<std::string> heads_, bodies_;
  std::thread thread_;
};

}  // namespace kforge::llm
