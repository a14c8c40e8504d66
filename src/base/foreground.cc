#include "base/foreground.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <system_error>

#include "base/paths.h"
#include "base/unique_fd.h"

namespace kforge {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::string reason(int number) { return std::generic_category().message(number); }

// What the terminal sends goes to its whole foreground group; the program decides what it means.
class IgnoredInterrupts {
 public:
  IgnoredInterrupts() : interrupt_(::signal(SIGINT, SIG_IGN)), quit_(::signal(SIGQUIT, SIG_IGN)) {}
  ~IgnoredInterrupts() {
    ::signal(SIGINT, interrupt_);
    ::signal(SIGQUIT, quit_);
  }
  IgnoredInterrupts(const IgnoredInterrupts&) = delete;
  IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;
  void restore() const {
    ::signal(SIGINT, interrupt_);
    ::signal(SIGQUIT, quit_);
  }

 private:
  sighandler_t interrupt_, quit_;
};

// False when the time was up first.
bool wait_for(pid_t child, double seconds) {
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 3.2e7)));
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{handle.get(), POLLIN, 0};
    if (!handle) one.fd = -1;   // an old kernel: poll is then a pause
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<long long>(left, handle ? 1 << 30 : 10)));
    if (ready > 0) return true;
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child) return true;
  }
}

}  // namespace

Expected<ForegroundResult> run_in_foreground(const ForegroundRequest& request) {
  if (request.arguments.empty()) return fail(ErrorCode::bad_input, "no program to run was named");
  const auto program = find_program(request.arguments[0]);
  if (!program) return fail(ErrorCode::missing, "the program '" + request.arguments[0] + "' was not found or cannot be executed");
  const std::string path = program->string();
  const std::vector<char*> arguments = pointers(request.arguments), environment = pointers(request.environment);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return fail(ErrorCode::failed, "cannot start a process: " + reason(errno));
  UniqueFd read_end(failure[0]), write_end(failure[1]);
  const IgnoredInterrupts ignored;
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::failed, "cannot start a process: " + reason(errno));
  if (child == 0) {
    ignored.restore();
    ::signal(SIGXFSZ, SIG_DFL);   // ignored by us alone
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execve(path.c_str(), arguments.data(), environment.data());
    const int error = errno;
    static_cast<void>(!::write(write_end.get(), &error, sizeof error));
    ::_exit(127);
  }
  write_end.reset();
  int error = 0;
  const bool started = ::read(read_end.get(), &error, sizeof error) != static_cast<ssize_t>(sizeof error);
  ForegroundResult result;
  if (started && request.wall_seconds && !wait_for(child, *request.wall_seconds)) {
    result.timed_out = true;
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!started) return fail(ErrorCode::missing, "cannot execute '" + path + "': " + reason(error), {}, "check that it is a program for this machine");
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  return result;
}

}  // namespace kforge
