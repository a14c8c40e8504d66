#include "hardware/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kforge::hardware {
namespace {

double hertz(const DataSheet& s) { return s.boost_mhz * 1e6; }
double clocks(const DataSheet& s) { return s.multiprocessors * hertz(s); }  // SM clocks per second, of all SMs
double amount(double value) { return std::isfinite(value) && value > 0 ? value : 0; }
double seconds(double work, double per_second) { return work > 0 && per_second > 0 ? work / per_second : 0; }

// Tensor cores do exact fp64 and fp16 products too, so the faster of both units bounds such work.
double fp64_rate(const DataSheet& s, const Work&) {
  return std::max(2 * s.fp64_lanes * clocks(s), tensor_ops_per_s(s, "f64"));
}
double fp32_rate(const DataSheet& s, const Work&) { return fp32_ops_per_s(s); }
double fp16_rate(const DataSheet& s, const Work&) {
  return std::max(2 * std::max(s.fp16_lanes, s.fp32_lanes) * clocks(s), tensor_ops_per_s(s, "f16"));
}
// IADD3 and IMAD do two operations, and IMAD runs on the fp32 pipe beside the integer one; issue is the bound of both.
double int_rate(const DataSheet& s, const Work&) {
  return 2 * std::min(2 * s.int32_lanes, std::max(32.0 * s.schedulers_per_sm, s.int32_lanes)) * clocks(s);
}
double special_rate(const DataSheet& s, const Work&) { return s.special_lanes * clocks(s); }
double tensor_rate(const DataSheet& s, const Work& work) {
  if (double rate = tensor_ops_per_s(s, work.tensor_type); rate > 0) return rate;
  double best = fp32_ops_per_s(s);
  for (const auto& [type, ops] : s.tensor_ops) best = std::max(best, ops * clocks(s));
  return best;
}
double dram_rate(const DataSheet& s, const Work&) { return s.dram_bytes_per_s; }
double l2_rate(const DataSheet& s, const Work&) { return s.l2_bytes_per_s; }

struct Term {
  const char* name;
  double Work::*work;
  double (*per_second)(const DataSheet&, const Work&);
  double Floor::*total;
};
constexpr std::array kTerms{
    Term{"dram", &Work::dram_bytes, dram_rate, &Floor::dram_seconds},
    Term{"l2", &Work::l2_bytes, l2_rate, &Floor::l2_seconds},
    Term{"fp32", &Work::fp32_ops, fp32_rate, &Floor::compute_seconds},
    Term{"fp64", &Work::fp64_ops, fp64_rate, &Floor::compute_seconds},
    Term{"fp16", &Work::fp16_ops, fp16_rate, &Floor::compute_seconds},
    Term{"int", &Work::int_ops, int_rate, &Floor::compute_seconds},
    Term{"special", &Work::special_ops, special_rate, &Floor::compute_seconds},
    Term{"tensor", &Work::tensor_ops, tensor_rate, &Floor::compute_seconds},
};

}  // namespace

double fp32_ops_per_s(const DataSheet& sheet) { return 2 * sheet.fp32_lanes * clocks(sheet); }

double tensor_ops_per_s(const DataSheet& sheet, const std::string& type) {
  auto found = sheet.tensor_ops.find(type == "e5m2" ? "e4m3" : type);  // both fp8 formats run at one rate
  return found == sheet.tensor_ops.end() ? 0 : found->second * clocks(sheet);
}

Floor roofline(const DataSheet& sheet, const Work& work) {
  Floor floor;
  for (const Term& term : kTerms) {
    double time = seconds(amount(work.*term.work), term.per_second(sheet, work));
    floor.*term.total = std::max(floor.*term.total, time);
    if (time <= floor.seconds) continue;
    floor.seconds = time;
    floor.bound = term.name;
  }
  return floor;
}

}  // namespace kforge::hardware
