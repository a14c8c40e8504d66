// One contestant of the rung "time" at one size: its worker, its samples, and what they amount to (time.h says what is checked and why).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "trial/time.h"
#include "trial/worker_process.h"

namespace kforge::trial {

class Keeper;

class TimedWorker {
 public:
  TimedWorker(const TimeRequest& request, std::size_t place, const task::Case& run, const CaseLayout& layout, std::mt19937_64& random);

  // The worker's process, which open() starts where nobody has. Errors: the GPU cannot be used.
  Expected<void> start();
  // Asked for the driver's word when this contestant fails; may be null.
  void watch_by(GpuWatch* watch) { gpu_watch_ = watch; }
  // Its buffers for `draws` inputs, which load() brings. Errors: as start().
  Expected<void> open(std::size_t draws);
  void load(std::size_t draw, const std::vector<SharedBytes>& inputs);
  void first_call();             // everything that is loaded and compiled at first use is in it; its outputs are in the arena afterwards
  void measure_empty();
  void warm_up();                // until clocks stand
  void sample_block(bool fetch); // with fetch, the last call's outputs are in the arena afterwards
  // Bursts of calls on different buffers, by this process's clock. `verify` is called with the draw whose outputs lie in `arena`. With a keeper (may be
  // null) the buffers are its own.
  void run_bursts(Keeper* keeper, const std::function<void(std::size_t draw, const std::byte* arena)>& verify);
  std::size_t sets() const { return sets_; }
  std::uint64_t flush_bytes() const { return flush_bytes_; }
  void replay_graph(const std::function<void(std::size_t draw, const std::byte* arena)>& verify);
  void read_settings(bool before); // of the device, around all calls
  // Inputs that no call has had before. `known` is the draw whose references there are, if any: `verify` is then called with it.
  struct Fresh { std::vector<SharedBytes> inputs; std::optional<std::size_t> known; };
  void sample_fresh(const Fresh& fresh, const std::function<void(std::size_t draw, const std::byte* arena)>& verify);
  void watch();                  // what the GPU does in calls, by CUPTI; it is in the process from then on, so that nothing is timed afterwards
  void conclude(std::string_view ended_by);   // of the samples; before bursts and fresh inputs
  TimedContestant finish();

  bool failed() const { return !timing_.failure.empty(); }
  bool goes_on() const;          // neither failed nor slowed down for good
  bool known() const;            // the median is
  void note_verified() { ++timing_.verified; }
  std::size_t last_draw() const { return last_draw_; }
  const std::byte* arena() const;

  // What the candidate did wrong, when it failed.
  const ProcessFault& fault() const { return fault_; }
  const std::string& gpu_error() const { return gpu_error_; }
  const std::string& logged() const { return logged_; }
  int returned() const { return returned_; }

 private:
  struct Flags { bool warm = false, flush = true, empty = false, fetch = false, late = false; };   // late: outputs are taken when the device is quiet
  struct Settings { double set_aside = 0, window = 0; };
  struct Block { std::vector<double> us, launch_us, after_us, host_us; };

  Flags plain() const { return {request_.options.warm, true, false, false, false}; }
  bool on(Defence defence) const { return request_.defences.on(defence); }
  int poison() { return !on(Defence::poison) ? -1 : random_() % 2 ? 0xff : 0x7f; }
  bool works_in_place() const;
  gpu::State state() const;
  void note_threads();
  void fail_with(const Answer& answer);
  void add_what_the_driver_logs();
  Expected<WorkerOptions> options() const;
  std::optional<nlohmann::json> ask(const char* verb, const nlohmann::json& request);
  std::optional<double> go(const nlohmann::json& sets, bool wait, bool shared);   // microseconds by this process's clock
  std::optional<Block> run_block(std::size_t count, Flags flags);
  std::optional<Block> run_block_on(const std::vector<std::size_t>& draws, Flags flags);

  const TimeRequest& request_;
  const std::size_t place_;
  const CaseLayout& layout_;
  std::mt19937_64& random_;
  Timing timing_;
  Activity activity_;
  Doubts doubts_;
  std::unique_ptr<WorkerProcess> worker_;
  std::size_t sets_ = 1, draws_ = 1, block_size_, last_draw_ = 0, discarded_blocks_ = 0;
  std::vector<double> us_, launch_us_, quiet_us_, fresh_us_;
  std::vector<gpu::State> states_;
  bool power_capped_ = false;
  GpuWatch* gpu_watch_ = nullptr;
  ProcessFault fault_;
  std::string gpu_error_, logged_;   // by the runtime's word alone; what the driver logged with it
  int returned_ = 0;
  std::uint64_t flush_bytes_ = 0;
  Settings settings_;
  std::set<std::string> threads_;   // that were there before the object was loaded
};

}  // namespace kforge::trial
