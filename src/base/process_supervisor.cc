#include "base/process_supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace kforge::internal {
namespace {

struct LaunchFailure {
  LaunchStep step;
  int error_number;
};

// Moves the five descriptors to 0..4 and closes every other one. The sources may lie among 0..4, hence the detour.
bool take_descriptors(const Launch& launch) {
  int fds[5] = {launch.in, launch.out, launch.err, launch.control, launch.report};
  for (int& fd : fds) fd = ::fcntl(fd, F_DUPFD, 10);
  for (int i = 0; i < 5; ++i) {
    if (fds[i] < 0 || ::dup2(fds[i], i) < 0) return false;
  }
  return ::close_range(5, ~0u, 0) == 0;
}

bool set_limit(int resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return false;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  limit.rlim_max = hard < limit.rlim_max ? hard : limit.rlim_max;
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // KILL and STOP refuse; that is fine
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void give_up(int failure_pipe, LaunchStep step) {
  const LaunchFailure failure{step, errno};
  static_cast<void>(!::write(failure_pipe, &failure, sizeof failure));
  ::_exit(127);
}

[[noreturn]] void become_program(const Launch& launch, int failure_pipe) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if somebody kills the supervisor
  if (launch.cpu_seconds > 0 && !set_limit(RLIMIT_CPU, launch.cpu_seconds, launch.cpu_seconds + 1)) {
    give_up(failure_pipe, LaunchStep::limits);
  }
  if (launch.working_directory != nullptr && ::chdir(launch.working_directory) != 0) {
    give_up(failure_pipe, LaunchStep::working_directory);
  }
  ::close(kControl);
  ::close(kReport);
  reset_signals();
  if (launch.memory_bytes > 0 && !set_limit(RLIMIT_AS, launch.memory_bytes, launch.memory_bytes)) {
    give_up(failure_pipe, LaunchStep::limits);
  }
  ::execve(launch.program, launch.arguments, launch.environment);
  give_up(failure_pipe, LaunchStep::program);
}

// Sends a signal to each child that the kernel lists, or to the program's group where /proc is not mounted.
// Returns how many there were.
int signal_children(int number) {
  const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  int count = 0;
  pid_t pid = 0;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid > 0) {
        ::kill(pid, number);
        pid = 0;
        ++count;
      }
    }
  }
  ::close(fd);
  return count;
}

// Every descendant whose parent dies becomes our child (we are a subreaper), so generation after generation
// comes within reach. Stopping a generation first keeps it from forking while it is killed.
void kill_descendants() {
  while (signal_children(SIGSTOP) > 0) {
    signal_children(SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

void reap_others(pid_t program) {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || info.si_pid == program)
      return;
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

// Until the program ends or we are told to end it. The program stays a zombie, so that its group's number stays taken.
void wait_for_end(pid_t program, int child_signals) {
  while (!has_ended(program)) {
    pollfd fds[2] = {{kControl, POLLIN, 0}, {child_signals, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) break;
    signalfd_siginfo info;
    if (fds[1].revents != 0) static_cast<void>(!::read(child_signals, &info, sizeof info));
    reap_others(program);
  }
}

[[noreturn]] void send(const SupervisorReport& report) {
  static_cast<void>(!::write(kReport, &report, sizeof report));  // fits a pipe's atomic write
  ::_exit(0);
}

[[noreturn]] void fail_to_launch(LaunchStep step, int error_number) {
  SupervisorReport report;
  report.failed_step = step;
  report.error_number = error_number;
  send(report);
}

}  // namespace

void supervise(const Launch& launch) {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // an ignored SIGCHLD would reap behind our back
  if (!take_descriptors(launch)) {
    static_cast<void>(::dup2(launch.report, kReport));
    fail_to_launch(LaunchStep::supervisor, errno);
  }
  ::setpgid(0, 0);  // a terminal's interrupt is for our parent, whose end ends us
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  int failure_pipe[2];
  if (::pipe2(failure_pipe, O_CLOEXEC) != 0) fail_to_launch(LaunchStep::supervisor, errno);
  const pid_t program = ::vfork();   // a copy of our parent's memory would be made to be thrown away
  if (program < 0) fail_to_launch(LaunchStep::supervisor, errno);
  if (program == 0) become_program(launch, failure_pipe[1]);
  ::setpgid(program, program);
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  ::close(failure_pipe[1]);
  const int child_signals = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);

  LaunchFailure failure{};
  if (::read(failure_pipe[0], &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure)) {
    fail_to_launch(failure.step, failure.error_number);
  }
  wait_for_end(program, child_signals);
  ::kill(-program, SIGKILL);
  SupervisorReport report;
  ::wait4(program, &report.wait_status, 0, &report.usage);
  kill_descendants();
  send(report);
}

}  // namespace kforge::internal
