#include "judge/operand_use.h"

#include <cmath>

namespace kforge::judge {
namespace {

constexpr double kFewestElements = 8;
constexpr double kSeen = 8;                // times what f32 may lose: by how much the reference must change
constexpr double kSlope = 0.93, kErrors = 5;

}  // namespace

void OperandUse::see(const std::string& operand, const std::string& output, const std::string& where, bool second, std::vector<double> out, std::vector<double> reference, double allowed) {
  Sums& sums = sums_[{operand, output, where}];
  if (!second) {
    sums.out = std::move(out);
    sums.reference = std::move(reference);
    return;
  }
  if (sums.out.size() != out.size() || sums.reference.size() != reference.size() || out.size() != reference.size()) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double e = out[i] - sums.out[i], d = reference[i] - sums.reference[i];
    if (!std::isfinite(e) || !std::isfinite(d)) continue;
    sums.ed += e * d;
    sums.dd += d * d;
    sums.ee += e * e;
    sums.elements += 1;
  }
  sums.allowed += allowed * allowed;
  sums.out.clear();
  sums.reference.clear();
}

std::optional<OperandUse::Blind> OperandUse::blind() const {
  std::optional<Blind> out;
  for (const auto& [names, sums] : sums_) {
    if (sums.elements < kFewestElements || sums.dd <= kSeen * kSeen * sums.allowed || sums.dd == 0) continue;
    const double slope = sums.ed / sums.dd;
    const double rest = std::max(0.0, sums.ee - slope * sums.ed);   // ||e - slope d||^2
    const double error = std::sqrt(rest / sums.dd / sums.elements);
    if (slope + kErrors * error < kSlope && (!out || slope < out->slope)) out = Blind{std::get<0>(names), std::get<1>(names), slope};
  }
  return out;
}

}  // namespace kforge::judge
