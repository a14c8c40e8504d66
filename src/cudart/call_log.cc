#include "cudart/call_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kforge::cudart {
namespace {

constexpr std::size_t kMostRecords = 512;

}  // namespace

void CallLog::clear() {
  calls_.clear();
  violations_.clear();
}

void CallLog::record(evidence::RuntimeCall call) {
  const auto same = std::find_if(calls_.begin(), calls_.end(), [&](const evidence::RuntimeCall& known) {
    return known.function == call.function && known.kind == call.kind && known.on_given_stream == call.on_given_stream &&
           known.error == call.error && known.detail == call.detail;
  });
  if (same != calls_.end()) same->count += call.count;
  else if (calls_.size() < kMostRecords) calls_.push_back(std::move(call));
}

void CallLog::violate(evidence::Violation violation) {
  const auto same = std::find_if(violations_.begin(), violations_.end(), [&](const evidence::Violation& known) {
    return known.contract == violation.contract && known.kind == violation.kind && known.kernel == violation.kernel &&
           known.message == violation.message;
  });
  if (same != violations_.end()) same->count += violation.count;
  else if (violations_.size() < kMostRecords) violations_.push_back(std::move(violation));
}

void CallLog::move_into(evidence::LaunchLog& log) {
  std::move(calls_.begin(), calls_.end(), std::back_inserter(log.calls));
  std::move(violations_.begin(), violations_.end(), std::back_inserter(log.violations));
  clear();
}

}  // namespace kforge::cudart
