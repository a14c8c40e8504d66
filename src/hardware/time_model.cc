#include "hardware/time_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kforge::hardware {
namespace {

constexpr double kSector = 32;      // bytes; CUDA C++ Programming Guide 13.0, Global Memory
// From the start of one kernel to the start of the next in a stream: 64 kB copied 10,000 times over take 2.3 us each on an H200 and 2.7 us on an
// A100 (gpu-benches, gpu-small-kernels/h200_graph.txt and a100_80.txt, first rows).
constexpr double kLaunchSeconds = 2.3e-6;
// Round trips to DRAM that a kernel makes before it is under way where caches are cold: descriptor, parameters, page table, code and the code
// after it. nvbench's cold and batched times of a kernel with next to no work differ by 1.8 us, which is about five.
constexpr double kColdTrips = 5;
// An L1 takes 64 bytes a clock from L2 (NVIDIA Tesla V100 architecture white paper, and unchanged since): what few blocks can pull.
constexpr double kFillBytesPerClock = 64;
// A slice of L2 moves 64 bytes a clock (NVIDIA A100 white paper: 5120 bytes a clock over 80 slices): two sectors of a line, or one that comes
// alone. A sector that is written in part is read, merged and written again, since its check bits cover it whole.
constexpr double kSliceBytesPerClock = 64, kPartialWriteClocks = 2;
// DRAM gives part of its peak: 81% on an H200, 97% on an A100, 98% on an L40 (gpu-benches, gpu-stream). Where the sheet does not say: between.
constexpr double kDramShare = 0.92;
// Turning the bus between reads and writes costs this share of the lesser of the two (the same files, "scale" against "read": 0.1 to 0.3).
constexpr double kTurnaround = 0.2;
// Instructions of one warp that are independent of each other, mean: compiled loops keep about two chains going.
constexpr double kIndependentInstructions = 2;
// A block barrier costs its warps about this many arithmetic latencies.
constexpr double kBarrierLatencies = 5;
// Overlap of resources is not perfect: the terms' p-norm. Two equal terms cost 19% more than one, a tenth costs nothing.
constexpr double kOverlap = 4;

// Quantities that several terms need.
struct Context {
  const DataSheet& sheet;
  const KernelWork& work;
  double hertz = 0, sms = 0, slices = 0;
  double launches = 1, blocks = 0, active_sms = 0, warps_per_block = 1;
  double imbalance = 1;      // blocks on the busiest SM over the mean
  double waves = 0;          // of resident blocks
  double lanes_used = 1;     // active lanes of an instruction over 32
  double read_sectors = 0;   // loads that miss L1
  double l2_bytes = 0, dram_read_bytes = 0, dram_write_bytes = 0;
  double from_dram = 1;      // share of the read sectors

