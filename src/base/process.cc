#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <system_error>

#include "base/paths.h"
#include "base/process_supervisor.h"
#include "base/unique_fd.h"

namespace kforge {
namespace {

using Clock = std::chrono::steady_clock;
using internal::LaunchStep;
using internal::SupervisorReport;

// How long the supervisor may take to kill everything before we stop waiting for it.
constexpr double kKillGraceSeconds = 10;

struct Pipe {
  UniqueFd read, write;
};

std::string reason(int error_number) { return std::generic_category().message(error_number); }

Unexpected no_process(const char* what) {
  return fail(ErrorCode::failed, std::string("cannot start a process: ") + what + ": " + reason(errno));
}

Expected<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return no_process("pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// A text as an open file: the program may read it at its own pace, or not at all, and nobody waits.
Expected<UniqueFd> text_as_file(const std::string& text) {
  UniqueFd fd(text.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : ::memfd_create("stdin", MFD_CLOEXEC));
  if (!fd) return no_process("stdin");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return no_process("stdin");
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  if (!text.empty()) ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::optional<std::string> variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

Expected<std::filesystem::path> locate(const ProcessRequest& request) {
  const std::string& name = request.arguments[0];
  const bool is_path = name.find('/') != std::string::npos;
  if (is_path && !request.working_directory.empty()) return name;  // execve looks it up from there
  const auto search_path = request.environment ? variable(*request.environment, "PATH") : std::nullopt;
  const auto found = search_path ? find_program(name, *search_path) : find_program(name);
  if (found) return std::filesystem::absolute(*found);
  return fail(ErrorCode::missing, "the program '" + name + "' was not found or cannot be executed", {},
              "install it or add its folder to PATH");
}

// One of the program's outputs: reads what is there; closes at the end.
class Capture {
 public:
  Capture(UniqueFd fd, std::uint64_t limit) : fd_(std::move(fd)), limit_(limit) {
    if (fd_) ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
  }
  int fd() const { return fd_.get(); }
  bool open() const { return static_cast<bool>(fd_); }
  bool truncated() const { return truncated_; }
  std::string take() { return std::move(text_); }

  void drain() {
    char buffer[1 << 16];
    while (fd_) {
      const ssize_t n = ::read(fd_.get(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return fd_.reset();
      const auto keep =
          static_cast<std::size_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(n), limit_ - text_.size()));
      text_.append(buffer, keep);
      truncated_ |= keep < static_cast<std::size_t>(n);
    }
  }

 private:
  UniqueFd fd_;
  std::uint64_t limit_;
  std::string text_;
  bool truncated_ = false;
};

// The supervisor as a program of its own, which costs a quarter of what a copy of this process does. -1: it is not there, or does not start.
pid_t spawn_supervisor(const internal::Launch& launch) {
  const std::string program = (executable_folder() / "kforge-supervisor").string();
  if (::access(program.c_str(), X_OK) != 0) return -1;
  const std::vector<std::string> own = {program, std::to_string(launch.cpu_seconds), std::to_string(launch.memory_bytes), launch.working_directory ? launch.working_directory : "", launch.program};
  std::vector<char*> arguments;
  for (const std::string& argument : own) arguments.push_back(const_cast<char*>(argument.c_str()));
  for (char* const* argument = launch.arguments; *argument; ++argument) arguments.push_back(*argument);
  arguments.push_back(nullptr);

  // First to high numbers, so that no target overwrites a source.
  const int sources[] = {launch.in, launch.out, launch.err, launch.control, launch.report};
  UniqueFd high[std::size(sources)];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  bool ready = true;
  for (std::size_t i = 0; i < std::size(sources); ++i) {
    high[i] = UniqueFd(::fcntl(sources[i], F_DUPFD_CLOEXEC, 100));
    ready = ready && high[i] && ::posix_spawn_file_actions_adddup2(&actions, high[i].get(), static_cast<int>(i)) == 0;
  }
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &all);
  pid_t pid = -1;
  if (ready && ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), launch.environment) != 0) pid = -1;
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return pid;
}

// What the parent holds while the program runs.
struct Session {
  pid_t supervisor;
  UniqueFd control;  // closing it ends everything
  UniqueFd report;
  Capture out, err;
};

int milliseconds_until(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

std::optional<Clock::time_point> after(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  // A year is for ever, and keeps the sum inside the clock's range.
  const double bounded = std::clamp(*seconds, 0.0, 3.2e7);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bounded));
}

