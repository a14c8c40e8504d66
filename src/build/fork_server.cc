#include "build/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/clock.h"
#include "base/files.h"
#include "base/paths.h"
#include "build/fork_server/protocol.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kOutputBytes = 16ull << 20;

template <std::size_t Size>
bool put(char (&to)[Size], const std::string& text) {
  if (text.size() >= Size) return false;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return true;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// One packet with one descriptor.
bool send_request(int socket, const ForkRequest& request, int descriptor) {
  iovec part{const_cast<ForkRequest*>(&request), sizeof request};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request);
}

// A packet of exactly `size` bytes within `seconds`; errno is 0 when the time is over.
bool receive_packet(int socket, void* out, std::size_t size, double seconds) {
  pollfd wait{socket, POLLIN, 0};
  int ready;
  const auto start = Clock::now();
  do ready = ::poll(&wait, 1, static_cast<int>(1000 * std::max(0.0, seconds - seconds_since(start))) + 1);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) errno = 0;
  if (ready <= 0) return false;
  errno = EPIPE;
  return ::recv(socket, out, size, 0) == static_cast<ssize_t>(size);
}

Expected<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return fail(ErrorCode::failed, "no socket pair can be had");
  return std::pair{UniqueFd(sockets[0]), UniqueFd(sockets[1])};
}

}  // namespace

std::string find_preload_library() {
  const fs::path here = executable_folder();
  std::error_code ignored;
  for (const fs::path& folder : {here, here.parent_path() / "lib", here.parent_path() / "lib" / "kforge", here.parent_path() / "libexec" / "kforge"}) {
    if (fs::exists(folder / "libkforge_fork_server.so", ignored)) return (folder / "libkforge_fork_server.so").string();
  }
  return {};
}

Expected<std::unique_ptr<ForkServer>> ForkServer::start(std::vector<std::string> arguments, std::vector<std::string> environment, const fs::path& folder, const ForkPlace& place, CostLedger* ledger) {
  const std::string library = find_preload_library();
  if (library.empty()) return fail(ErrorCode::missing, "libkforge_fork_server.so was not found beside this program", {}, "build or install Kernel Forge again");
  auto sockets = socket_pair();
  if (!sockets) return Unexpected(sockets.error());
  UniqueFd ours = std::move(sockets->first), theirs(::fcntl(sockets->second.get(), F_DUPFD_CLOEXEC, 100));   // so that dup2 has something to do
  sockets->second.reset();

  environment.insert(environment.end(), {"LD_PRELOAD=" + library, std::string(kForkFileVariable) + "=" + place.file});
  if (place.bytes > 0) environment.push_back(std::string(kForkBytesVariable) + "=" + std::to_string(place.bytes));
  const auto argv = pointers(arguments), envp = pointers(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kForkServerFd);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);   // a terminal's interrupt is for us, whose end ends it
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments.front().c_str(), &actions, &attributes, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(ErrorCode::failed, "cannot start " + arguments.front() + ": " + std::strerror(error));
  return std::unique_ptr<ForkServer>(new ForkServer(std::move(ours), pid, ledger));
}

ForkServer::~ForkServer() {
  control_.reset();   // the server sees it, or is killed on its way to its place
  if (!ready_) ::kill(-pid_, SIGKILL);
  rusage usage{};            // with those that it waited for
  while (::wait4(pid_, nullptr, 0, &usage) < 0 && errno == EINTR) {}
  if (ledger_) ledger_->add("compile server", std::max(0.0, cpu_seconds(usage) - reported_cpu_s_), 0);
}

bool ForkServer::ready(double seconds) {
  char said = 0;
  return ready_ || (ready_ = receive_packet(control_.get(), &said, 1, seconds) && said == kForkReady);
}

Expected<ForkOutcome> ForkServer::run(const fs::path& folder, const std::string& file, const Limits& limits, double wall_seconds) {
  static std::atomic<std::uint64_t> serial{0};
  const auto start = Clock::now();
  const std::string output = "output-" + std::to_string(++serial);
  ForkRequest request;
  request.memory_bytes = limits.memory_bytes;
  request.cpu_seconds = whole_seconds(limits.seconds);
  if (!put(request.folder, folder.string()) || !put(request.file, file) || !put(request.output, output)) return fail(ErrorCode::failed, "a path is too long for a compile server: " + folder.string());
  auto sockets = socket_pair();
  if (!sockets) return Unexpected(sockets.error());
  {
    const std::lock_guard lock(mutex_);
    if (!ready(wall_seconds) || !send_request(control_.get(), request, sockets->second.get())) return fail(ErrorCode::failed, "the compile server is gone");
  }
  sockets->second.reset();
  ForkReport report;
  ForkOutcome out;
  const bool reported = receive_packet(sockets->first.get(), &report, sizeof report, wall_seconds - seconds_since(start));
  if (!reported && errno != 0) return fail(ErrorCode::failed, "the compile server was killed");
  out.end.timed_out = !reported;
  if (reported && WIFEXITED(report.wait_status)) out.end.exit_status = WEXITSTATUS(report.wait_status);
  if (reported && WIFSIGNALED(report.wait_status)) out.end.signal = WTERMSIG(report.wait_status);
  out.end.ok = reported && out.end.exit_status == 0 && out.end.signal == 0;
  out.end.cpu_s = cpu_seconds(report.usage);
  out.wall_s = seconds_since(start);
  {
    const std::lock_guard lock(mutex_);
    reported_cpu_s_ += out.end.cpu_s;
  }
  if (auto text = read_file(folder / output, kOutputBytes)) out.output = std::move(*text);
  return out;
}

}  // namespace kforge::build
