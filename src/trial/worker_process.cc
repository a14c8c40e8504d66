#include "trial/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "base/writable.h"
#include "trial/protocol.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
constexpr std::size_t kPrintedBytes = 4096;
constexpr const char* kBarrenFolder = "/proc";
constexpr double kTakeDownSeconds = 30;        // for a process on a GPU to be gone after it was killed

std::uint64_t fresh_nonce() {
  std::uint64_t value = 0;
  (void)!::getrandom(&value, sizeof value, 0);
  return value | 1;
}

double processor_seconds(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The longest time that a thread of the process was ready and had no processor (proc(5), schedstat); 0 where the kernel does not tell.
double seconds_in_line(pid_t pid) {
  double most = 0;
  std::error_code error;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid);
  for (std::filesystem::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
    std::uint64_t ran = 0, in_line = 0;
    std::ifstream(it->path() / "schedstat") >> ran >> in_line;
    most = std::max(most, 1e-9 * static_cast<double>(in_line));
  }
  return most;
}

struct CallMeaning { std::string_view name, meaning; };
// What a stopped system call would have done, where its name does not say it to everybody.
constexpr CallMeaning kMeanings[] = {{"openat", "opened a file for writing (openat)"}, {"open", "opened a file for writing (open)"},
    {"write", "wrote to a descriptor that is not its own (write)"}, {"writev", "wrote to a descriptor that is not its own (writev)"},
    {"close", "closed a descriptor that is not its own (close)"}, {"close_range", "closed descriptors that are not its own (close_range)"},
    
    {"clone", "started a process (clone)"}, {"fork", "started a process (fork)"}, {"vfork", "started a process (vfork)"}};

std::string signal_name(int signal) {
  const char* text = ::strsignal(signal);
  return fmt::format("signal {} ({})", signal, text ? text : "unknown");
}

bool is_of_others(int signal) { return std::find(std::begin(kSignalsOfOthers), std::end(kSignalsOfOthers), signal) != std::end(kSignalsOfOthers); }