// Reads outputs until the supervisor has reported; false if it could not. Sets `timed_out` on the way.
bool follow(Session& session, const ProcessLimits& limits, SupervisorReport& report, bool& timed_out) {
  auto deadline = after(limits.wall_seconds);
  while (true) {
    pollfd fds[3] = {{session.report.get(), POLLIN, 0}, {session.out.fd(), POLLIN, 0}, {session.err.fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 3, milliseconds_until(deadline));
    if (ready < 0 && errno != EINTR) return false;
    session.out.drain();
    session.err.drain();
    if (ready > 0 && fds[0].revents != 0) {
      const bool complete = ::read(session.report.get(), &report, sizeof report) == static_cast<ssize_t>(sizeof report);
      session.out.drain();
      session.err.drain();
      return complete;
    }
    if (ready != 0) continue;
    if (timed_out) return false;  // the grace is over as well
    timed_out = true;
    session.control.reset();
    deadline = after(kKillGraceSeconds);
  }
}

Unexpected launch_error(const ProcessRequest& request, const SupervisorReport& report) {
  const std::string why = reason(report.error_number);
  if (report.failed_step == LaunchStep::working_directory) {
    return fail(ErrorCode::bad_input, "cannot enter this working directory: " + why,
                Where{request.working_directory.string()});
  }
  if (report.failed_step == LaunchStep::program) {
    return fail(ErrorCode::missing, "cannot execute '" + request.arguments[0] + "': " + why, {},
                "check that it is a program for this machine");
  }
  return fail(ErrorCode::failed, "cannot start '" + request.arguments[0] + "': " + why);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void read_status(const SupervisorReport& report, const ProcessLimits& limits, ProcessResult& result) {
  if (WIFSIGNALED(report.wait_status)) result.signal = WTERMSIG(report.wait_status);
  if (WIFEXITED(report.wait_status)) result.exit_status = WEXITSTATUS(report.wait_status);
  result.cpu_seconds = seconds_of(report.usage.ru_utime) + seconds_of(report.usage.ru_stime);
  const bool used_up = limits.cpu_seconds && result.cpu_seconds >= static_cast<double>(*limits.cpu_seconds);
  result.cpu_limit_reached = limits.cpu_seconds && (result.signal == SIGXCPU || (result.signal == SIGKILL && used_up));
}

Expected<ProcessResult> finish(Session session, const ProcessRequest& request) {
  const auto start = Clock::now();
  ProcessResult result;
  SupervisorReport report;
  const bool reported = follow(session, request.limits, report, result.timed_out);
  if (!reported) ::kill(session.supervisor, SIGKILL);
  while (::waitpid(session.supervisor, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (reported && report.failed_step != LaunchStep::none) return launch_error(request, report);
  if (!reported && !result.timed_out)
    return fail(ErrorCode::failed, "the supervisor of '" + request.arguments[0] + "' was killed");

  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (reported) read_status(report, request.limits, result);
  if (!reported) result.signal = SIGKILL;
  result.output_truncated = session.out.truncated() || session.err.truncated();
  result.out = session.out.take();
  result.err = session.err.take();
  return result;
}

}  // namespace

Expected<ProcessResult> run_process(const ProcessRequest& request) {
  if (request.arguments.empty()) return fail(ErrorCode::bad_input, "no program to run was named");
  const auto program = locate(request);
  if (!program) return Unexpected(program.error());
  auto in = text_as_file(request.stdin_text);
  auto out = make_pipe();
  auto err = make_pipe();
  auto control = make_pipe();
  auto report = make_pipe();
  if (!in) return Unexpected(in.error());
  for (const auto* pipe : {&out, &err, &control, &report}) {
    if (!*pipe) return Unexpected(pipe->error());
  }

  const std::vector<char*> arguments = pointers(request.arguments);
  const std::vector<std::string> no_environment;
  const std::vector<char*> environment = pointers(request.environment ? *request.environment : no_environment);
  const std::string program_path = program->string();
  const std::string directory = request.working_directory.string();
  const internal::Launch launch{
      .program = program_path.c_str(),
      .arguments = arguments.data(),
      .environment = request.environment ? environment.data() : environ,
      .working_directory = directory.empty() ? nullptr : directory.c_str(),
      .in = in->get(),
      .out = out->write.get(),
      .err = request.merge_output ? out->write.get() : err->write.get(),
      .control = control->read.get(),
      .report = report->write.get(),
      .cpu_seconds = request.limits.cpu_seconds.value_or(0),
      .memory_bytes = request.limits.memory_bytes.value_or(0),
  };
  pid_t supervisor = spawn_supervisor(launch);
  if (supervisor < 0) supervisor = ::fork();
  if (supervisor < 0) return no_process("fork");
  if (supervisor == 0) internal::supervise(launch);

  for (auto* pipe : {&out, &err, &report}) (*pipe)->write.reset();
  control->read.reset();
  const std::uint64_t limit = request.limits.output_bytes;
  return finish(Session{supervisor, std::move(control->write), std::move(report->read),
                        Capture(std::move(out->read), limit), Capture(std::move(err->read), limit)},
                request);
}

std::string describe_end(const ProcessResult& result) {
  char text[128];
  if (result.timed_out) {
    std::snprintf(text, sizeof text, "stopped after %.1f s", result.wall_seconds);
  } else if (result.cpu_limit_reached) {
    std::snprintf(text, sizeof text, "stopped after %.1f s of processor time", result.cpu_seconds);
  } else if (result.signal != 0) {
    std::snprintf(text, sizeof text, "killed by signal %d (%s)", result.signal, ::strsignal(result.signal));
  } else {
    std::snprintf(text, sizeof text, "exit status %d", result.exit_status);
  }
  return text;
}

}  // namespace kforge