  double sm_seconds(double cycles) const { return cycles / (sms * hertz) * imbalance; }   // cycles of one SM, spread over all
};

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

Context prepare(const DataSheet& sheet, const KernelWork& work) {
  Context c{sheet, work};
  c.hertz = sheet.boost_mhz * 1e6;
  c.sms = std::max(1, sheet.multiprocessors);
  c.slices = std::max(1.0, sheet.l2_bytes_per_s / (kSliceBytesPerClock * c.hertz));
  c.launches = std::max(1.0, work.launches);
  c.blocks = std::max(1.0, work.blocks);
  c.warps_per_block = std::max(1.0, std::ceil(work.threads_per_block / 32));
  c.active_sms = std::min(c.sms, c.blocks);
  c.imbalance = std::ceil(c.blocks / c.sms) / (c.blocks / c.sms);
  c.waves = std::ceil(c.blocks / (c.sms * std::max(1, work.blocks_per_sm)));
  c.lanes_used = work.warp_instructions > 0 ? std::clamp(work.thread_instructions / (32 * work.warp_instructions), 1.0 / 32, 1.0) : 1.0;
  return c;
}

// Compulsory bytes come from DRAM once; what several waves share is fetched again by each as far as it does not fit in L2. Results are
// written back once, by this kernel or by a later one whose data push them out: it is the cost of this one.
void estimate_traffic(Context& c) {
  const KernelWork& w = c.work;
  c.read_sectors = std::max(0.0, w.global_sectors - w.store_sectors) * std::clamp(w.l1_miss, 0.0, 1.0);
  const double traffic_read = c.read_sectors * kSector, traffic_write = w.store_sectors * kSector;
  c.l2_bytes = traffic_read + traffic_write;
  const double reads = w.compulsory_read_bytes >= 0 ? std::min(traffic_read, w.compulsory_read_bytes) : traffic_read;
  const double writes = w.compulsory_write_bytes >= 0 ? std::min(traffic_write, w.compulsory_write_bytes) : traffic_write;
  const double footprint = (reads + writes) / c.launches;
  const double misses = footprint > 0 ? std::max(0.0, 1 - static_cast<double>(c.sheet.l2_bytes) / footprint) : 0;
  const double again = std::max(0.0, std::min(ratio(traffic_read, reads), c.waves) - 1);
  c.dram_read_bytes = reads * (1 + again * misses);
  c.dram_write_bytes = writes;
  c.from_dram = std::min(1.0, ratio(c.dram_read_bytes, traffic_read));
}

// ---- Terms, in seconds

double pipe(const Context& c, double operations, double per_clock) {
  if (operations <= 0) return 0;
  // A unit that the part lacks is emulated on the fp32 pipe at best.
  const double rate = per_clock > 0 ? per_clock : 2 * c.sheet.fp32_lanes;
  return c.sm_seconds(operations / (rate * c.lanes_used));
}

double issue(const Context& c) { return c.sm_seconds(ratio(c.work.warp_instructions, c.sheet.schedulers_per_sm)); }
double fp32(const Context& c) { return pipe(c, c.work.fp32_ops, 2 * c.sheet.fp32_lanes); }
double fp64(const Context& c) { return pipe(c, c.work.fp64_ops, 2 * c.sheet.fp64_lanes); }
double fp16(const Context& c) { return pipe(c, c.work.fp16_ops, 2 * c.sheet.fp16_lanes); }
double integers(const Context& c) { return pipe(c, c.work.int_ops, c.sheet.int32_lanes); }
double special(const Context& c) { return pipe(c, c.work.special_ops, c.sheet.special_lanes); }
double tensor(const Context& c) {
  if (c.work.tensor_ops <= 0) return 0;
  const auto found = c.sheet.tensor_ops.find(c.work.tensor_type);
  return c.sm_seconds(c.work.tensor_ops / (found != c.sheet.tensor_ops.end() ? found->second : 2 * c.sheet.fp32_lanes));
}
double lsu(const Context& c) {
  const KernelWork& w = c.work;
  return c.sm_seconds((w.global_requests + w.shared_requests + w.local_requests) * 32 / std::max(1.0, c.sheet.load_store_lanes));
}
double shared(const Context& c) { return c.sm_seconds(c.work.shared_wavefronts + c.work.shared_atomic_repeats); }
double l1(const Context& c) { return c.sm_seconds(c.work.l1_cycles); }
double l2(const Context& c) {
  const KernelWork& w = c.work;
  // Wasted sectors lie in lines of their own.
  const double sectors_of_line = std::clamp(4 * ratio(w.global_sectors_ideal, w.global_sectors), 1.0, 2.0);
  const double whole_stores = std::max(0.0, w.store_sectors - w.partial_sectors - w.atomic_passes);
  const double clocks = c.read_sectors / sectors_of_line + whole_stores / 2 + w.partial_sectors * kPartialWriteClocks;
  return std::max(clocks / (c.slices * c.hertz), c.l2_bytes / (c.active_sms * kFillBytesPerClock * c.hertz));
}
double dram(const Context& c) {
  const double rate = c.sheet.dram_sustained_bytes_per_s > 0 ? c.sheet.dram_sustained_bytes_per_s : kDramShare * c.sheet.dram_bytes_per_s;
  return (c.dram_read_bytes + c.dram_write_bytes + kTurnaround * std::min(c.dram_read_bytes, c.dram_write_bytes)) / rate;
}
// The passes through a line follow each other: each needs the result of the one before. Those of different lines go on side by side in the slices.
double atomics(const Context& c) {
  return std::max(c.work.hottest_line_passes, c.work.atomic_passes / c.slices) * c.sheet.alu_latency / c.hertz;
}

// Clocks that so many warps, alone on a multiprocessor, keep its busiest unit busy for.
double busy(const Context& c, double warps, double of_all) {
  const KernelWork& w = c.work;
  const double share = warps / of_all, lanes = 32 * c.lanes_used;
  const double schedulers = std::min<double>(c.sheet.schedulers_per_sm, warps);
  return share * std::max({w.warp_instructions / schedulers, w.l1_cycles, w.shared_wavefronts + w.shared_atomic_repeats,
                           w.fp32_ops / (2 * c.sheet.fp32_lanes * lanes / 32), w.special_ops / (c.sheet.special_lanes * lanes / 32),
                           w.int_ops / (c.sheet.int32_lanes * lanes / 32)});
}

// Little's law turned round: a warp's own chain of waits and work, times how often the resident warps are replaced. Where a block's
// warps meet at barriers they wait together, and the block's work takes as long as its multiprocessor needs for it alone.
double latency(const Context& c) {
  const KernelWork& w = c.work;
  const double warps = c.launches * c.blocks * c.warps_per_block;
  const double in_flight = std::max(1.0, w.loads_in_flight);
  const double loads = std::max(0.0, w.global_requests - w.store_requests) / warps;
  const double group = std::min(in_flight, std::max(1.0, loads));
  const double beyond_l1 = std::min(1.0, group * w.l1_miss), beyond_l2 = std::min(1.0, group * w.l1_miss * c.from_dram);
  const double wait = c.sheet.l1_latency + beyond_l1 * (c.sheet.l2_latency - c.sheet.l1_latency) + beyond_l2 * (c.sheet.dram_latency - c.sheet.l2_latency);
  const double own = (w.shared_requests * c.sheet.shared_latency + w.warp_instructions * c.sheet.alu_latency) / warps / kIndependentInstructions +
                     w.barriers / warps * kBarrierLatencies * c.sheet.alu_latency;
  const double chain = loads / group * wait + std::max(own, busy(c, w.barriers > 0 ? c.warps_per_block : 1, warps));
  return c.launches * c.waves * chain / c.hertz;
}

struct TermRow {
  std::string_view name, words;
  bool arithmetic;
  double (*seconds)(const Context&);
};
constexpr std::array<TermRow, 13> kTerms{{
    {"issue", "instruction issue", true, issue},
    {"fp32", "the fp32 pipe", true, fp32},
    {"fp64", "the fp64 pipe", true, fp64},
    {"fp16", "the fp16 pipe", true, fp16},
    {"int", "the integer pipe", true, integers},
    {"special", "the special function units", true, special},
    {"tensor", "the tensor cores", true, tensor},
    {"lsu", "the load/store units", false, lsu},
    {"shared", "shared memory bandwidth", false, shared},
    {"l1", "L1 bandwidth", false, l1},
    {"l2", "L2 bandwidth", false, l2},
    {"dram", "DRAM bandwidth", false, dram},
    {"atomics", "atomic operations", false, atomics},
}};
constexpr std::string_view kLatency = "latency", kLaunch = "launch";

std::string sentence(const ModelledTime& time) {
  if (time.terms.empty()) return "nothing to do";
  const auto one = [](const TimeTerm& term) { return fmt::format("{} ({:.3g} us alone)", term.words, term.us); };
  std::string out = one(time.terms[0]);
  if (time.terms.size() > 1) out += ", next " + one(time.terms[1]);
  return out;
}

void finish(ModelledTime& time) {
  std::stable_sort(time.terms.begin(), time.terms.end(), [](const TimeTerm& a, const TimeTerm& b) { return a.us > b.us; });
  time.bottleneck = sentence(time);
}

}  // namespace