bool is_stop(int signal) { return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

// `detail` as FrameKind::forbidden has it.
ProcessFault forbidden(std::uint64_t detail) {
  const std::string name = system_call_name(detail & 0xffffffff);
  if (const int signal = static_cast<int>((detail & ~kByOwnInstruction) >> 32); is_of_others(signal))
    return {is_stop(signal) ? "run.hang" : "run.crash", fmt::format("the candidate sent itself {}", signal_name(signal))};
  if ((detail & kByOwnInstruction) != 0) return {"run.crash", fmt::format("the candidate called {}() by an instruction of its own, which is forbidden", name)};
  for (const CallMeaning& row : kMeanings) {
    if (row.name == name) return {"run.crash", fmt::format("the candidate {}, which is forbidden", row.meaning)};
  }
  return {"run.crash", fmt::format("the candidate called {}(), which is forbidden", name)};
}

constexpr double kPatience = 6;                // times the seconds: for a device that is slow, and not over its thread-instructions
constexpr double kSlowestDevice = 50'000;      // thread-instructions per second of processor time: below, the host code is what runs
constexpr double kBrief = 0.04;                // seconds: of calls that are no longer, nobody asks how long they stood in line
constexpr double kGrace = 0.25;                // times the seconds: for a runtime that is over its budget to say so itself, and for a machine that is busy

// Whether one call goes on too long. A device that moves may use up both its seconds and its thread-instructions; where it stands still,
// or hardly moves, the host code is waited for, and the seconds alone count.
class CallWatch {
 public:
  enum class State { within, over, asleep, undecided, starved };

  CallWatch(pid_t pid, CallLimit limit, std::uint64_t& progress)
      : pid_(pid), limit_(limit), progress_(progress), start_(Clock::now()), moved_(start_), crossed_(start_), processor_before_(processor_seconds(pid)) {}

  double waited() const { return seconds_since(start_); }

  State look() {
    const std::uint64_t now = std::atomic_ref(progress_).load(std::memory_order_relaxed);
    if (now != instructions_) moved_ = Clock::now();
    if (now <= limit_.thread_instructions) crossed_ = Clock::now();
    instructions_ = now;
    const double seconds = limit_.seconds, past = waited();
    if (!line_before_ && past > kBrief) line_before_ = seconds_in_line(pid_);   // most calls are over before
    if (past <= seconds) return State::within;
    const double used = processor_seconds(pid_) - processor_before_;
    const bool moves = limit_.thread_instructions != 0 && seconds_since(moved_) <= seconds && static_cast<double>(instructions_) > kSlowestDevice * used;
    if (moves && instructions_ <= limit_.thread_instructions) return past > kPatience * seconds ? State::undecided : State::within;
    if (moves) return past > (1 + kGrace) * seconds && seconds_since(crossed_) > kGrace * seconds ? State::over : State::within;
    // Time that the machine gave to others does not count.
    const double own = past - std::max(0.0, seconds_in_line(pid_) - line_before_.value_or(0));
    if (used <= 0.5 * seconds && own <= seconds) return past > kPatience * seconds ? State::starved : State::within;
    if (used < 0.1 * own) return State::asleep;
    return used > 0.5 * seconds || own > (1 + kGrace) * seconds ? State::over : State::within;
  }

 private:
  pid_t pid_;
  CallLimit limit_;
  std::uint64_t& progress_;
  std::uint64_t instructions_ = 0;
  Clock::time_point start_, moved_, crossed_;   // crossed_: when the thread-instructions were last within the limit
  double processor_before_;
  std::optional<double> line_before_;            // soon after the start
};

// Adds the time of its life to `sum`.
class WaitedTime {
 public:
  explicit WaitedTime(double& sum) : sum_(sum), start_(Clock::now()) {}
  ~WaitedTime() { sum_ += seconds_since(start_); }
  WaitedTime(const WaitedTime&) = delete;
  WaitedTime& operator=(const WaitedTime&) = delete;

 private:
  double& sum_;
  Clock::time_point start_;
};

Answer fault(std::string contract, std::string message) {
  Answer answer;
  answer.fault = {std::move(contract), std::move(message)};
  return answer;
}

Answer refused(std::string why) {
  Answer answer;
  answer.error = std::move(why);
  return answer;
}

// Stopped now, by a signal.
bool is_stopped(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

}  // namespace

Expected<SharedArena> SharedArena::create() {
  UniqueFd fd(::memfd_create("kforge-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return fail(ErrorCode::failed, std::string("no shared memory can be had: ") + std::strerror(errno));
  }
  SharedArena arena(std::move(fd));
  if (auto reserved = arena.reserve(0); !reserved) return Unexpected(reserved.error());
  return arena;
}

std::byte* SharedArena::data() const { return data_ + kArenaHeaderBytes; }
std::uint64_t& SharedArena::progress() const { return reinterpret_cast<std::uint64_t*>(data_)[kProgressWord]; }
bool SharedArena::waiting() const { return std::atomic_ref(reinterpret_cast<std::uint64_t*>(data_)[kWaitingWord]).load(std::memory_order_relaxed) != 0; }

SharedArena::SharedArena(SharedArena&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedArena::~SharedArena() {
  if (data_) ::munmap(data_, size_);
}

Expected<void> SharedArena::reserve(std::uint64_t bytes) {
  bytes += kArenaHeaderBytes;
  if (bytes <= size_) return {};
  const std::uint64_t rounded = (bytes + 0xfffff) & ~std::uint64_t{0xfffff};
  if (::ftruncate(fd_.get(), static_cast<off_t>(rounded)) != 0) {
    return fail(ErrorCode::failed, fmt::format("no {} of shared memory can be had: {}", human_bytes(static_cast<double>(rounded)), std::strerror(errno)), {}, errno == EFBIG ? kFileLimitHint : "");
  }
  if (data_) ::munmap(data_, size_);
  void* data = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  data_ = data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  size_ = data_ ? rounded : 0;
  if (!data_) return fail(ErrorCode::failed, std::string("shared memory cannot be mapped: ") + std::strerror(errno));
  return {};
}

std::string start_text(const WorkerOptions& options) {
  return Json{{"mode", options.reference ? "reference" : options.gpu ? "gpu" : "candidate"}, {"runtime", options.runtime}, {"object", options.object}, {"configure", options.configure},
              {"memory_bytes", options.memory_bytes}, {"cpu_seconds", 0}, {"gpu", options.gpu_uuid}, {"driver", options.driver}, {"libraries", options.libraries}, {"defences_off", options.defences_off}}.dump();
}

Expected<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const WorkerOptions& options) {
  auto arena = SharedArena::create();
  if (!arena) return Unexpected(arena.error());
  // What opens no file needs a folder only to be somewhere: where nobody can make one there is nothing to make and to clean up.
  std::optional<HeldDirectory> own;
  if (options.gpu || ::access(kBarrenFolder, X_OK) != 0) {
    auto folder = HeldDirectory::create("kforge-worker");
    if (!folder) return Unexpected(folder.error());
    own = std::move(*folder);
  }
  int sockets[2], pipes[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return fail(ErrorCode::failed, "no socket pair can be had");
  UniqueFd ours(sockets[0]), theirs(sockets[1]);
  if (::pipe2(pipes, O_CLOEXEC) != 0) return fail(ErrorCode::failed, "no pipe can be had");
  UniqueFd read_end(pipes[0]), write_end(pipes[1]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);

  // First to high numbers, so that no target overwrites a source.
  UniqueFd high_socket(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 100)), high_arena(::fcntl(arena->fd(), F_DUPFD_CLOEXEC, 100)),
      high_pipe(::fcntl(write_end.get(), F_DUPFD_CLOEXEC, 100)), high_inputs(options.inputs_fd < 0 ? -1 : ::fcntl(options.inputs_fd, F_DUPFD_CLOEXEC, 100));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, high_pipe.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, high_pipe.get(), 2);
  ::posix_spawn_file_actions_adddup2(&actions, high_socket.get(), kSocketFd);
  ::posix_spawn_file_actions_adddup2(&actions, high_arena.get(), kArenaFd);
  if (high_inputs) ::posix_spawn_file_actions_adddup2(&actions, high_inputs.get(), kInputsFd);
  else ::posix_spawn_file_actions_addopen(&actions, kInputsFd, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addchdir_np(&actions, own ? own->path().c_str() : kBarrenFolder);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string parent = std::to_string(::getpid()), program = options.program, locale = "LC_ALL=C";
  std::vector<std::string> more_arguments = options.arguments, more_environment = options.environment;
  std::vector<char*> arguments = {program.data()}, environment = {locale.data()};
  for (std::string& argument : more_arguments) arguments.push_back(argument.data());
  for (std::string& variable : more_environment) environment.push_back(variable.data());
  arguments.insert(arguments.end(), {parent.data(), nullptr});
  environment.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(ErrorCode::missing, fmt::format("the worker {} cannot be started: {}", program, std::strerror(error)), {}, "build or install Kernel Forge again");

  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(std::move(*arena), std::move(own)));
  worker->socket_ = std::move(ours);
  worker->output_ = std::move(read_end);
  worker->pid_ = pid;
  worker->memory_bytes_ = options.memory_bytes;
  worker->stage_ = options.reference ? "reference" : options.gpu ? "gpu" : "emulate";
  worker->costs_ = options.costs;
  worker->gpu_ = options.gpu;
  theirs.reset();
  high_socket.reset();
  write_end.reset();
  high_pipe.reset();
  worker->started_ = worker->exchange(static_cast<std::uint32_t>(FrameKind::start), start_text(options), {options.start_seconds, 0});
  return worker;
}

WorkerProcess::~WorkerProcess() { reap(true); }

Answer WorkerProcess::call(const std::string& json, CallLimit limit) {
  if (!alive()) return refused("the worker is gone");
  return exchange(static_cast<std::uint32_t>(FrameKind::call), json, limit);
}

Answer WorkerProcess::exchange(std::uint32_t kind, const std::string& json, CallLimit limit) {
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.nonce = nonce_ = fresh_nonce();
  std::atomic_ref(arena_.progress()).store(0);
  if (!send_frame(socket_.get(), header, json)) return ended();
  CallWatch watch(pid_, limit, arena_.progress());
  const WaitedTime waited(waited_s_);
  std::string buffer;
  while (true) {
    pollfd waits[] = {{socket_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}};
    const int ready = ::poll(waits, output_ ? 2 : 1, 50);
    if (ready > 0 && output_ && waits[1].revents) drain_output();
    const CallWatch::State state = watch.look();
    if (limit.stop && limit.stop()) return ended_early();
    if (state == CallWatch::State::undecided) return out_of_patience(watch.waited(), limit);
    if (state == CallWatch::State::starved)
      return undecidable(fmt::format("stopped after {}: the machine was too busy to run it, and nothing wrong was seen (more patience: --call-seconds)", human_seconds(watch.waited())), true);
    if (state != CallWatch::State::within) return over_time(watch.waited(), state == CallWatch::State::asleep);
    if (ready <= 0 || !waits[0].revents) continue;
    char piece[65536];
    const ssize_t got = ::recv(socket_.get(), piece, sizeof piece, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return ended();
    buffer.append(piece, static_cast<std::size_t>(got));
    if (buffer.size() < sizeof header) continue;
    std::memcpy(&header, buffer.data(), sizeof header);
    if (header.magic != kFrameMagic || header.bytes > kMaxFrameBytes) {
      reap(true);
      return fault("run.crash", "the candidate wrote to the worker's socket");
    }
    if (buffer.size() < sizeof header + header.bytes) continue;
    const std::string text = buffer.substr(sizeof header, header.bytes);
    const std::size_t line = std::min(text.find('\n'), text.size());
    if (header.kind != FrameKind::reply || header.nonce != nonce_) return reported(static_cast<std::uint32_t>(header.kind), header.detail, text);
    const Json reply = Json::parse(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line), nullptr, false);
    if (!reply.is_object() || !reply.value("ok", Json()).is_boolean()) return reported(0, 0, text);
    if (reply["ok"].get<bool>()) {
      Answer answer;
      answer.ok = true;
      answer.json = text.substr(0, line);
      if (line < text.size()) answer.log = text.substr(line + 1);
      return answer;
    }
    const Json why = reply.value("error", Json());
    return refused(why.is_string() ? why.get<std::string>() : "the worker gave no reason");
  }
}

std::vector<WorkerProcess::Thread> WorkerProcess::threads() const {
  std::vector<Thread> out;
  if (pid_ <= 0) return out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), ignored)) {
    Thread& thread = out.emplace_back(Thread{entry.path().filename().string(), {}});
    std::ifstream name(entry.path() / "comm"), counted(entry.path() / "schedstat");
    std::getline(name, thread.name);
    counted >> thread.ran_ns;
  }
  return out;
}

