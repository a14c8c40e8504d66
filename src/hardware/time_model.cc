#include "hardware/time_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kforge::hardware {
namespace {

constexpr double kSector = 32, kLine = 128;      // bytes; CUDA C++ Programming Guide 13.0, Global Memory
// From the end of one kernel to the first instruction of the next, and the drain of the last block. No data sheet states it; about
// what an empty kernel is seen to take.
constexpr double kLaunchSeconds = 1.0e-6;
// An L1 takes 64 bytes a clock from L2 (NVIDIA Tesla V100 architecture white paper, and unchanged since): what few blocks can pull.
constexpr double kFillBytesPerClock = 64;
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
  double hertz = 0, sms = 0;
  double launches = 1, blocks = 0, active_sms = 0;
  double imbalance = 1;      // blocks on the busiest SM over the mean
  double resident = 0;       // blocks at once, device
  double waves = 0;
  double lanes_used = 1;     // active lanes of an instruction over 32
  double l2_bytes = 0, dram_bytes = 0, sectors_after_l1 = 0;

  double sm_seconds(double cycles) const { return cycles / (sms * hertz) * imbalance; }   // cycles of one SM, spread over all
};

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

Context prepare(const DataSheet& sheet, const KernelWork& work) {
  Context c{sheet, work};
  c.hertz = sheet.boost_mhz * 1e6;
  c.sms = std::max(1, sheet.multiprocessors);
  c.launches = std::max(1.0, work.launches);
  c.blocks = std::max(1.0, work.blocks);
  c.active_sms = std::min(c.sms, c.blocks);
  c.imbalance = std::ceil(c.blocks / c.sms) / (c.blocks / c.sms);
  c.resident = std::min(c.blocks, c.sms * std::max(1, work.blocks_per_sm));
  c.waves = std::ceil(c.blocks / (c.sms * std::max(1, work.blocks_per_sm)));
  c.lanes_used = work.warp_instructions > 0 ? std::clamp(work.thread_instructions / (32 * work.warp_instructions), 1.0 / 32, 1.0) : 1.0;
  return c;
}

// Sectors that leave L1. Neighbouring requests share sectors while the lines of all resident warps fit (spatial re-use); re-use of a
// block's own data hits while the blocks of an SM fit together (temporal re-use, known only where sectors_per_block was counted).
void estimate_l1(Context& c) {
  const KernelWork& w = c.work;
  const double packed = (w.load_bytes + w.store_bytes) / kSector;
  const double wasted = std::max(0.0, w.global_sectors - packed);
  const double per_request = ratio(w.global_sectors, w.global_requests);
  const double resident_warps = std::max(1, w.blocks_per_sm) * std::ceil(w.threads_per_block / 32);
  const double capacity = std::max(c.sheet.l1_bytes - std::max(1, w.blocks_per_sm) * w.shared_bytes_per_block, 16384.0);
  const double spatial = std::min(1.0, ratio(capacity, resident_warps * std::max(1.0, per_request / 4) * kLine * std::max(1.0, w.independent_loads)));
  double sectors = std::min(w.global_sectors, packed + wasted * (1 - spatial));
  if (w.sectors_per_block >= 0) {
    const double unique = std::min(sectors, w.sectors_per_block * c.blocks * c.launches);
    const double temporal = std::min(1.0, ratio(capacity, std::max(1, w.blocks_per_sm) * w.sectors_per_block * kSector));
    sectors = unique + (sectors - unique) * (1 - temporal);
  }
  c.sectors_after_l1 = sectors;
  c.l2_bytes = sectors * kSector;
}

