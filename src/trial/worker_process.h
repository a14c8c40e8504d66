// The parent's side of one worker: starts it, asks it, watches its time, and says what became of it.
//
// Whatever the other side does ends in an Answer: a reply, a fault of the process with its contract, or an error of ours.
// The process is killed and waited for at the latest by the destructor. One thread at a time; the thread that starts a
// worker must outlive it (the worker dies with it).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/costs.h"
#include "base/error.h"
#include "base/held_directory.h"
#include "base/unique_fd.h"
#include "trial/trial.h"

namespace kforge::trial {

// Memory that parent and worker share: the worker cannot shrink it, so that reading it is safe. A header (protocol.h), then tensors.
class SharedArena {
 public:
  static Expected<SharedArena> create();
  SharedArena(SharedArena&& other) noexcept;
  SharedArena& operator=(SharedArena&&) = delete;
  ~SharedArena();

  Expected<void> reserve(std::uint64_t bytes);   // old contents stay; addresses change
  std::byte* data() const;                       // of the tensors
  std::uint64_t& progress() const;               // thread-instructions of the running call, written by the other side
  bool waiting() const;                          // the other side waits for a real GPU
  int fd() const { return fd_.get(); }

 private:
  explicit SharedArena(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

struct WorkerOptions {
  bool reference = false;
  std::string program;           // kforge-worker, or another that speaks its protocol
  std::vector<std::string> arguments, environment;   // of another one, before the parent's process id; "NAME=value"
  std::string runtime;           // libcudart; unused by references
  std::string object;
  std::string configure;         // JSON for kforge_cudart_configure
  int inputs_fd = -1;            // of sealed inputs, which the worker may read; -1: none
  bool gpu = false;              // on a real GPU: `runtime` is NVIDIA's
  std::string gpu_uuid, driver;  // which one, and the path of libcuda; "": as the runtime finds them
  std::vector<std::string> libraries;      // further ones whose folders may be read: paths; "" is none
  std::vector<std::string> defences_off;   // names of the sandbox's layers (defences.h); for tests
  std::uint64_t memory_bytes = 8ull << 30;
  double start_seconds = 20;
  CostLedger* costs = nullptr;   // takes the process' time when it has ended; may be null
};

struct Answer {
  bool ok = false;
  std::string json;              // of a reply, without the log
  ProcessFault fault;            // of the candidate's process
  std::string error;             // ours: the worker could not do it
  std::string undecided;         // it was stopped after so long that nobody waits, within its budget of thread-instructions; or somebody outside ended it
  bool from_outside = false;     // undecided because of somebody outside, or because the machine was out of memory
  std::string log = {};          // of a reply: what the emulated runtime saw
};

// What a worker is told at its start, as JSON.
std::string start_text(const WorkerOptions& options);

// What a call may cost: it is over its budget when it is over both (contracts.md, "The verdict").
struct CallLimit {
  double seconds = 20;
  std::uint64_t thread_instructions = 0;   // of the emulated device; 0: the seconds alone count
  std::function<bool()> stop = {};         // asked while waiting: true ends the worker, and the call is undecided
};

class WorkerProcess {
 public:
  // An error when the program cannot be started at all; what goes wrong while loading the object is in started().
  static Expected<std::unique_ptr<WorkerProcess>> start(const WorkerOptions& options);
  ~WorkerProcess();

  const Answer& started() const { return started_; }
  SharedArena& arena() { return arena_; }
  // After a fault, or undecided, the process is gone. See CallWatch for what ends a call.
  Answer call(const std::string& json, CallLimit limit);
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Written by the process to its standard streams so far; only the end of it is kept.
  std::uint64_t printed_bytes() const { return printed_bytes_; }
  // Of the process, as the system knows them: id and name. Empty when it is gone.
  struct Thread {
    std::string id, name;
    std::uint64_t ran_ns = 0;    // on a processor, since it started; 0 where the kernel does not count it
  };
  std::vector<Thread> threads() const;

 private:
  WorkerProcess(SharedArena arena, std::optional<HeldDirectory> folder) : arena_(std::move(arena)), folder_(std::move(folder)) {}
  Answer exchange(std::uint32_t kind, const std::string& json, CallLimit limit);
  Answer ended();                                  // after the socket closed
  Answer reported(std::uint32_t kind, std::uint64_t detail, const std::string& text);
  Answer over_time(double seconds, bool asleep);
  Answer undecidable(std::string why, bool from_outside = false);
  Answer ended_early();
  Answer out_of_patience(double seconds, const CallLimit& limit);
  void drain_output();
  void reap(bool kill);
  bool take_status(int flags);                     // of the process, and its time; false while it runs

  SharedArena arena_;
  std::optional<HeldDirectory> folder_;   // of a process that may write
  UniqueFd socket_, output_;
  pid_t pid_ = -1;
  int status_ = 0;
  std::uint64_t nonce_ = 0, memory_bytes_ = 0;
  const char* stage_ = "";
  CostLedger* costs_ = nullptr;
  double waited_s_ = 0;                            // for its answers
  bool gpu_ = false;
  std::uint64_t printed_bytes_ = 0;
  std::string printed_;                            // the end of what it wrote to its standard streams
  Answer started_;
};

// The worker program and the emulated runtime: beside this program, or in lib/ next to it; $KFORGE_WORKER and
// $KFORGE_CUDART name others. Errors: missing.
Expected<std::string> find_worker_program();
Expected<std::string> find_emulated_runtime();

}  // namespace kforge::trial