void WorkerProcess::drain_output() {
  char piece[4096];
  for (int i = 0; i < 64; ++i) {   // a candidate that never stops printing must not keep us here
    const ssize_t got = ::read(output_.get(), piece, sizeof piece);
    if (got == 0) output_.reset();
    if (got <= 0) return;
    printed_.append(piece, static_cast<std::size_t>(got));
    printed_bytes_ += static_cast<std::uint64_t>(got);
    if (printed_.size() > 2 * kPrintedBytes) printed_.erase(0, printed_.size() - kPrintedBytes);
  }
}

bool WorkerProcess::take_status(int flags) {
  rusage usage{};
  pid_t got;
  while ((got = ::wait4(pid_, &status_, flags, &usage)) < 0 && errno == EINTR) {}
  if (got == 0) return false;
  pid_ = -1;
  if (costs_) costs_->add(stage_, cpu_seconds(usage), waited_s_);
  return true;
}

void WorkerProcess::reap(bool kill) {
  if (pid_ <= 0) return;
  for (int i = 0; !kill && i < 100 && !take_status(WNOHANG); ++i) ::poll(nullptr, 0, 5);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    // A driver that takes down a context that hangs may need seconds; one that has lost its device may never come back.
    const auto start = Clock::now();
    while (!take_status(gpu_ ? WNOHANG : 0) && seconds_since(start) < kTakeDownSeconds) ::poll(nullptr, 0, 2);
    pid_ = -1;
    if (!kill) status_ = -1;   // it lived on with its socket closed
  }
  if (output_) drain_output();
}

