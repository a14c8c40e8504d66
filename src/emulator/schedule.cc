// Which blocks and warps run next, and how a launch that never ends is told from a long one.
//
// The warps of a block run in turn, each for a quantum (run_warp.cc); a few blocks are resident and each runs as far as
// it can, so that their registers stay in the cache. Blocks that wait for others are helped by making more blocks resident, up to
// what the GPU would hold.
//
// A hang is proven when in a whole round over all resident blocks every warp is blocked or spins, and nothing was stored in that round.
//
// A group that sleeps (nanosleep, or a wait for a phase that is not over) is left alone until something is stored. When all others wait too
// it goes on and the clock advances by what it slept, so that a wait with a time-out ends; after kPatience of that, with nothing
// stored, nobody comes any more.
#include "emulator/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <random>

#include "emulator/bulk_ops.h"
#include "emulator/cluster.h"
#include "emulator/handlers.h"
#include "emulator/hang.h"
#include "emulator/run_warp.h"
#include "emulator/sleep.h"
#include "emulator/start_block.h"
#include "emulator/team.h"

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kQuantum = 10'000;        // warp instructions
constexpr std::uint64_t kSuspicious = 1'000;      // the same, when nothing else makes progress
constexpr std::uint64_t kPatience = 20'000'000'000;       // nanoseconds of the emulated clock
constexpr std::uint64_t kPatienceForBlocks = 1'000'000;   // the same, until more blocks are made resident
constexpr std::uint64_t kSleepsTillLonger = 1024;
constexpr std::size_t kResidentBlocks = 8;
constexpr std::size_t kReversedBlocks = 256;     // resident when the youngest runs first

// ---- blocks --------------------------------------------------------------------------------------------------------

// Thread-instructions of the launch so far, those of other workers included.
std::uint64_t all_instructions(const Launch& launch) { return launch.team != nullptr ? launch.team->instructions.load() : launch.thread_instructions; }

constexpr std::uint64_t kWorthTelling = 50'000;   // thread-instructions: workers share the place, and take it from each other

// Somebody outside tells a slow launch from a stuck one by it.
void tell_progress(Launch& launch) {
  if (launch.thread_instructions - launch.told < kWorthTelling) return;
  const std::uint64_t more = launch.thread_instructions - std::exchange(launch.told, launch.thread_instructions);
  if (launch.team != nullptr) launch.team->instructions += more;
  if (launch.progress != nullptr) std::atomic_ref(*launch.progress).store(launch.instructions_before + all_instructions(launch), std::memory_order_relaxed);
}

bool over_instructions(const Launch& launch) { return launch.instruction_limit != 0 && all_instructions(launch) > launch.instruction_limit; }

// Runs every warp of the block in turn until none moves, or for a while. True: something other than spinning happened.
bool run_block(Launch& launch, Block& block, std::uint64_t quantum, std::mt19937_64* random) {
  constexpr int kRounds = 64;
  const WarpRunner run = warp_runner(launch.variant);
  bool any = false;
  for (int round = 0; round < kRounds && block.live_warps != 0; ++round) {
    bool moved = false;
    const std::size_t first = random != nullptr ? (*random)() % block.warps.size() : 0;
    for (std::size_t k = 0; k < block.warps.size(); ++k) {
      Warp& w = block.warps[k + first < block.warps.size() ? k + first : k + first - block.warps.size()];
      if (w.done()) continue;
      const std::uint64_t before = launch.clock;
      const Outcome outcome = run(w, random != nullptr ? quantum / 2 + (*random)() % quantum : quantum);
      tell_progress(launch);
      if (outcome == Outcome::failed) return true;
      moved |= outcome == Outcome::done || outcome == Outcome::quantum || (outcome == Outcome::blocked && launch.clock != before);
    }
    any |= moved;
    if (!moved || over_instructions(launch)) break;
  }
  return any;
}

// ---- the grid ------------------------------------------------------------------------------------------------------

