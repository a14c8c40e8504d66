#include "trial/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>

#include "trial/call_origin.h"
#include "trial/protocol.h"

namespace kforge::trial {
namespace {

// Calls that a computation makes, through the C library or the emulated runtime.
constexpr const char* kAllowed[] = {
    "mmap", "munmap", "mprotect", "mremap", "brk", "madvise", "mincore", "futex", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
    "exit", "exit_group", "set_robust_list", "get_robust_list", "rseq", "set_tid_address", "gettid", "getpid", "getppid", "getuid", "geteuid", "getgid",
    "getegid", "sched_getaffinity", "sched_yield", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "getrandom",
    "fstat", "newfstatat", "stat", "lseek", "sysinfo", "uname", "getrlimit", "getrusage", "times", "restart_syscall", "membarrier", "getcpu",
    "poll", "ppoll", "recvfrom", "sendto", "getcwd", "seccomp"};   // seccomp can only make a filter stricter

// Calls that can only mean harm. Their arguments do not matter.
constexpr const char* kForbidden[] = {
    "fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "tkill",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendmsg", "sendmmsg", "creat", "unlink",
    "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmod", "fchmodat",
    "chown", "fchown", "lchown", "fchownat", "mknod", "mknodat", "truncate", "ftruncate", "mount", "umount2", "pivot_root", "chroot", "chdir", "fchdir", "setsid",
    "setpgid", "unshare", "setns", "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "keyctl", "add_key", "request_key", "userfaultfd",
    "perf_event_open", "reboot", "kexec_load", "init_module", "finit_module", "delete_module", "setuid", "setgid", "setreuid", "setregid", "setresuid",
    "setresgid", "setgroups", "capset", "pwrite64", "pwritev", "pwritev2", "sendfile", "splice", "tee", "vmsplice", "copy_file_range", "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "fanotify_init", "name_to_handle_at", "close_range", "openat2", "open_by_handle_at",
    "memfd_create", "setrlimit", "setpriority", "sched_setscheduler", "swapon", "swapoff", "settimeofday", "clock_settime"};

// libseccomp's macros make these by compound literals, which are C.
scmp_arg_cmp when(unsigned argument, scmp_compare compare, scmp_datum_t value, scmp_datum_t masked = 0) { return {argument, compare, value, masked}; }

bool add_rule(scmp_filter_ctx filter, std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> conditions = {}) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) return true;   // newer than this libseccomp: the default action holds
  const int result = seccomp_rule_add_array(filter, action, number, static_cast<unsigned>(conditions.size()), conditions.begin());
  return result == 0 || result == -EACCES;      // EACCES: the rule is the default action already
}

// What is ours is sent, received and mapped, never read or written as a stream of C would do it.
bool add_own_descriptor_rules(scmp_filter_ctx filter, std::initializer_list<const char*> names) {
  bool ok = true;
  for (const char* name : names)
    for (int fd = kSocketFd; fd <= kInputsFd; ++fd) ok &= add_rule(filter, SCMP_ACT_TRAP, name, {when(0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(fd))});
  return ok;
}

// Writing is for the standard streams, closing for descriptors above ours; everything about them is about low numbers.
bool add_descriptor_rules(scmp_filter_ctx filter) {
  bool ok = true;
  for (const char* name : {"read", "readv", "pread64"}) {
    ok &= add_rule(filter, SCMP_ACT_ALLOW, name, {when(0, SCMP_CMP_LT, kSocketFd)});
    ok &= add_rule(filter, SCMP_ACT_ALLOW, name, {when(0, SCMP_CMP_GT, kInputsFd)});
  }
  ok &= add_own_descriptor_rules(filter, {"read", "readv", "pread64"});
  for (const char* name : {"write", "writev"}) {
    ok &= add_rule(filter, SCMP_ACT_ALLOW, name, {when(0, SCMP_CMP_LE, 2)});
    ok &= add_rule(filter, SCMP_ACT_TRAP, name, {when(0, SCMP_CMP_GT, 2)});
  }
  ok &= add_rule(filter, SCMP_ACT_ALLOW, "close", {when(0, SCMP_CMP_GT, kInputsFd)});
  ok &= add_rule(filter, SCMP_ACT_TRAP, "close", {when(0, SCMP_CMP_LE, kInputsFd)});
  for (const char* name : {"dup2", "dup3"}) ok &= add_rule(filter, SCMP_ACT_TRAP, name);
  return ok;
}