Answer WorkerProcess::reported(std::uint32_t kind, std::uint64_t detail, const std::string& text) {
  reap(true);
  if (kind == static_cast<std::uint32_t>(FrameKind::forbidden)) {
    Answer answer;
    answer.fault = forbidden(detail);
    return answer;
  }
  if (kind != static_cast<std::uint32_t>(FrameKind::crashed)) return fault("run.crash", "the candidate forged a message of the worker");
  const int signal = static_cast<int>(detail & 0x7f);
  if (text == "memory" || printed_.find("std::bad_alloc") != std::string::npos) {
    return fault("run.limit", fmt::format("the host code needs more than {} of memory", human_bytes(static_cast<double>(memory_bytes_))));
  }
  if (signal == SIGXCPU) return fault("run.limit", "the host code used up its processor time");
  const std::string said(trim(printed_));
  return fault("run.crash", fmt::format("the host code ended by {}{}{}", signal_name(signal), said.empty() ? "" : ": ", said.substr(said.size() - std::min<std::size_t>(said.size(), 500))));
}

Answer WorkerProcess::ended() {
  reap(false);
  if (status_ == -1) return fault("run.crash", "the candidate closed the worker's descriptors");
  if (WIFEXITED(status_)) return fault("run.exit", fmt::format("the candidate ended the process with exit code {}", WEXITSTATUS(status_)));
  const int signal = WTERMSIG(status_);
  if (is_of_others(signal))
    return undecidable(fmt::format("the process was ended from outside by {}{}", signal_name(signal), signal == SIGKILL ? ", most likely because the machine ran out of memory" : ""), true);
  if (signal == SIGSYS) return fault("run.crash", "the candidate made a forbidden system call with SIGSYS blocked, or one of a 32-bit program");
  return fault(signal == SIGXCPU ? "run.limit" : "run.crash", fmt::format("the host code ended by {}", signal_name(signal)));
}