// How many blocks the GPU would hold at once.
std::size_t resident_limit(const Launch& launch) {
  const hardware::DataSheet& sheet = *launch.sheet;
  const int warps = static_cast<int>((launch.threads_per_block + 31) / 32);
  int per_sm = sheet.max_blocks_per_sm > 0 ? sheet.max_blocks_per_sm : 16;
  if (sheet.max_warps_per_sm > 0) per_sm = std::min(per_sm, sheet.max_warps_per_sm / std::max(1, warps));
  if (sheet.shared_bytes_per_sm > 0 && launch.shared_bytes > 0)
    per_sm = std::min(per_sm, sheet.shared_bytes_per_sm / static_cast<int>(launch.shared_bytes));
  return static_cast<std::size_t>(std::max(1, per_sm)) * static_cast<std::size_t>(std::max(1, sheet.multiprocessors));
}

class Grid {
 public:
  Grid(Launch& launch, const ScheduleOptions& options) : launch_(launch), random_(options.seed) {
    seeded_ = options.seed != 0;
    seed_ = options.seed;
    const std::uint64_t all = launch.grid.count();
    in_cluster_ = launch.cluster.count();
    const std::uint64_t sampled = (options.sampled_blocks + in_cluster_ - 1) / in_cluster_ * in_cluster_;
    const std::uint64_t wanted = options.sampled_blocks == 0 ? all : std::min(all, sampled);
    all_ = all;
    total_ = end_ = wanted;
    youngest_first_ = seeded_ && options.seed % 2 == 0;
    target_ = options.cooperative ? static_cast<std::size_t>(total_) : youngest_first_ ? std::min(kReversedBlocks, resident_limit(launch)) : kResidentBlocks;
    limit_ = std::max(target_, resident_limit(launch));
    start_ = std::chrono::steady_clock::now();
  }

  std::uint64_t total() const { return total_; }
  std::uint64_t middle_block() const { return block_at(total_ / 2); }
  std::uint64_t started_blocks() const { return next_; }
  // Only blocks before `end` become resident, unless those cannot go on without the others.
  void admit_until(std::uint64_t end) { end_ = std::min(end, total_); }
  // Every `workers`-th block from `first` + `worker` on.
  void take_share(std::uint64_t first, std::uint32_t worker, std::uint32_t workers) {
    next_ = first + worker;
    stride_ = workers;
    if (seeded_) random_.seed(random_() + worker);
  }

  // Until all blocks that may be admitted have ended, or the launch has.
  void run() {
    std::uint64_t quantum = kQuantum;
    int idle_rounds = 0;
    for (;;) {
      admit();
      if (blocks_.empty() || launch_.failed() || team_stopped()) break;
      const std::uint64_t stores = launch_.stores;
      const bool moved = round(quantum);
      if (launch_.failed()) break;
      if (moved || launch_.stores != stores) {
        quantum = kQuantum;
        idle_rounds = 0;
        slept_ = 0;
        continue;
      }
      if (++idle_rounds < 2) continue;   // a barrier that completed late in the first has released nobody yet
      idle_rounds = 0;
      const bool more = blocks_.size() < limit_ && next_ < total_;
      if (wake_sleepers(more ? kPatienceForBlocks : kPatience)) continue;
      if (more) {
        end_ = total_;
        target_ = std::min<std::size_t>(limit_, std::max<std::size_t>(2 * blocks_.size(), kResidentBlocks));
        quantum = kSuspicious;
        continue;
      }
      declare_hang(launch_, blocks_);
      break;
    }
    for (const auto& block : blocks_)
      if (block->races != nullptr) launch_.races->end_block(block->races);
    if (launch_.failed() || team_stopped()) blocks_.clear();
  }

