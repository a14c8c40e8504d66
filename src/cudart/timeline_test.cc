// Which launches a caller waits for: every way to join, and every way to forget it.
#include "cudart/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::cudart {
namespace {

using Kind = Timeline::Fault::Kind;

struct Faults : ::testing::Test {
  Timeline timeline;
  StreamIndex given = timeline.create(StreamSort::non_blocking);
  StreamIndex other = timeline.create(StreamSort::non_blocking);
  void fork() { timeline.wait(other, timeline.record(given)); }
  void join() { timeline.wait(given, timeline.record(other)); }
  std::string ended() {
    std::string text;
    for (const auto& fault : timeline.end_call())
      text += (fault.kind == Kind::not_joined ? "unjoined " : "unforked ") + fault.what + "x" + std::to_string(fault.count) + ";";
    return text;
  }
};

TEST_F(Faults, NoneForWorkInTheGivenStream) {
  timeline.begin_call(given);
  timeline.issue(given, "k", 1);
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, NoneForAForkAndAJoin) {
  timeline.begin_call(given);
  fork();
  timeline.issue(other, "k", 1);
  join();
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, AForgottenJoinNamesTheFirstSuchLaunch) {
  timeline.begin_call(given);
  fork();
  timeline.issue(other, "a", 1);
  join();
  timeline.issue(other, "b", 1);
  timeline.issue(other, "c", 1);
  EXPECT_EQ(ended(), "unjoined bx2;");
}

TEST_F(Faults, AForgottenForkIsFoundThoughTheJoinIsThere) {
  timeline.begin_call(given);
  timeline.issue(other, "k", 1);
  join();
  EXPECT_EQ(ended(), "unforked kx1;");
}

TEST_F(Faults, AnEventRecordedTooEarlyCoversNothingLater) {
  timeline.begin_call(given);
  fork();
  const Clock early = timeline.record(other);
  timeline.issue(other, "k", 1);
  timeline.wait(given, early);
  EXPECT_EQ(ended(), "unjoined kx1;");
}

TEST_F(Faults, HostWaitsOrderWhatIsIssuedAfterwards) {
  timeline.begin_call(given);
  timeline.host_waits_for(given);
  timeline.issue(other, "k", 1);
  timeline.host_waits_for(other);
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, WaitingForTheDeviceJoinsAll) {
  timeline.begin_call(given);
  fork();
  timeline.issue(other, "k", 1);
  timeline.host_waits_for_all();
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, LegacyStreamDoesNotJoinANonBlockingOne) {
  timeline.begin_call(given);
  timeline.issue(Timeline::kLegacy, "k", 1);
  EXPECT_EQ(ended(), "unjoined kx1;unforked kx1;");
}

TEST_F(Faults, LegacyAndBlockingStreamsWaitForEachOther) {
  const StreamIndex blocking = timeline.create(StreamSort::blocking);
  timeline.begin_call(blocking);
  timeline.issue(Timeline::kLegacy, "k", 1);
  EXPECT_EQ(ended(), "");
  timeline.begin_call(Timeline::kLegacy);
  timeline.issue(blocking, "k", 1);
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, TwoBlockingStreamsAreJoinedOnlyThroughTheLegacyOne) {
  const StreamIndex a = timeline.create(StreamSort::blocking), b = timeline.create(StreamSort::blocking);
  timeline.begin_call(a);
  timeline.wait(b, timeline.record(a));
  timeline.issue(b, "k", 1);
  EXPECT_EQ(ended(), "unjoined kx1;");
  timeline.begin_call(a);
  timeline.wait(b, timeline.record(a));
  timeline.issue(b, "k", 1);
  timeline.issue(Timeline::kLegacy, "l", 1);
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, JoinsArePassedOn) {
  const StreamIndex third = timeline.create(StreamSort::non_blocking);
  timeline.begin_call(given);
  fork();
  timeline.issue(other, "k", 1);
  timeline.wait(third, timeline.record(other));
  timeline.wait(given, timeline.record(third));
  EXPECT_EQ(ended(), "");
}

TEST_F(Faults, WorkBeforeTheCallIsNoFaultOfTheCall) {
  timeline.issue(other, "before", 1);
  timeline.begin_call(given);
  timeline.issue(given, "k", 1);
  EXPECT_EQ(ended(), "");
}

TEST(Timeline, TimesGrowAlongTheOrder) {
  Timeline timeline;
  const StreamIndex a = timeline.create(StreamSort::non_blocking), b = timeline.create(StreamSort::non_blocking);
  timeline.issue(a, "k", 5);
  const Clock event = timeline.record(a);
  timeline.wait(b, event);
  timeline.issue(b, "k", 2);
  EXPECT_DOUBLE_EQ(timeline.record(b).us, 7);
  EXPECT_DOUBLE_EQ(event.us, 5);
}

}  // namespace
}  // namespace kforge::cudart