// Compulsory bytes come from DRAM once. What several waves share is fetched again by each as far as it does not fit in L2.
// Results stay in L2 as far as it holds them.
void estimate_dram(Context& c) {
  const KernelWork& w = c.work;
  const double traffic_read = ratio(w.load_bytes, w.load_bytes + w.store_bytes) * c.l2_bytes;
  const double traffic_write = c.l2_bytes - traffic_read;
  const double reads = std::min(traffic_read, w.compulsory_read_bytes > 0 ? w.compulsory_read_bytes * c.launches : traffic_read);
  const double writes = std::min(traffic_write, w.compulsory_write_bytes > 0 ? w.compulsory_write_bytes * c.launches : traffic_write);
  const auto capacity = static_cast<double>(c.sheet.l2_bytes);
  const double footprint = (reads + writes) / c.launches;
  const double misses = footprint > 0 ? std::max(0.0, 1 - capacity / footprint) : 0;
  const double shared_by = ratio(traffic_read, reads);
  const double again = std::max(0.0, std::min(shared_by, c.waves) - 1);
  c.dram_bytes = reads * (1 + again * misses) + std::max(0.0, writes - capacity);
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
double shared(const Context& c) { return c.sm_seconds(c.work.shared_wavefronts); }
// A line of up to four sectors is looked up in a clock; wasted sectors lie in lines of their own.
double l1(const Context& c) {
  const KernelWork& w = c.work;
  const double ideal = std::min(w.global_sectors, w.global_sectors_ideal);
  return c.sm_seconds(ideal * kSector / kLine + (w.global_sectors - ideal));
}
double l2(const Context& c) {
  const double rate = std::min(c.sheet.l2_bytes_per_s, c.active_sms * kFillBytesPerClock * c.hertz);
  return ratio(c.l2_bytes, rate);
}
double dram(const Context& c) { return ratio(c.dram_bytes, c.sheet.dram_bytes_per_s); }
double atomics(const Context& c) { return c.sm_seconds(c.work.atomic_requests * 32 * c.lanes_used); }

// Little's law turned round: a warp's own chain of waits, times how often the resident warps are replaced.
double latency(const Context& c) {
  const KernelWork& w = c.work;
  const double warps = c.launches * c.blocks * std::max(1.0, std::ceil(w.threads_per_block / 32));
  const double loads = ratio(w.global_requests * ratio(w.load_bytes, w.load_bytes + w.store_bytes), warps) / std::max(1.0, w.independent_loads);
  const double beyond_l1 = std::min(1.0, ratio(c.sectors_after_l1, w.global_sectors)), beyond_l2 = std::min(1.0, ratio(c.dram_bytes, c.l2_bytes));
  const double wait = c.sheet.l1_latency + beyond_l1 * (c.sheet.l2_latency - c.sheet.l1_latency) + beyond_l1 * beyond_l2 * (c.sheet.dram_latency - c.sheet.l2_latency);
  const double chain = loads * wait + ratio(w.shared_requests, warps) * c.sheet.shared_latency / kIndependentInstructions +
                       ratio(w.warp_instructions, warps) * c.sheet.alu_latency / kIndependentInstructions +
                       ratio(w.barriers, warps) * kBarrierLatencies * c.sheet.alu_latency;
  return c.launches * c.waves * chain / c.hertz;
}

enum class Side : std::uint8_t { arithmetic, memory, other };

struct TermRow {
  std::string_view name, words;
  Side side;
  double (*seconds)(const Context&);
};
constexpr std::array<TermRow, 13> kTerms{{
    {"issue", "instruction issue", Side::arithmetic, issue},
    {"fp32", "the fp32 pipe", Side::arithmetic, fp32},
    {"fp64", "the fp64 pipe", Side::arithmetic, fp64},
    {"fp16", "the fp16 pipe", Side::arithmetic, fp16},
    {"int", "the integer pipe", Side::arithmetic, integers},
    {"special", "the special function units", Side::arithmetic, special},
    {"tensor", "the tensor cores", Side::arithmetic, tensor},
    {"lsu", "the load/store units", Side::other, lsu},
    {"shared", "shared memory bandwidth", Side::other, shared},
    {"l1", "L1 lookups", Side::other, l1},
    {"l2", "L2 bandwidth", Side::memory, l2},
    {"dram", "DRAM bandwidth", Side::memory, dram},
    {"atomics", "atomic operations", Side::other, atomics},
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
                                    &KernelWork::global_sectors, &KernelWork::global_sectors_ideal, &KernelWork::load_bytes, &KernelWork::store_bytes,
                                    &KernelWork::shared_requests, &KernelWork::shared_wavefronts, &KernelWork::local_requests, &KernelWork::atomic_requests,
                                    &KernelWork::barriers})
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
  c.active_sms = c.sms;
  const double moved = work.load_bytes + work.store_bytes, compulsory = work.compulsory_read_bytes + work.compulsory_write_bytes;
  c.l2_bytes = work.global_sectors * kSector;
  c.dram_bytes = compulsory > 0 ? std::min(moved, compulsory) : moved;
  double memory = 0, arithmetic = 0;
  for (const TermRow& row : kTerms) {
    if (row.side == Side::memory) memory = std::max(memory, row.seconds(c));
    if (row.side == Side::arithmetic) arithmetic = std::max(arithmetic, row.seconds(c));
  }
  return memory > arithmetic;
}

ModelledTime model_time(const DataSheet& sheet, const KernelWork& work) {
  Context c = prepare(sheet, work);
  estimate_l1(c);
  estimate_dram(c);
  ModelledTime out;
  out.waves = c.waves;
  out.dram_bytes = c.dram_bytes;
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
  out.us = (longest > 0 ? longest * std::pow(norm, 1 / kOverlap) : 0) * 1e6 + c.launches * kLaunchSeconds * 1e6;
  add(kLaunch, c.launches * kLaunchSeconds, "launch overhead");
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