 private:
  // The k-th block that runs: those of a cluster one after the other.
  std::uint64_t block_at(std::uint64_t k) const {
    if (in_cluster_ == 1) return cluster_at(k);
    return block_of_cluster(launch_.grid, launch_.cluster, cluster_at(k / in_cluster_), static_cast<std::uint32_t>(k % in_cluster_));
  }
  // One cluster (or block, where there are none) out of each of the sampled parts of the grid, whose sizes differ by one at most: the seed says which, so that a kernel
  // cannot know the blocks that are looked at. The parts have no block in common: no block runs twice.
  std::uint64_t cluster_at(std::uint64_t k) const {
    if (total_ == all_) return k;
    const std::uint64_t first = start_of_part(k), blocks = start_of_part(k + 1) - first;
    return first + (seeded_ ? std::mt19937_64(seed_ + k)() % blocks : 0);
  }
  // REQUIRES: fewer than 2^32 parts.
  std::uint64_t start_of_part(std::uint64_t k) const {
    const std::uint64_t all = all_ / in_cluster_, parts = total_ / in_cluster_;
    return k * (all / parts) + k * (all % parts) / parts;
  }
  void join_cluster(Block& block) {
    if (in_cluster_ == 1 && !launch_.kernel->meets_cluster) return;
    if (next_ % in_cluster_ == 0) {
      joining_ = std::make_shared<Cluster>();
      joining_->number = next_ / in_cluster_;
    }
    joining_->blocks.push_back(&block);
    block.cluster = joining_;
  }
  // A block whose others still run stays, for they may reach into it.
  static bool has_ended(const Block& block) {
    if (block.cluster == nullptr) return block.live_warps == 0;
    return std::all_of(block.cluster->blocks.begin(), block.cluster->blocks.end(), [](const Block* other) { return other->live_warps == 0; });
  }
  void admit() {
    for (; (blocks_.size() < target_ || next_ % in_cluster_ != 0) && next_ < end_; next_ += stride_) {
      std::unique_ptr<Block> used;
      if (!ended_.empty()) {
        used = std::move(ended_.back());
        ended_.pop_back();
      }
      blocks_.push_back(start_block(launch_, block_at(next_), std::move(used)));
      join_cluster(*blocks_.back());
    }
  }

  // False: nobody sleeps, or all have for `patience` nanoseconds.
  bool wake_sleepers(std::uint64_t patience) {
    std::uint32_t shortest = ~0u;
    const auto sleeps = [&](const Group& group) { return sleep_of(group) != 0 && group.spun_at == launch_.stores; };
    const auto each = [&](auto f) {
      for (const auto& block : blocks_)
        for (Warp& w : block->warps)
          for (Group& group : w.groups)
            if (sleeps(group)) f(group);
    };
    each([&](Group& group) { shortest = std::min(shortest, sleep_of(group)); });
    if (shortest == ~0u || slept_ >= patience) return false;
    // Longer and longer, so that many short sleeps come to an end; a launch needs thousands of them, and no store between, to notice.
    const std::uint64_t passed = std::max<std::uint64_t>(shortest, slept_ / kSleepsTillLonger);
    launch_.clock += passed;
    slept_ += passed;
    each([&](Group& group) {
      set_sleep(group, static_cast<std::uint32_t>(sleep_of(group) - std::min<std::uint64_t>(sleep_of(group), passed)));
      if (sleep_of(group) == 0) group.spun_at = ~std::uint64_t{0};
    });
    return true;
  }

  // A worker's findings end the team: the blocks run again one after the other.
  bool team_stopped() {
    if (launch_.team == nullptr) return false;
    if (launch_.team->keeps_memory && (!launch_.violations->empty() || !launch_.origins->empty())) launch_.team->stop = true;
    return launch_.team->stop;
  }

