#include "trial/outside_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "gpu/statistics.h"
#include "trial/sample_blocks.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostLine = 1 << 20;
constexpr double kStartSeconds = 60, kBlockLimit = 20;
constexpr std::size_t kWarmUpBlocks = 40;

}  // namespace

Expected<std::unique_ptr<OutsideLoop>> OutsideLoop::start(const std::string& command, const task::Sizes& sizes) {
  std::vector<std::string> words;
  for (const std::string_view word : split(command, ' '))
    if (!word.empty()) words.emplace_back(word);
  if (words.empty()) return fail(ErrorCode::bad_input, "no program stands beside the candidates", {}, "--beside 'PROGRAM ARGUMENTS'");
  std::unique_ptr<OutsideLoop> out(new OutsideLoop);
  out->command_ = command;
  for (const auto& [name, value] : sizes) out->sizes_ += fmt::format(" {}={}", name, value);
  int in[2], back[2];   // a socket takes no signal when the other side is gone
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) return fail(ErrorCode::failed, "no socket can be made");
  out->to_.reset(in[0]);
  const UniqueFd input(in[1]);
  if (::pipe2(back, O_CLOEXEC) != 0) return fail(ErrorCode::failed, "no pipe can be made");
  out->from_.reset(back[0]);
  const UniqueFd output(back[1]);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  const int error = ::posix_spawnp(&out->pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return out;
  out->pid_ = -1;
  return fail(ErrorCode::missing, fmt::format("'{}' cannot be started", words.front()), {}, "--beside wants a program: a path, or a name on PATH");
}

OutsideLoop::~OutsideLoop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

Unexpected OutsideLoop::wrong(const std::string& what) const {
  return fail(ErrorCode::failed, fmt::format("'{}' {}", command_, what), {}, "it answers each line 'CALLS name=value...' with so many times in microseconds (docs/timing.md)");
}

Expected<std::vector<double>> OutsideLoop::block(std::size_t calls, double seconds) {
  const std::string line = fmt::format("{}{}\n", calls, sizes_);
  if (::send(to_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) return wrong("has ended");
  const auto start = Clock::now();
  std::size_t end = 0;
  while ((end = pending_.find('\n')) == std::string::npos) {
    pollfd ready{from_.get(), POLLIN, 0};
    const double left = seconds - seconds_since(start);
    if (left <= 0) return wrong(fmt::format("has not answered within {:.0f} s", seconds));
    if (::poll(&ready, 1, static_cast<int>(1000 * left) + 1) <= 0) continue;
    char piece[4096];
    const ssize_t got = ::read(from_.get(), piece, sizeof piece);
    if (got <= 0) return wrong("has ended");
    pending_.append(piece, static_cast<std::size_t>(got));
    if (pending_.size() > kMostLine) return wrong("writes without end");
  }
  std::vector<double> out;
  const std::string answer = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  for (const std::string_view word : split(answer, ' ')) {
    if (word.empty()) continue;
    const auto us = parse_double(word);
    if (!us || !(*us >= 0)) return wrong(fmt::format("says '{}' where a time in microseconds is wanted", std::string(word.substr(0, 40))));
    out.push_back(*us);
  }
  if (out.size() != calls) return wrong(fmt::format("gives {} times for {} calls", out.size(), calls));
  return out;
}

void OutsideLoop::warm_up() {
  const auto first = block(kFewestInBlock, kStartSeconds);
  if (!first) {
    failure_ = to_string(first.error());
    return;
  }
  block_size_ = calls_in_block(gpu::median(*first));
  for (std::size_t i = 0; i < kWarmUpBlocks && !failed(); ++i) sample_block();
  us_.clear();
}

void OutsideLoop::sample_block() {
  const auto times = block(block_size_, kBlockLimit);
  if (times) us_.insert(us_.end(), times->begin(), times->end());
  else failure_ = to_string(times.error());
}

bool OutsideLoop::known(double interval) const { return median_is_known(us_, interval); }

Timing OutsideLoop::finish() const {
  Timing out;
  out.name = command_;
  out.samples = us_.size();
  out.us = gpu::median(us_);
  out.p99_us = gpu::quantile(us_, 0.99);
  out.spread = gpu::spread(us_);
  out.interval = gpu::median_interval(us_);
  out.samples_us = us_;
  out.failure = failure_;
  out.unverified = "another program's own figure: nothing of it is compared";
  return out;
}

}  // namespace kforge::trial
