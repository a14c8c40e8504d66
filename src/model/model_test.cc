// Answers of models become candidates or reasons; declared parameters become a space; moves follow from what was tried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/answer.h"
#include "model/moves.h"
#include "model/prompt_text.h"
#include "model/standing.h"
#include "model/sweep_proposer.h"
#include "model/tunables.h"
#include "model/verdict_text.h"

namespace kforge::model {
namespace {

using testing::HasSubstr;
using testing::Not;

task::Task task_named(const std::string& function) {
  task::Task out;
  out.function = function;
  return out;
}

const std::string kKernel =
    "// strategy: one warp a row\n#include <cuda_runtime.h>\n__global__ void k(float* y) { y[0] = 1; }\n"
    "extern \"C\" cudaError_t f(float* y, int n, cudaStream_t stream) {\n  k<<<1, 1, 0, stream>>>(y);\n  return cudaGetLastError();\n}\n";

llm::Answer answer_of(const std::string& text) {
  llm::Answer out;
  out.text = text;
  return out;
}

TEST(Answer, OneFencedFileIsTaken) {
  const auto taken = extract(answer_of("It is slow since ...\n\n```cuda\n" + kKernel + "```\nThat is all."), task_named("f"));
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_EQ(taken->source, kKernel);
  EXPECT_EQ(taken->strategy, "one warp a row");
}

TEST(Answer, OfSeveralBlocksTheLastWithTheLauncherCounts) {
  const auto taken = extract(answer_of("```\n__global__ void piece() {}\n```\n```cpp\n// old\n" + kKernel + "```\n~~~~cuda\n" + kKernel + "~~~~\n```sh\nmake\n```"), task_named("f"));
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_EQ(taken->source, kKernel);
}

TEST(Answer, WhatIsNoKernelIsToldWithItsReason) {
  struct Case { std::string text; const char* reason; };
  for (const Case& c : {Case{"I would use shared memory.", "no fenced code block"}, Case{"```cuda\n" + kKernel, "cut off"}, Case{"```cuda\n__global__ void g() {}\n```", "launcher 'f'"},
                        Case{"```cuda\n// f is what I define\nint g;\n```", "launcher 'f'"}, Case{"", "no fenced code block"}, Case{"```cuda\n#include <cublas_v2.h>\n" + kKernel + "```", "cuBLAS"},
                        Case{"```cuda\n#include <cub/cub.cuh>\n" + kKernel + "```", "CUB"}, Case{"```cuda\n#include \"mine.h\"\n" + kKernel + "```", "file of its own"},
                        Case{"```cuda\n" + kKernel + "void g() { system(\"ls\"); }\n```", "other programs"}, Case{"```cuda\n" + kKernel + "void g() { FILE* x = fopen(\"/x\", \"r\"); }\n```", "files"},
                        Case{"```cuda\n" + kKernel + "void g() { cudaDeviceSynchronize(); }\n```", "synchronisation"}}) {
    const auto taken = extract(answer_of(c.text), task_named("f"));
    ASSERT_FALSE(taken) << c.text;
    EXPECT_EQ(taken.error().code, ErrorCode::bad_input);
    EXPECT_THAT(taken.error().message, HasSubstr(c.reason)) << c.text;
    EXPECT_FALSE(taken.error().hint.empty());
  }
}

TEST(Answer, WordsInCommentsAndStringsDoNothing) {
  EXPECT_TRUE(extract(answer_of("```cuda\n" + kKernel + "// no system() here, \"fopen\" neither\n/* getenv */\nconst char* t = \"printf\";\nint ecosystem;\n```"), task_named("f")));
  task::Task task = task_named("f");
  task.allow = {"sync"};
  EXPECT_TRUE(extract(answer_of("```cuda\n" + kKernel + "void g() { cudaDeviceSynchronize(); }\n```"), task));
}

TEST(Answer, RefusedAndTruncatedOnesAreNoKernels) {
  llm::Answer refused = answer_of("```cuda\n" + kKernel + "```");
  refused.stop = llm::StopReason::refused;
  EXPECT_THAT(extract(refused, task_named("f")).error().message, HasSubstr("refused"));
  llm::Answer cut = answer_of("```cuda\n" + kKernel + "```\nand besid");
  cut.stop = llm::StopReason::length;
  EXPECT_THAT(extract(cut, task_named("f")).error().message, HasSubstr("cut off"));
}

TEST(Answer, AnyTextIsReadWithoutACrash) {
  for (const std::string& text : {std::string("```"), std::string("~~~~~"), std::string("```\n```\n```"), std::string(100'000, '`'), std::string("\0\0```\n\0", 8), std::string("/*"), std::string("\"\\"), std::string("```c\n\"\\\n```")})
    static_cast<void>(extract(answer_of(text), task_named("f")));
}

const std::string kTuned =
    "constexpr int kThreads = 256;  // tune: 128, 256, 512\n"
    "  static constexpr int kItems{4};  // tune: 1, 2, 4, 8\n"
    "#define TILE 32  // tune: 16 32 64\n"
    "constexpr int kPlain = 3;\n"
    "constexpr int kOdd = kThreads / 2;  // tune: 1, 2\n"
    "// tune where: kThreads * kItems <= 1024\n"
    "// tune where: no such thing <\n";

TEST(Tunables, AreDeclaredInComments) {
  const Tunables found = tunables_of(kTuned);
  ASSERT_EQ(found.parameters.size(), 3u);
  EXPECT_EQ(found.parameters[0].name, "kThreads");
  EXPECT_EQ(found.parameters[0].value, 256);
  EXPECT_THAT(found.parameters[1].choices, testing::ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(found.parameters[2].name, "TILE");
  ASSERT_EQ(found.rules.size(), 1u);
  const auto space = found.space();
  EXPECT_EQ(space.size(), 3u * (4 + 3 + 2));   // kItems <= 8, 4, 2 at 128, 256, 512
  EXPECT_LT(space.find(found.values()), space.size());
}

TEST(Tunables, ValuesStandWhereTheDeclaredOnesStood) {
  const std::string changed = with_values(kTuned, {{"kThreads", 512}, {"TILE", 64}});
  EXPECT_THAT(changed, HasSubstr("kThreads = 512;  // tune: 128, 256, 512"));
  EXPECT_THAT(changed, HasSubstr("#define TILE 64  // tune"));
  EXPECT_THAT(changed, HasSubstr("kItems{4}"));
  EXPECT_EQ(with_values(kTuned, tunables_of(kTuned).values()), kTuned);
  EXPECT_EQ(tunables_of(changed).values().at("kThreads"), 512);
}

// --- a small world of tried candidates

propose::Tried tried_one(const std::string& source, const std::string& proposer, const std::string& move, const std::string& parent, VerdictStatus status, double us, const std::string& fails = "") {
  propose::Tried out;
  out.candidate.source = source;
  out.candidate.id = identity(source, {});
  out.candidate.parent = parent;
  out.candidate.proposer = proposer;
  out.candidate.move.id = move;
  out.candidate.move.title = source.substr(0, source.find('\n'));
  out.status = status;
  out.us = us;
  if (!fails.empty()) out.contracts.push_back({fails, Level::required, Status::failed, "", "", ""});
  return out;
}

struct World {
  task::Task task;
  hardware::DataSheet sheet;
  Plan plan;
  std::vector<propose::Tried> tried;
  std::vector<std::string> frontier;
  World() {
    plan.steps = {{"template:a", "one warp a row", "rows are short", "", 4, true, {}}, {"transform:b", "float4 loads", "", "", 2, true, {}}};
    tried.push_back(tried_one("naive kernel", "naive", "start", "", VerdictStatus::rejected, 100, "memory.coalescing"));
  }
  std::vector<WantedMove> moves(std::size_t wanted) {
    frontier.clear();
    for (const auto& t : tried)
      if (is_right(stage_of(t))) frontier.push_back(t.candidate.id);
    return choose_moves({task, sheet, plan, tried, 1, frontier, {}}, wanted, {});
  }
};

TEST(Moves, BeginWithThePlansFirstIdea) {
  World world;
  const auto moves = world.moves(2);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].kind, MoveKind::explore);
  EXPECT_EQ(moves[0].strategy, "one warp a row");
  EXPECT_FALSE(moves[0].differ);
  EXPECT_EQ(moves[1].kind, MoveKind::refine) << "beside it the start is worth a look";
}

TEST(Moves, WhatDoesNotBuildIsMendedFirstAndNotForEver) {
  World world;
  world.tried.push_back(tried_one("broken", "model:m", "model.explore", "", VerdictStatus::rejected, 0, "build"));
  EXPECT_EQ(world.moves(1)[0].kind, MoveKind::repair);
  std::string parent = world.tried.back().candidate.id;
  for (int i = 0; i < 3; ++i) {
    world.tried.push_back(tried_one("broken " + std::to_string(i), "model:m", "model.repair", parent, VerdictStatus::rejected, 0, "build"));
    parent = world.tried.back().candidate.id;
  }
  EXPECT_NE(world.moves(1)[0].kind, MoveKind::repair) << "three repairs in a row are enough";
}

TEST(Moves, AFastRightKernelIsRefined) {
  World world;
  world.tried.push_back(tried_one("good", "model:m", "model.explore", "", VerdictStatus::accepted, 20));
  const auto moves = world.moves(1);
  EXPECT_EQ(moves[0].kind, MoveKind::refine);
  EXPECT_EQ(moves[0].on->candidate.source, "good");
}

TEST(Moves, TwoIdeasAreCombinedWhenNeitherGetsOn) {
  World world;
  world.tried.push_back(tried_one("alpha beta gamma kappa", "model:m", "model.explore", "", VerdictStatus::accepted, 20));
  const std::string best = world.tried.back().candidate.id;
  world.tried.push_back(tried_one("delta epsilon zeta", "model:m", "model.explore", "", VerdictStatus::accepted, 25));
  world.tried.push_back(tried_one("alpha beta gamma kappa eta", "model:m", "model.refine", best, VerdictStatus::accepted, 22));
  const auto moves = world.moves(1);
  ASSERT_EQ(moves[0].kind, MoveKind::combine);
  EXPECT_EQ(moves[0].with->candidate.source, "delta epsilon zeta") << "a kernel of the same idea brings nothing new";
}

TEST(Sweep, TriesPointsOfTheBestFamily) {
  World world;
  propose::Tried tuned = tried_one(kTuned, "model:m", "model.explore", "", VerdictStatus::accepted, 20);
  world.tried.push_back(tuned);
  world.moves(1);
  const propose::Situation situation{world.task, world.sheet, world.plan, world.tried, 1, world.frontier, {}};
  const auto sweep = make_sweep_proposer();
  const auto offers = sweep->propose(situation, 4);
  ASSERT_EQ(offers.size(), 4u);
  for (const Candidate& offer : offers) {
    EXPECT_EQ(offer.parent, tuned.candidate.id);
    EXPECT_NE(offer.source, kTuned);
    EXPECT_EQ(tunables_of(offer.source).parameters.size(), 3u) << "a point can be searched on";
    EXPECT_THAT(offer.move.title, HasSubstr("->"));
  }
}

// --- prompts

TEST(PromptText, EveryTagIsFilled) {
  EXPECT_GE(prompt_version(), 1);
  EXPECT_TRUE(fill("again", {{{"reason", "it was cut off"}, {"hint", "write less"}}}));
  const auto missing = fill("again", {});
  ASSERT_FALSE(missing) << "a tag that nothing fills would vanish";
  EXPECT_THAT(missing.error().message, HasSubstr("reason"));
  EXPECT_FALSE(fill("no such text", {}));
}

TEST(PromptText, PartsOfTheLastPriorityGoFirst) {
  const std::vector<Part> parts{{"context", std::string(4000, 'c'), "short context"}, {"feedback", std::string(4000, 'f')}, {"move", std::string(400, 'm')}};
  std::vector<std::string> left_out;
  const std::string whole = put_together(parts, 10'000, &left_out);
  EXPECT_TRUE(left_out.empty());
  EXPECT_THAT(whole, HasSubstr("cccc"));
  const std::string tight = put_together(parts, 1'200, &left_out);
  EXPECT_THAT(tight, HasSubstr("short context"));
  EXPECT_THAT(tight, HasSubstr("ffff"));
  EXPECT_THAT(left_out, testing::ElementsAre("context"));
  const std::string least = put_together(parts, 10, nullptr);
  EXPECT_THAT(least, HasSubstr("mmmm")) << "what is asked for always stays";
  EXPECT_THAT(least, Not(HasSubstr("ffff")));
}

TEST(VerdictText, NamesTheLineTheFiguresAndNoPath) {
  Verdict v;
  v.status = VerdictStatus::rejected;
  v.why = "fails shared.banks";
  v.candidate = "/home/somebody/run/candidates/abc.cu";
  v.time = TimeReport{};
  v.time->us = 21.789;
  v.time->source = "modelled";
  Finding advice;
  advice.contract = "memory.vector";
  advice.severity = Severity::warning;
  advice.line = 1;
  advice.message = "4 bytes per lane";
  Finding error;
  error.contract = "shared.banks";
  error.severity = Severity::error;
  error.line = 2;
  error.message = "32 times the ideal\x1b[31m in /home/somebody/run/candidates/abc.cu";
  error.measured = "32.00";
  error.required = "<= 1";
  error.cause = "lanes fall into the same banks";
  error.advice = {"pad the rows"};
  v.findings = {advice, error};
  v.cases = {{{{"n", 31}}, "declared", 0, Status::failed, false, false, "emulated", "", {}}, {{{"n", 32}}, "declared", 0, Status::passed, false, false, "emulated", "", {}}};
  const std::string text = verdict_text(v, "first line\nsecond line\nthird line\n");
  EXPECT_LT(text.find("shared.banks] line 2"), text.find("memory.vector")) << "the principal finding comes first";
  for (const char* part : {">    2 | second line", "measured 32.00", "required <= 1", "pad the rows", "Fails at: n=31", "Right at: n=32", "21.8 us", "kernel.cu"}) EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("/home")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(outcome_line(v), "rejected: shared.banks at line 2 (32.00), 21.8 us");
  const std::string bare = verdict_text(v, "", {6, true});
  EXPECT_THAT(bare, Not(HasSubstr("banks")));
  EXPECT_THAT(bare, HasSubstr("21.8 us"));
}

TEST(VerdictText, AnErrorIsToldWithoutTheSecondsOfThisMachine) {
  Verdict v;
  v.status = VerdictStatus::error;
  v.why = "could not establish run.limit (stopped after 30.03 s)";
  v.contracts = {{"run.limit", Level::required, Status::unknown, "", "", ""}, {"memory.reuse", Level::advice, Status::unknown, "", "", ""}};
  EXPECT_EQ(outcome_line(v), "error: could not establish run.limit");
  EXPECT_THAT(verdict_text(v, "", {}), Not(HasSubstr("30.03")));
}

TEST(VerdictText, SassOfOneLineHasWhatWasInlinedIntoIt) {
  const std::string sass =
      ".text._Z1kPf:\n\t//## File \"/x/kernel.cu\", line 3\n        /*0000*/                   LDC R1, c[0x0][0x28] ;\n\t//## File \"/usr/math.hpp\", line 9 inlined at \"/x/kernel.cu\", line 12\n"
      "\t//## File \"/x/kernel.cu\", line 12\n        /*0010*/                   MUFU.EX2 R2, R3 ;\n\t//## File \"/x/kernel.cu\", line 120\n        /*0020*/                   EXIT ;\n.L_x_0:\n        /*0030*/                   NOP;\n";
  const std::string one = sass_excerpt(sass, 12);
  EXPECT_THAT(one, HasSubstr("MUFU.EX2"));
  EXPECT_THAT(one, HasSubstr("_Z1kPf"));
  EXPECT_THAT(one, Not(HasSubstr("LDC")));
  EXPECT_THAT(one, Not(HasSubstr("EXIT")));
  const std::string all = sass_excerpt(sass, 0);
  EXPECT_THAT(all, HasSubstr("LDC"));
  EXPECT_THAT(all, HasSubstr("EXIT"));
  EXPECT_THAT(all, Not(HasSubstr("NOP")));
  EXPECT_LE(sass_excerpt(sass, 0, 60).size(), 64u);
}

TEST(VerdictText, PtxOfOneLineOfTheKernelAlone) {
  const std::string ptx = "\t.file\t1 \"/x/kernel.cu\"\n\t.file\t2 \"/y/header.h\"\n.visible .entry k(\n)\n{\n\t.loc\t1 7 3\n\tld.global.f32 %f1, [%rd1];\n\t.loc\t2 7 3\n\tadd.f32 %f2, %f1, %f1;\n\t.loc\t1 8 3\n\tret;\n}\n";
  const std::string line = ptx_excerpt(ptx, 7);
  EXPECT_THAT(line, HasSubstr("ld.global"));
  EXPECT_THAT(line, Not(HasSubstr("add.f32"))) << "a header has a line 7, too";
  EXPECT_THAT(ptx_excerpt(ptx, 0), HasSubstr("ret;"));
  EXPECT_LT(ptx_excerpt(ptx, 0, 40).size(), 60u);
}

}  // namespace
}  // namespace kforge::model