  bool round(std::uint64_t quantum) {
    bool moved = false;
    const std::size_t count = blocks_.size();
    const std::size_t first = seeded_ ? random_() % count : 0;
    for (std::size_t k = 0; k < count && !launch_.failed() && !team_stopped(); ++k) {
      Block& block = *blocks_[youngest_first_ ? count - 1 - k : (k + first) % count];
      moved |= run_block(launch_, block, quantum, seeded_ ? &random_ : nullptr);
      check_limits();
    }
    std::vector<Block*> over;
    for (const auto& block : blocks_)
      if (has_ended(*block)) over.push_back(block.get());
    for (Block* block : over) end_bulk(*block);
    std::erase_if(blocks_, [&](std::unique_ptr<Block>& block) {
      if (std::find(over.begin(), over.end(), block.get()) == over.end()) return false;
      if (block->races != nullptr) launch_.races->end_block(block->races);
      moved = true;
      // Starting a small block from nothing costs as much as running it. What observers keep with a block is not taken over.
      if (!launch_.safety && ended_.size() < kResidentBlocks) ended_.push_back(std::move(block));
      return true;
    });
    return moved;
  }

  void check_limits() {
    if (launch_.failed() || !over_instructions(launch_)) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (seconds <= launch_.seconds_limit) return;
    launch_.status = LaunchStatus::limit;
    launch_.detail = fmt::format("budget exceeded in {}: {} thread-instructions in {:.1f} s; nothing wrong was seen", launch_.kernel->info.name, launch_.thread_instructions, seconds);
  }

  Launch& launch_;
  std::deque<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Block>> ended_;   // whose memory the next ones take
  std::mt19937_64 random_;
  bool seeded_ = false, youngest_first_ = false;
  std::uint64_t seed_ = 0;
  std::uint64_t next_ = 0, end_ = 0, total_ = 0, all_ = 0, stride_ = 1;
  std::uint64_t slept_ = 0;   // nanoseconds since something moved
  std::uint64_t in_cluster_ = 1;
  std::shared_ptr<Cluster> joining_;   // whose blocks become resident now
  std::size_t target_ = kResidentBlocks, limit_ = kResidentBlocks;
  std::chrono::steady_clock::time_point start_;
};

constexpr std::uint64_t kTrialBlocks = 2;                 // tell how long the others will take
constexpr double kLeastSeconds = 0.005;                   // of one core: for less a team is not called together
constexpr double kMostSaved = 1e9;                        // bytes
constexpr double kWorthSaving = 20;                       // times what saving costs: below, launches without observers go without
constexpr double kBytesPerSecond = 2e9;                   // of saving memory, and putting it back

// The rest of the grid on several cores, when it is worth it. True: done, or the limit was reached.
bool run_with_team(Launch& launch, const ScheduleOptions& options, Grid& grid) {
  const auto start = std::chrono::steady_clock::now();
  grid.admit_until(kTrialBlocks);
  grid.run();
  const std::uint64_t first = grid.started_blocks();
  if (launch.failed() || first >= grid.total()) return true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double rest = seconds / static_cast<double>(first) * static_cast<double>(grid.total() - first);
  const auto saved = static_cast<double>(bytes_to_save(launch));
  const double cost = 2 * saved / kBytesPerSecond;
  const bool keeps_memory = launch.safety || launch.profile || (saved <= kMostSaved && rest >= kWorthSaving * cost);
  if (rest < kLeastSeconds || (keeps_memory && (rest < cost || saved > kMostSaved))) return false;
  const TeamOutcome outcome = run_team(launch, options.workers, keeps_memory, [&](Launch& own, std::uint32_t worker, std::uint32_t workers) {
    Grid share(own, options);
    share.take_share(first, worker, workers);
    share.run();
  });
  return outcome != TeamOutcome::unclean;
}

}  // namespace

void run_grid(Launch& launch, const ScheduleOptions& options) {
  Grid grid(launch, options);
  launch.traced_block = grid.middle_block();
  const bool teams = options.workers > 1 && !options.cooperative && grid.total() > 4 * kTrialBlocks && (!launch.safety || launch.races->uses_epochs()) && has_independent_blocks(launch);
  if (!teams || !run_with_team(launch, options, grid)) {
    grid.admit_until(grid.total());
    grid.run();
  }
  add_segment_runs(launch);
}

}  // namespace kforge::emulator
