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
    {"finds functions and libraries by name", " dlopen dlmopen dlsym dlvsym dladdr dladdr1 dlinfo dl_iterate_phdr _dl_find_object __libc_dlopen_mode __libc_dlsym "},
    {"changes what memory may be used for", " mprotect pkey_mprotect mmap mmap64 mremap munmap remap_file_pages process_madvise "},
    {"makes system calls of its own", " syscall prctl seccomp personality arch_prctl "},
    {"reaches into other processes", " ptrace process_vm_readv process_vm_writev kill killpg tgkill sigqueue getppid getpgid setpgid setsid waitpid wait wait4 "},
    {"starts processes", " fork vfork clone _Fork posix_spawn posix_spawnp execv execve execvp execvpe execl execlp execle fexecve system popen daemon "},
    {"opens files", " open open64 openat openat64 creat creat64 fopen fopen64 freopen freopen64 fdopen opendir fdopendir readdir readdir64 scandir scandir64 nftw ftw glob readlink "
                    "readlinkat realpath stat stat64 lstat fstatat access shm_open memfd_create tmpfile mkstemp "},
    {"uses descriptors", " read pread pread64 readv preadv write pwrite pwrite64 writev pwritev send sendto sendmsg recv recvfrom recvmsg dup dup2 dup3 close closefrom close_range fcntl fcntl64 ioctl "
                         "lseek lseek64 ftruncate sendfile splice tee vmsplice poll select epoll_create pipe pipe2 "},
    {"uses the network", " socket socketpair connect bind listen accept accept4 getaddrinfo gethostbyname "},
    {"takes over signals", " signal sigaction sigprocmask sigaltstack pthread_sigmask pthread_kill raise bsd_signal sysv_signal "},
    {"looks at stacks and threads that are not its own", " backtrace backtrace_symbols pthread_getattr_np pthread_setname_np getcontext setcontext makecontext swapcontext unw_getcontext _Unwind_Backtrace "},
    {"sets clocks or limits", " setrlimit setrlimit64 prlimit prlimit64 clock_settime settimeofday adjtimex sched_setscheduler setpriority nice "}};

// Of C++: streams on files.
constexpr std::array<std::string_view, 5> kFileStreams = {"_ZNSt13basic_filebuf", "_ZNSt14basic_ifstream", "_ZNSt14basic_ofstream", "_ZNSt13basic_fstream", "_ZNSt10filesystem"};

std::string_view what_it_does(const std::string& name) {
  const std::string word = " " + name + " ";
  for (const Import& row : kImports)
    if (row.names.find(word) != std::string_view::npos) return row.does;
  if (name.starts_with("kforge_")) return "speaks to the harness";
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