KernelWork scaled(KernelWork work, double factor) {
  for (double KernelWork::*field : {&KernelWork::warp_instructions, &KernelWork::thread_instructions, &KernelWork::fp32_ops, &KernelWork::fp64_ops,
                                    &KernelWork::fp16_ops, &KernelWork::int_ops, &KernelWork::special_ops, &KernelWork::tensor_ops, &KernelWork::global_requests,
                                    &KernelWork::store_requests, &KernelWork::global_sectors, &KernelWork::store_sectors, &KernelWork::global_sectors_ideal,
                                    &KernelWork::partial_sectors, &KernelWork::l1_cycles, &KernelWork::load_bytes, &KernelWork::store_bytes, &KernelWork::shared_requests,
                                    &KernelWork::shared_wavefronts, &KernelWork::shared_atomic_repeats, &KernelWork::local_requests, &KernelWork::atomic_passes,
                                    &KernelWork::hottest_line_passes, &KernelWork::barriers})
    work.*field *= factor;
  return work;
}

double ModelledTime::term(std::string_view name) const {
  const auto found = std::find_if(terms.begin(), terms.end(), [&](const TimeTerm& term) { return term.name == name; });
  return found == terms.end() ? 0 : found->us;
}

bool memory_bound(const DataSheet& sheet, const KernelWork& work) {
  Context c = prepare(sheet, work);
  c.imbalance = c.lanes_used = 1;
  const double moved = work.load_bytes + work.store_bytes, compulsory = work.compulsory_read_bytes + work.compulsory_write_bytes;
  const double l2_rate = std::min(sheet.l2_bytes_per_s, c.sms * kFillBytesPerClock * c.hertz);
  const double memory = std::max(work.global_sectors * kSector / l2_rate, (compulsory > 0 ? std::min(moved, compulsory) : moved) / sheet.dram_bytes_per_s);
  double arithmetic = 0;
  for (const TermRow& row : kTerms)
    if (row.arithmetic) arithmetic = std::max(arithmetic, row.seconds(c));
  return memory > arithmetic;
}

