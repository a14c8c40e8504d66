#include "build/forbidden.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace kforge::build {
namespace {

// Whole names that are the worker's or the loader's, and starts of names that belong to CUDA's libraries. A start counts
// only before a capital letter, so that `cumsum` and `cuda_softmax` stay the candidate's.
constexpr std::array<std::string_view, 12> kLibraries = {"cuda", "cu", "__cuda", "nvrtc", "cublas", "cublasLt", "cudnn", "cufft", "curand", "cusparse", "cusolver", "nvJitLink"};
constexpr std::array<std::string_view, 4> kWorker = {"kforge_", "_dl_", "__libc_", "__pthread_"};

bool belongs_to_library(std::string_view name) {
  for (const std::string_view start : kLibraries) {
    if (!name.starts_with(start) || name.size() == start.size()) continue;
    const char next = name[start.size()];
    if (next >= 'A' && next <= 'Z') return true;
  }
  return std::any_of(kWorker.begin(), kWorker.end(), [&](std::string_view start) { return name.starts_with(start); });
}

// The C library tells itself which names are its own: libm, libdl and libpthread are in it or loaded beside it. Names of
// C++ (_Z...) are left to the linker's usual vague linkage.
bool belongs_to_c_library(const std::string& name) {
  if (name.starts_with("_Z") || name.starts_with("_ITM_") || name == "_init" || name == "_fini" || name == "_edata" || name == "_end" || name == "__bss_start") return false;
  for (const char* library : {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) continue;
    void* address = dlsym(handle, name.c_str());
    Dl_info info{};
    const bool found = address && dladdr(address, &info) && info.dli_fname && std::string_view(info.dli_fname).find("libstdc++") == std::string_view::npos;
    dlclose(handle);
    if (found) return true;
  }
  return false;
}

// What no launcher has to ask for, by whole names.
struct Import { std::string_view does, names; };
constexpr Import kImports[] = {
    {"finds functions and libraries by name", " dlopen dlmopen dlsym dlvsym dladdr dladdr1 dlinfo dl_iterate_phdr __libc_dlopen_mode __libc_dlsym _r_debug _rtld_global "
                                              "_rtld_global_ro __libc_stack_end getauxval __getauxval iconv_open __nss_configure_lookup "},
    {"changes what memory may be used for", " mprotect __mprotect pkey_mprotect mmap mmap64 __mmap mremap munmap __munmap remap_file_pages process_madvise modify_ldt "},
    {"makes system calls of its own", " syscall prctl seccomp personality arch_prctl __arch_prctl ioperm iopl "},
    {"reaches into other processes", " ptrace process_vm_readv process_vm_writev process_mrelease pidfd_open pidfd_getfd pidfd_send_signal kill killpg tgkill sigqueue pthread_sigqueue getppid getpgid "
                                     "__getpgid setpgid __setpgid setpgrp setsid waitpid __waitpid wait __wait wait3 wait4 waitid "},
    {"starts processes", " fork __fork __libc_fork vfork __vfork clone __clone _Fork forkpty posix_spawn posix_spawnp execv execve execvp execvpe execveat execl execlp execle fexecve system __libc_system "
                         "popen daemon wordexp unshare setns chroot "},
    {"opens files", " open open64 __open __open64 __open_2 __open64_2 openat openat64 __openat_2 __openat64_2 creat creat64 fopen fopen64 freopen freopen64 fdopen opendir fdopendir readdir readdir64 readdir_r "
                    "readdir64_r scandir scandir64 scandirat scandirat64 nftw nftw64 ftw ftw64 fts_open fts64_open glob glob64 readlink readlinkat __readlink_chk __readlinkat_chk realpath __realpath_chk "
                    "canonicalize_file_name stat stat64 lstat lstat64 fstatat fstatat64 statx __xstat __xstat64 __lxstat __lxstat64 __fxstatat __fxstatat64 access faccessat euidaccess eaccess statfs statfs64 "
                    "__statfs statvfs statvfs64 getxattr lgetxattr setxattr shm_open memfd_create tmpfile tmpfile64 mkstemp mkstemp64 mkostemp mkostemp64 mkstemps mkostemps mkdtemp inotify_init inotify_init1 "
                    "fanotify_init name_to_handle_at open_by_handle_at catopen setmntent __setmntent __open_nocancel __open64_nocancel __openat_nocancel __openat64_nocancel "},
    {"changes files", " unlink unlinkat remove rename renameat renameat2 link linkat symlink symlinkat mkdir mkdirat rmdir mkfifo mkfifoat mknod mknodat truncate truncate64 chdir fchdir chmod fchmodat chown "
                      "utime utimes utimensat "},
    {"uses descriptors", " read __read __read_chk pread pread64 __pread_chk __pread64 __pread64_chk __libc_pread readv preadv preadv64 preadv2 write __write pwrite pwrite64 __pwrite64 __libc_pwrite writev pwritev "
                         "pwritev64 pwritev2 dprintf vdprintf __dprintf_chk __vdprintf_chk stdin scanf vscanf wscanf getchar getchar_unlocked gets __gets_chk getwchar send __send sendto sendmsg sendmmsg recv "
                         "__recv __recv_chk recvfrom __recvfrom_chk recvmsg recvmmsg dup dup2 __dup2 dup3 close __close closefrom close_range fcntl fcntl64 __fcntl ioctl lockf lockf64 flock lseek lseek64 llseek "
                         "__lseek ftruncate ftruncate64 fallocate posix_fallocate sendfile sendfile64 copy_file_range splice tee vmsplice poll __poll __poll_chk ppoll __ppoll_chk select __select pselect "
                         "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait pipe __pipe pipe2 eventfd timerfd_create signalfd fcloseall fstat fstat64 __fxstat __fxstat64 eventfd_read eventfd_write shutdown _IO_2_1_stdin_ __read_nocancel __pread64_nocancel __write_nocancel __close_nocancel "
                         "__fcntl64_nocancel aio_read aio_read64 aio_write aio_write64 aio_fsync aio_fsync64 aio_suspend aio_suspend64 lio_listio lio_listio64 "},
    {"keeps things outside its process", " shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_send mq_receive mq_timedsend mq_timedreceive mq_notify sem_open "
                                         "shm_unlink add_key keyctl request_key syslog vsyslog __syslog_chk __vsyslog_chk openlog "},
    {"uses the network", " socket __socket socketpair connect __connect bind listen accept accept4 getaddrinfo getaddrinfo_a gethostbyname gethostbyname_r gethostbyname2 gethostbyaddr res_query res_search rcmd "},
    {"takes over signals", " signal sigaction __sigaction __libc_sigaction sigprocmask sigaltstack pthread_sigmask pthread_kill raise bsd_signal sysv_signal __sysv_signal ssignal sigset sigvec sighold sigignore "
                           "sigwait sigwaitinfo sigtimedwait sigsuspend sigpause __sigpause __xpg_sigpause gsignal profil sprofil setitimer alarm ualarm "},
    {"looks at stacks and threads that are not its own", " backtrace __backtrace backtrace_symbols pthread_getattr_np pthread_setname_np getcontext setcontext makecontext swapcontext unw_getcontext _Unwind_Backtrace _Unwind_ForcedUnwind _Unwind_FindEnclosingFunction "},
    {"looks at what its process was started with", " environ __environ _environ program_invocation_name program_invocation_short_name __progname __progname_full "},
    {"sets clocks or limits", " setrlimit setrlimit64 prlimit prlimit64 clock_settime clock_adjtime settimeofday adjtime adjtimex sched_setscheduler sched_setparam pthread_setschedparam setpriority nice "}};

// Of C++: streams on files.
constexpr std::array<std::string_view, 5> kFileStreams = {"_ZNSt13basic_filebuf", "_ZNSt14basic_ifstream", "_ZNSt14basic_ofstream", "_ZNSt13basic_fstream", "_ZNSt10filesystem"};

std::string_view what_it_does(const std::string& name) {
  const std::string word = " " + name + " ";
  for (const Import& row : kImports)
    if (row.names.find(word) != std::string_view::npos) return row.does;
  if (name.starts_with("kforge_")) return "speaks to the harness";
  if (name.starts_with("_dl_")) return kImports[0].does;
  const bool file = std::any_of(kFileStreams.begin(), kFileStreams.end(), [&](std::string_view start) { return name.starts_with(start); });
  return file ? "opens files" : std::string_view();
}

}  // namespace

