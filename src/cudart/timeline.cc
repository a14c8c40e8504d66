#include "cudart/timeline.h"

#include <algorithm>
#include <utility>

namespace kforge::cudart {

void Clock::join(const Clock& other) {
  if (ticks.size() < other.ticks.size()) ticks.resize(other.ticks.size());
  for (std::size_t i = 0; i < other.ticks.size(); ++i) ticks[i] = std::max(ticks[i], other.ticks[i]);
  us = std::max(us, other.us);
}

Timeline::Timeline() { streams_.push_back({StreamSort::legacy, {}, {}}); }

StreamIndex Timeline::create(StreamSort sort) {
  streams_.push_back({sort, host_, {}});
  return static_cast<StreamIndex>(streams_.size() - 1);
}

void Timeline::settle(StreamIndex index) {
  Stream& stream = streams_[index];
  stream.clock.join(host_);
  if (stream.sort == StreamSort::blocking) stream.clock.join(streams_[kLegacy].clock);
  if (stream.sort != StreamSort::legacy) return;
  for (const Stream& other : streams_)
    if (other.sort == StreamSort::blocking) stream.clock.join(other.clock);
}

void Timeline::issue(StreamIndex index, std::string what, double us) {
  settle(index);
  Stream& stream = streams_[index];
  if (stream.clock.ticks.size() <= index) stream.clock.ticks.resize(index + 1);
  const std::uint64_t tick = ++stream.clock.ticks[index];
  stream.clock.us += us;
  if (!in_call_) return;
  const bool forked = index == given_ || stream.clock.of(given_) >= given_tick_;
  stream.operations.push_back({tick, std::move(what), forked});
}

Clock Timeline::record(StreamIndex stream) {
  settle(stream);
  return streams_[stream].clock;
}

void Timeline::wait(StreamIndex stream, const Clock& event) { streams_[stream].clock.join(event); }
void Timeline::host_waits_for(StreamIndex stream) { host_.join(record(stream)); }

void Timeline::host_waits_for_all() {
  for (const Stream& stream : streams_) host_.join(stream.clock);
}

void Timeline::begin_call(StreamIndex given) {
  for (Stream& stream : streams_) stream.operations.clear();
  in_call_ = false;
  issue(given, {}, 0);
  given_ = given;
  given_tick_ = streams_[given].clock.of(given);
  in_call_ = true;
}

std::vector<Timeline::Fault> Timeline::end_call() {
  in_call_ = false;
  const Clock covered = record(given_);
  std::vector<Fault> faults;
  for (StreamIndex index = 0; index < streams_.size(); ++index) {
    auto& operations = streams_[index].operations;
    const auto report = [&](Fault::Kind kind, auto&& is_fault) {
      const auto first = std::find_if(operations.begin(), operations.end(), is_fault);
      if (first == operations.end()) return;
      const auto count = static_cast<std::uint64_t>(std::count_if(first, operations.end(), is_fault));
      faults.push_back({kind, first->what, index, count});
    };
    if (index == given_) continue;
    report(Fault::Kind::not_joined, [&](const Operation& operation) { return operation.tick > covered.of(index); });
    report(Fault::Kind::not_forked, [](const Operation& operation) { return !operation.forked; });
  }
  for (Stream& stream : streams_) stream.operations.clear();
  return faults;
}

}  // namespace kforge::cudart