// abort() and raise() signal this very process, and may. What the kernel never sends for something that a program did may not: then a process
// that such a signal ends or stops was ended or stopped by somebody else (worker_process.cc).
bool add_signal_rules(scmp_filter_ctx filter) {
  const auto self = static_cast<scmp_datum_t>(::getpid());
  struct Row { const char* name; unsigned signal; };
  bool ok = true;
  for (const Row& row : {Row{"kill", 1}, Row{"tgkill", 2}}) {
    for (int signal = 0; signal < NSIG; ++signal) {   // one rule each: of overlapping ones libseccomp keeps the more general
      const bool of_others = std::find(std::begin(kSignalsOfOthers), std::end(kSignalsOfOthers), signal) != std::end(kSignalsOfOthers);
      ok &= add_rule(filter, of_others ? SCMP_ACT_TRAP : SCMP_ACT_ALLOW, row.name,
                     {when(0, SCMP_CMP_EQ, self), when(row.signal, SCMP_CMP_MASKED_EQ, 0xffffffff, static_cast<scmp_datum_t>(signal))});
    }
    ok &= add_rule(filter, SCMP_ACT_TRAP, row.name, {when(0, SCMP_CMP_NE, self)});
  }
  // The reporter of SIGSYS stays.
  ok &= add_rule(filter, SCMP_ACT_ALLOW, "rt_sigaction", {when(0, SCMP_CMP_NE, SIGSYS)});
  ok &= add_rule(filter, SCMP_ACT_ALLOW, "prlimit64", {when(2, SCMP_CMP_EQ, 0)});
  return ok;
}

bool add_thread_rules(scmp_filter_ctx filter) {
  return add_rule(filter, SCMP_ACT_ALLOW, "clone", {when(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)}) &&
      add_rule(filter, SCMP_ACT_TRAP, "clone", {when(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)}) &&
      add_rule(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3") &&   // its flags are out of a filter's sight; glibc then uses clone
      add_rule(filter, SCMP_ACT_ERRNO(ENOSYS), "statx");
}

bool add_open_rules(scmp_filter_ctx filter) {
  bool ok = true;
  for (const auto& [name, argument] : {std::pair{"open", 1u}, std::pair{"openat", 2u}}) {
    for (const std::uint64_t mode : {1u, 2u, 3u}) {
      ok &= add_rule(filter, SCMP_ACT_TRAP, name, {when(argument, SCMP_CMP_MASKED_EQ, O_ACCMODE, mode)});
    }
    ok &= add_rule(filter, SCMP_ACT_ALLOW, name, {when(argument, SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT, 0)});
  }
  return ok;
}

std::string load_filter(bool real_gpu) {
  scmp_filter_ctx filter = seccomp_init(real_gpu ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM));
  if (!filter) return "no system call filter can be made";
  bool ok = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0;
  ok &= seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0;   // threads that the runtime started already, too
  for (const char* name : kForbidden) ok &= add_rule(filter, SCMP_ACT_TRAP, name);
  if (real_gpu) {
    ok &= add_own_descriptor_rules(filter, {"read", "readv", "pread64", "write", "writev"});
  } else {
    for (const char* name : kAllowed) ok &= add_rule(filter, SCMP_ACT_ALLOW, name);
    ok &= add_descriptor_rules(filter) && add_open_rules(filter);
  }
  ok &= add_signal_rules(filter) && add_thread_rules(filter);
  const int loaded = ok ? seccomp_load(filter) : -EINVAL;
  seccomp_release(filter);
  return loaded == 0 ? std::string() : std::string("the system call filter was refused: ") + std::strerror(-loaded);
}

void set_limit(decltype(RLIMIT_AS) which, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(which, &limit);
}

