// The transport over standard input and output: a message a line, nothing else on stdout.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "mcp/interrupt.h"
#include "mcp/protocol.h"

namespace kforge::mcp {
namespace {

constexpr double kStopSeconds = 1.5;   // clients wait two seconds before they send signals

// Writes whole lines, from any thread. After a failure nothing more is written: the client is gone.
class Lines {
 public:
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    for (std::size_t done = 0; done < line.size() && !broken_;) {
      const ssize_t n = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (n > 0) done += static_cast<std::size_t>(n);
      else if (n < 0 && errno != EINTR) broken_ = true;
    }
  }

 private:
  std::mutex mutex_;
  bool broken_ = false;
};

// Lines of standard input; of one that is too long only that it was.
class Reader {
 public:
  // False: the input ended, or a signal came. `each` is called once a line.
  template <class Each>
  bool read(int interrupt, Each each) {
    pollfd wanted[2] = {{STDIN_FILENO, POLLIN, 0}, {interrupt, POLLIN, 0}};
    if (::poll(wanted, 2, -1) < 0) return errno == EINTR;
    if (wanted[1].revents) return false;
    char buffer[1 << 16];
    const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n <= 0) return n < 0 && errno == EINTR;
    for (std::string_view rest(buffer, static_cast<std::size_t>(n)); !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string_view piece = rest.substr(0, end);
      too_long_ = too_long_ || line_.size() + piece.size() > kMaxMessageBytes;
      if (!too_long_) line_ += piece;
      if (end == std::string_view::npos) break;
      each(line_, too_long_);
      line_.clear();
      too_long_ = false;
      rest.remove_prefix(end + 1);
    }
    return true;
  }

 private:
  std::string line_;
  bool too_long_ = false;
};

}  // namespace

Expected<void> serve_stdio(const ServerOptions& options) {
  auto workspace = Workspace::open(options);
  if (!workspace) return Unexpected(workspace.error());
  if (options.say) options.say("reads below " + workspace->roots_text());
  const int interrupt = interrupt_descriptor();
  if (interrupt < 0) return fail(ErrorCode::failed, "no pipe is to be had");
  const auto protocol = std::make_shared<Protocol>(std::move(*workspace));
  const auto peer = std::make_shared<Peer>();
  const auto lines = std::make_shared<Lines>();
  const Send send = [lines](const Json& message, bool) {
    if (!message.is_null()) lines->write(to_text(message) + "\n");
  };
  Reader reader;
  while (reader.read(interrupt, [&](const std::string& line, bool too_long) {
    if (too_long) return send(error_message(nullptr, {kInvalidRequest, "the message is longer than 16 MiB", nullptr}), true);
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    const auto message = read_message(line);
    if (message) protocol->take(peer, *message, send);
    else send(error_message(message.error().id, message.error().error), true);
  })) {
  }
  protocol->stop(kStopSeconds);
  protocol->workspace().remove_files();
  return {};
}

}  // namespace kforge::mcp