Answer WorkerProcess::over_time(double seconds, bool asleep) {
  const bool waited = gpu_ && arena_.waiting(), stopped = is_stopped(pid_);
  if (stopped) return undecidable("the process was stopped from outside by a signal", true);
  reap(true);
  if (waited) return fault("run.hang", fmt::format("the kernels did not end within {} on the GPU", human_seconds(seconds)));
  if (asleep) return fault("run.hang", fmt::format("the launcher did not return within {} and its process did nothing meanwhile", human_seconds(seconds)));
  return fault("run.limit", fmt::format("the launcher did not return within {}; nothing wrong was seen until then (a larger budget: --call-seconds)", human_seconds(seconds)));
}

Answer WorkerProcess::undecidable(std::string why, bool from_outside) {
  reap(true);
  Answer answer;
  answer.undecided = std::move(why);
  answer.from_outside = from_outside;
  return answer;
}

Answer WorkerProcess::ended_early() { return undecidable("the trial was ended early"); }

Answer WorkerProcess::out_of_patience(double seconds, const CallLimit& limit) {
  const auto executed = static_cast<double>(std::atomic_ref(arena_.progress()).load());
  return undecidable(fmt::format("stopped after {} with {} of {} thread-instructions: too slow to emulate to the end, and nothing wrong was seen (more patience: --call-seconds)",
                                 human_seconds(seconds), human_count(executed), human_count(static_cast<double>(limit.thread_instructions))));
}

namespace {

Expected<std::string> find_beside(const char* variable, const std::string& name, const std::string& what) {
  if (const char* value = std::getenv(variable); value && *value) return std::string(value);
  const std::filesystem::path here = executable_folder();
  std::error_code ignored;
  for (const std::filesystem::path& folder : {here, here.parent_path() / "lib", here.parent_path() / "lib" / "kforge", here.parent_path() / "libexec" / "kforge"}) {
    if (std::filesystem::exists(folder / name, ignored)) return (folder / name).string();
  }
  return fail(ErrorCode::missing, fmt::format("{} ({}) was not found beside this program in {}", what, name, here.string()), {}, "build or install Kernel Forge again");
}

}  // namespace

Expected<std::string> find_worker_program() { return find_beside("KFORGE_WORKER", "kforge-worker", "the worker program"); }
Expected<std::string> find_emulated_runtime() { return find_beside("KFORGE_CUDART", "libkforge_cudart.so", "the emulated CUDA runtime"); }

}  // namespace kforge::trial