// The whole address space, or the private memory that can be written: proc(5), statm, first and sixth figure.
rlim_t memory_in_use(int figure) {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  for (int i = 0; i < figure; ++i) file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void set_limits(const SandboxRequest& request) {
  // NVIDIA's driver reserves addresses by the terabyte: there, what can be written is limited.
  if (!request.real_gpu && request.memory_bytes) set_limit(RLIMIT_AS, memory_in_use(1) + request.memory_bytes);
  if (request.real_gpu && request.memory_bytes) set_limit(RLIMIT_DATA, memory_in_use(6) + request.memory_bytes);
  if (request.cpu_seconds) set_limit(RLIMIT_CPU, request.cpu_seconds);
  set_limit(RLIMIT_FSIZE, 0);
  set_limit(RLIMIT_NOFILE, request.real_gpu ? 1024 : 64);
  set_limit(RLIMIT_CORE, 0);
}

void drop_privileges(bool real_gpu) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!real_gpu) (void)::unshare(CLONE_NEWNET);   // refused without privileges: sockets are refused anyway
  // Without capabilities the parent's /proc entries are closed to us: its set is not a subset of ours.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  ::syscall(SYS_capset, &header, none);
}

class Landlock {
 public:
  Landlock() {
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;   // all rights of the first version
    ruleset_ = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  }
  Landlock(const Landlock&) = delete;
  Landlock& operator=(const Landlock&) = delete;
  ~Landlock() {
    if (ruleset_ >= 0) ::close(ruleset_);
  }
  explicit operator bool() const { return ruleset_ >= 0; }

  void allow(const std::string& path, std::uint64_t access) const {
    const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return;
    struct stat about{};
    if (::fstat(fd, &about) == 0 && !S_ISDIR(about.st_mode)) access &= kOfFiles;   // other rights on a file are refused
    allow_open(fd, access);
    ::close(fd);
  }
  void allow_open(int fd, std::uint64_t access) const {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = access;
    rule.parent_fd = fd;
    ::syscall(SYS_landlock_add_rule, ruleset_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
  void enforce() const { ::syscall(SYS_landlock_restrict_self, ruleset_, 0); }

  static constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
  static constexpr std::uint64_t kList = kRead | LANDLOCK_ACCESS_FS_READ_DIR;
  static constexpr std::uint64_t kDevice = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;

 private:
  static constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  int ruleset_ = -1;
};

// What NVIDIA's driver opens: its device files, its own and the kernel's descriptions of the machine. Everything of other processes, and of
// users' folders, stays closed.
void allow_gpu(const Landlock& landlock, const SandboxRequest& request) {
  for (const std::string& library : request.libraries) {
    std::error_code ignored;
    if (!library.empty()) landlock.allow(std::filesystem::canonical(library, ignored).parent_path().string(), Landlock::kList);
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored))
    if (entry.path().filename().string().starts_with("nvidia")) landlock.allow(entry.path().string(), entry.is_directory(ignored) ? Landlock::kDevice | Landlock::kList : Landlock::kDevice);
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/shm"}) landlock.allow(path, Landlock::kDevice);
  landlock.allow("/dev", LANDLOCK_ACCESS_FS_READ_DIR);
  // The driver names its threads through /proc/self/task/*/comm. A held descriptor keeps the folder's inode, which the rule is tied to.
  static const int threads = ::open("/proc/self/task", O_PATH | O_CLOEXEC);
  landlock.allow_open(threads, Landlock::kDevice | Landlock::kList);
  // All of /proc to be read: the folder of a process has no inode that stays. Memory of processes outside is closed by Landlock itself (ptrace).
  for (const char* path : {"/proc", "/sys", "/run", "/usr/local/nvidia", "/usr/share", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/nvidia"})
    landlock.allow(path, Landlock::kList);
}

// Best effort: kernels before 5.13 have no Landlock. What is granted nowhere is refused, writing included.
void restrict_files(const SandboxRequest& request) {
  const Landlock landlock;
  if (!landlock) return;
  landlock.allow(request.object, Landlock::kRead);
  for (const char* folder : {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"}) landlock.allow(folder, Landlock::kRead);
  if (request.real_gpu) allow_gpu(landlock, request);
  landlock.enforce();
}

bool off(const SandboxRequest& request, std::string_view layer) {
  return std::find(request.defences_off.begin(), request.defences_off.end(), layer) != request.defences_off.end();
}

// Whether an eighth of the limit can still be mapped: when not, a crash is taken for the memory's end.
bool memory_is_left() {
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    void* probe = ::mmap(nullptr, limit.rlim_cur / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) return false;
    ::munmap(probe, limit.rlim_cur / 8);
  }
  return true;
}

// The signal that a stopped call was to send to this process, 0 if it is no such call.
std::uint64_t signal_to_self(const siginfo_t& info, const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;   // arguments in RDI, RSI, RDX
  if (registers[REG_RDI] != ::getpid()) return 0;
  if (info.si_syscall == SYS_kill) return static_cast<std::uint32_t>(registers[REG_RSI]);
  return info.si_syscall == SYS_tgkill ? static_cast<std::uint32_t>(registers[REG_RDX]) : 0;
}

std::atomic<bool> quiet = false;

void report(int signal, siginfo_t* info, void* context) {
  const bool stopped = signal == SIGSYS;
  if (stopped && quiet) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -EPERM;   // what the call returns: it was not made
    return;
  }
  FrameHeader header;
  header.kind = stopped ? FrameKind::forbidden : FrameKind::crashed;
  header.detail = static_cast<std::uint64_t>(stopped ? info->si_syscall : signal) | (stopped ? signal_to_self(*info, context) << 32 : 0);
  if (stopped && info->si_errno == kOwnInstruction) header.detail |= kByOwnInstruction;   // the filter's word (seccomp(2), SECCOMP_RET_DATA)
  send_frame(kSocketFd, header, !stopped && !memory_is_left() ? "memory" : "");
  ::_exit(128 + signal);
}

}  // namespace

void refuse_quietly() { quiet = true; }

void install_reporters() {
  constexpr std::size_t kStackBytes = 256 << 10;
  void* memory = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const stack_t stack{memory, 0, kStackBytes};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = report;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGSYS, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGXFSZ}) ::sigaction(signal, &action, nullptr);
}