ModelledTime model_time(const DataSheet& sheet, const KernelWork& work) {
  Context c = prepare(sheet, work);
  estimate_traffic(c);
  ModelledTime out;
  out.waves = c.waves;
  out.dram_bytes = c.dram_read_bytes + c.dram_write_bytes;
  out.l2_bytes = c.l2_bytes;
  double longest = 0;
  const auto add = [&](std::string_view name, double seconds, std::string_view words) {
    if (!(seconds > 0) || !std::isfinite(seconds)) return;
    out.terms.push_back({name, seconds * 1e6, words});
    longest = std::max(longest, seconds);
  };
  for (const TermRow& row : kTerms) add(row.name, row.seconds(c), row.words);
  add(kLatency, latency(c), "latency that too few resident warps leave open");
  double norm = 0;
  for (const TimeTerm& term : out.terms) norm += std::pow(term.us * 1e-6 / longest, kOverlap);
  const double start = c.launches * kLaunchSeconds + kColdTrips * sheet.dram_latency / c.hertz;
  out.us = ((longest > 0 ? longest * std::pow(norm, 1 / kOverlap) : 0) + start) * 1e6;
  add(kLaunch, start, "launch overhead");
  finish(out);
  return out;
}

ModelledTime total(const std::vector<ModelledTime>& kernels) {
  ModelledTime out;
  for (const ModelledTime& kernel : kernels) {
    out.us += kernel.us;
    out.dram_bytes += kernel.dram_bytes;
    out.l2_bytes += kernel.l2_bytes;
    out.waves = std::max(out.waves, kernel.waves);
    for (const TimeTerm& term : kernel.terms) {
      const auto found = std::find_if(out.terms.begin(), out.terms.end(), [&](const TimeTerm& t) { return t.name == term.name; });
      if (found == out.terms.end()) out.terms.push_back(term);
      else found->us += term.us;
    }
  }
  finish(out);
  return out;
}

}  // namespace kforge::hardware