bool is_forbidden_symbol(const std::string& name) { return belongs_to_library(name) || belongs_to_c_library(name); }

std::vector<std::string> forbidden_symbols(const ElfFile& object, const std::string& launcher) {
  std::vector<std::string> out;
  for (const ElfSymbol& symbol : object.dynamic_symbols()) {
    if (!symbol.defined || symbol.hidden || symbol.name.empty() || symbol.name == "kforge_call" || symbol.name == launcher) continue;
    if (is_forbidden_symbol(symbol.name)) out.push_back(symbol.name);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> forbidden_imports(const ElfFile& object) {
  std::vector<std::string> out;
  for (const ElfSymbol& symbol : object.dynamic_symbols()) {
    const std::string_view does = symbol.defined ? std::string_view() : what_it_does(symbol.name);
    if (!does.empty()) out.push_back(fmt::format("{} ({})", symbol.name, does));
  }
  if (object.executable_stack()) out.emplace_back("a stack that code runs from (changes what memory may be used for)");
  if (object.writable_code()) out.emplace_back("code that can be written over (changes what memory may be used for)");
  std::sort(out.begin(), out.end());
  return out;
}

bool starts_threads(const ElfFile& object) {
  constexpr std::string_view kStarters = " pthread_create thrd_create timer_create mq_notify lio_listio lio_listio64 getaddrinfo_a ";
  const auto symbols = object.dynamic_symbols();
  return std::any_of(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    if (symbol.defined) return false;
    const std::string_view name = symbol.name;
    const bool in_order = name.starts_with("aio_") || name.starts_with("GOMP_") || name.starts_with("__kmpc_") || name.starts_with("_ZNSt6thread15_M_start_thread");
    return in_order || kStarters.find(" " + symbol.name + " ") != std::string_view::npos;
  });
}

}  // namespace kforge::build