void enter_sandbox_early(const SandboxRequest& request) {
  if (!off(request, "privileges")) drop_privileges(request.real_gpu);
  if (!off(request, "files")) restrict_files(request);
}

std::string enter_sandbox(const SandboxRequest& request) {
  ::signal(SIGPIPE, SIG_IGN);
  set_limits(request);   // reads /proc, which is closed afterwards
  if (!request.real_gpu) enter_sandbox_early(request);
  if (off(request, "calls")) return {};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);   // a filter needs it
  // NVIDIA's driver loads libraries later: there, the object's own code is what is refused, once it is known.
  if (!request.real_gpu && !request.own_calls)
    if (std::string why = restrict_origin(Origin::only, loaded_code()); !why.empty()) return why;
  return load_filter(request.real_gpu);
}

namespace {

CodeRange guarded;   // from where no system call is made any more, on a real GPU

std::string close_file_system() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return "no system call filter can be made";
  bool ok = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) == 0;   // set already, and prctl is closed by now
  for (const auto& [name, argument] : {std::pair{"open", 1u}, std::pair{"openat", 2u}}) {
    ok &= add_rule(filter, SCMP_ACT_ERRNO(EACCES), name, {when(argument, SCMP_CMP_MASKED_EQ, O_ACCMODE, 0)});
  }
  const int loaded = ok ? seccomp_load(filter) : -EINVAL;
  seccomp_release(filter);
  return loaded == 0 ? std::string() : std::string("the file filter was refused: ") + std::strerror(-loaded);
}

}  // namespace

std::string guard_object(const SandboxRequest& request) {
  if (!request.real_gpu || off(request, "calls")) return {};
  guarded = next_place(request.object);
  return guarded.begin == guarded.end ? std::string() : restrict_origin(Origin::never, {guarded});
}

std::string close_sandbox(const SandboxRequest& request) {
  if (!request.real_gpu) return off(request, "files") ? std::string() : close_file_system();
  if (off(request, "calls")) return {};
  const std::vector<CodeRange> own = loaded_code(request.object);
  if (!own.empty() && std::all_of(own.begin(), own.end(), [](const CodeRange& code) { return code.begin >= guarded.begin && code.end <= guarded.end; })) return {};
  // Something else was mapped in between. No library may come to lie where none may make a system call.
  if (guarded.begin != guarded.end)
    (void)::mmap(reinterpret_cast<void*>(guarded.begin), guarded.end - guarded.begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  return own.empty() ? "the object's code is not where it was loaded" : restrict_origin(Origin::never, own);
}

}  // namespace kforge::trial
