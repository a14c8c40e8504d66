// A run that was ended at any point goes on exactly: nothing is repeated, nothing is lost, and it ends where an undisturbed one does.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include <gtest/gtest.h>

#include "forge/fake_world_test.h"

namespace kforge::forge {
namespace {

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() : folder_(test_folder("resume-test")) {}
  std::vector<std::string> undisturbed() {
    FakeRun run(folder_.path() / "undisturbed");
    EXPECT_TRUE(run.go());
    return run.story();
  }
  TemporaryDirectory folder_;
};

TEST_F(ResumeTest, GoesOnAfterAnInterruptAtAnyPoint) {
  const auto expected = undisturbed();
  for (int after = 0; after < 26; after += 3) {
    const auto folder = folder_.path() / std::to_string(after);
    std::map<std::string, int> kept;   // verdicts that the store has
    {
      FakeRun run(folder);
      std::atomic<int> verdicts{0};
      run.setting.jobs = 2;
      run.setting.interrupted = [&] { return verdicts >= after; };
      run.before_verdict = [&] { ++verdicts; };
      ASSERT_TRUE(run.go());
      EXPECT_EQ(run.journal->row().outcome, "interrupted");
      for (const Entry& e : run.journal->entries())
        if (e.judged) kept[e.candidate.id] = 1;
    }
    FakeRun run(folder);
    ASSERT_TRUE(run.go());
    EXPECT_EQ(run.story(), expected) << "interrupted after " << after;
    EXPECT_EQ(run.journal->row().outcome, "exhausted");
    for (const auto& [id, times] : run.judged)
      EXPECT_LE(times + (kept.count(id) ? 1 : 0), id == run.journal->row().winner ? 2 : 1) << "judged again after " << after;
  }
}

TEST_F(ResumeTest, AFinishedRunStaysAsItIs) {
  FakeRun run(folder_.path() / "s");
  ASSERT_TRUE(run.go());
  FakeRun again(folder_.path() / "s");
  ASSERT_TRUE(again.go());
  EXPECT_EQ(again.story(), run.story());
  EXPECT_TRUE(again.judged.empty());
}

// Ten kills at random moments, each of a process that goes on with the run.
TEST_F(ResumeTest, GoesOnAfterTenKills) {
  const auto expected = undisturbed();
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto folder = folder_.path() / "killed";
  const auto work = [&](int delay_ms) {
    FakeRun run(folder);
    run.setting.jobs = 2;
    run.delay_ms = delay_ms;
    return run.go().has_value();
  };
  int killed = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work(6) ? 0 : 1);
    ::usleep(static_cast<useconds_t>(std::uniform_int_distribution<int>(2'000, 90'000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    EXPECT_TRUE(WIFSIGNALED(status) || status == 0);
  }
  EXPECT_GT(killed, 0);
  FakeRun run(folder);
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.story(), expected) << killed << " kills";
  EXPECT_EQ(run.winner_text(), "a=7 b=3");
}

// Two runs at once on one store do not disturb each other.
TEST_F(ResumeTest, SharesAStoreWithAnotherRun) {
  const auto expected = undisturbed();
  const auto folder = folder_.path() / "shared";
  { FakeRun make_it(folder); }
  pid_t children[2];
  for (int who = 0; who < 2; ++who) {
    children[who] = ::fork();
    if (children[who] != 0) continue;
    FakeRun run(folder, who == 0 ? "first" : "second");
    run.setting.jobs = 2;
    run.delay_ms = 2;
    ::_exit(run.go() && run.story() == expected ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace kforge::forge
