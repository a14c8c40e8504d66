// libkforge_fork_server.so: preloaded into a compiler, makes a fork server of it (fork_server.h).
//
// The compiler runs as ever until it wants to read past a place in one named file. There it stops and serves: for each request it forks,
// and the child goes on in the request's folder with the request's file, as if it had been started for that alone. What the compiler
// computed so far, which is the headers that every candidate includes, is computed once.
//
// Files that the compiler has opened for writing by then are made by the children: until then what is written is kept.
// Between the server and a child stands a watcher, which reports the child's end, and kills it when nobody waits any more.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "build/fork_server/protocol.h"

namespace {

using namespace kforge::build;

bool forked = false;      // this process is a child that does a request's work
ForkRequest request;      // the one that it does

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Memory of the compiler's own C library; it may have an operator new of its own.
template <class T>
T* make() {
  auto* made = static_cast<T*>(std::malloc(sizeof(T)));
  if (!made) ::abort();
  return ::new (static_cast<void*>(made)) T;
}

// Not open(), which is ours below.
int open_file(const char* path, int flags) { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666)); }

bool is_fork_file(const char* path) {
  const char* name = ::getenv(kForkFileVariable);
  return name && path && std::strcmp(name, path) == 0;
}

// The descriptor for the report, or -1 when there will be no more requests.
int receive(ForkRequest& out) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part{&out, sizeof out};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  while ((got = ::recvmsg(kForkServerFd, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (got != sizeof out || !header || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

void begin_work(int report, pid_t watcher) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(report);
  if (::getppid() != watcher || ::chdir(request.folder) != 0) ::_exit(126);
  const int output = open_file(request.output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  if (output < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) ::_exit(126);
  ::close(output);
  if (request.memory_bytes > 0) {
    const rlimit limit{request.memory_bytes, request.memory_bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(126);
  }
  if (request.cpu_seconds > 0) {
    const rlimit limit{request.cpu_seconds, request.cpu_seconds + 1};
    if (::setrlimit(RLIMIT_CPU, &limit) != 0) ::_exit(126);
  }
}

[[noreturn]] void watch(pid_t program, int report) {
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, program, 0));
  pollfd waits[] = {{ended, POLLIN, 0}, {report, 0, 0}};   // POLLHUP of `report`: whoever asked is gone
  while (ended >= 0 && ::poll(waits, 2, -1) < 0 && errno == EINTR) {}
  if (ended < 0 || waits[1].revents) ::kill(-program, SIGKILL);
  ForkReport out;
  while (::wait4(program, &out.wait_status, 0, &out.usage) < 0 && errno == EINTR) {}
  if (ended >= 0) static_cast<void>(!::send(report, &out, sizeof out, MSG_NOSIGNAL));
  ::_exit(0);   // without a report this server is of no use, and whoever asked sees that
}

// Returns in the children alone.
void serve() {
  if (::send(kForkServerFd, &kForkReady, 1, MSG_NOSIGNAL) != 1) ::_exit(0);
  for (;;) {
    const int report = receive(request);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {}   // watchers: their time is ours, and our parent's in turn
    if (report < 0) ::_exit(0);
    if (::fork() == 0) {
      ::close(kForkServerFd);
      const pid_t watcher = ::getpid(), program = ::fork();
      if (program < 0) ::_exit(1);
      if (program == 0) {
        begin_work(report, watcher);
        forked = true;
        return;
      }
      ::setpgid(program, program);
      watch(program, report);
    }
    ::close(report);
  }
}

// A file that is read to the place where all stop, and after it in the request's file.
struct Source {
  int fd = -1;
  off64_t offset = 0, stop = 0;
};

ssize_t read_source(void* cookie, char* buffer, std::size_t size) {
  Source& source = *static_cast<Source*>(cookie);
  if (!forked && source.offset >= source.stop) {
    serve();
    ::close(source.fd);
    source.fd = open_file(request.file, O_RDONLY);
    if (source.fd < 0) ::_exit(126);
  }
  if (!forked) size = static_cast<std::size_t>(std::min<off64_t>(static_cast<off64_t>(size), source.stop - source.offset));
  const ssize_t got = ::pread64(source.fd, buffer, size, source.offset);
  if (got > 0) source.offset += got;
  return got;
}

int seek_source(void* cookie, off64_t* offset, int whence) {
  Source& source = *static_cast<Source*>(cookie);
  if (whence == SEEK_END || (whence == SEEK_SET && *offset > source.offset)) return -1;
  source.offset = *offset = whence == SEEK_CUR ? source.offset + *offset : *offset;
  return 0;
}

int close_source(void* cookie) {
  Source* source = static_cast<Source*>(cookie);
  ::close(source->fd);
  std::free(source);
  return 0;
}

// A file to be written: kept in memory until a child writes to it or closes it.
struct Sink {
  char* path = nullptr;
  char* kept = nullptr;
  std::size_t size = 0;
  int fd = -1;
};

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) data += n, size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool open_sink(Sink& sink) {
  if (sink.fd >= 0) return true;
  sink.fd = open_file(sink.path, O_WRONLY | O_CREAT | O_TRUNC);
  return sink.fd >= 0 && write_all(sink.fd, sink.kept, sink.size);
}

ssize_t write_sink(void* cookie, const char* data, std::size_t size) {
  Sink& sink = *static_cast<Sink*>(cookie);
  if (forked) return open_sink(sink) && write_all(sink.fd, data, size) ? static_cast<ssize_t>(size) : 0;
  char* kept = static_cast<char*>(std::realloc(sink.kept, sink.size + size));
  if (!kept) return 0;
  std::memcpy(kept + sink.size, data, size);
  sink.kept = kept;
  sink.size += size;
  return static_cast<ssize_t>(size);
}

int close_sink(void* cookie) {
  Sink* sink = static_cast<Sink*>(cookie);
  const bool ok = open_sink(*sink) && ::close(sink->fd) == 0;
  std::free(sink->path);
  std::free(sink->kept);
  std::free(sink);
  return ok ? 0 : -1;
}

FILE* open_stream(const char* function, const char* path, const char* mode) {
  const char* bytes = ::getenv(kForkBytesVariable);
  if (!forked && bytes && is_fork_file(path) && mode[0] == 'r') {
    auto* source = make<Source>();
    source->fd = open_file(path, O_RDONLY);
    source->stop = std::atoll(bytes);
    return ::fopencookie(source, "r", {read_source, nullptr, seek_source, close_source});
  }
  if (!forked && ::getenv(kForkFileVariable) && mode[0] == 'w' && !std::strchr(mode, '+')) {
    auto* sink = make<Sink>();
    sink->path = ::strdup(path);
    return ::fopencookie(sink, "w", {nullptr, write_sink, nullptr, close_sink});
  }
  return next<FILE* (*)(const char*, const char*)>(function)(path, mode);
}

// The file may be looked at again: it is the request's ever after.
int open_descriptor(const char* function, const char* path, int flags, mode_t mode) {
  const bool here = is_fork_file(path) && !::getenv(kForkBytesVariable);
  if (here && !forked) serve();
  return next<int (*)(const char*, int, ...)>(function)(here ? request.file : path, flags, mode);
}

mode_t mode_of(int flags, va_list& rest) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; }

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
EXPORTED FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

EXPORTED int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_descriptor("open", path, flags, mode);
}

// What open() becomes where a program was hardened.
EXPORTED int __open_2(const char* path, int flags) { return open_descriptor("open", path, flags, 0); }
EXPORTED int __open64_2(const char* path, int flags) { return open_descriptor("open64", path, flags, 0); }

EXPORTED int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_descriptor("open64", path, flags, mode);
}
