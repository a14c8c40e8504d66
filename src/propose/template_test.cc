// Templates as data and as text: all of them parse, apply where they should and nowhere else, and fill every tag at every point tried.
#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/sanitized.h"
#include "hardware/data_sheet.h"
#include "propose/template_estimate.h"
#include "propose/template_proposer.h"
#include "propose/template_render.h"
#include "task/random.h"

namespace kforge::propose {
namespace {

std::string example(const std::string& name) { return std::string(KFORGE_SOURCE_DIR) + "/examples/" + name + "/task.toml"; }
std::string headline(const std::string& name) { return std::string(KFORGE_SOURCE_DIR) + "/bench/headline/" + name + "/task.toml"; }
std::string kernel_task(const std::string& name) { return std::string(KFORGE_SOURCE_DIR) + "/tests/kernels/" + name + "/task.toml"; }
std::string template_task(const std::string& name) { return std::string(KFORGE_SOURCE_DIR) + "/tests/templates/" + name + ".toml"; }

std::vector<std::string> names_for(const std::string& path, std::vector<std::string>* why = nullptr) {
  const auto task = task::read_task(path);
  if (!task) return {to_string(task.error())};
  const auto sheet = hardware::find_sheet("h200");
  Plan plan;
  plan.guess.pattern = task->pattern.empty() ? "unknown" : task->pattern;
  std::vector<std::string> names;
  for (const Applied& applied : applied_templates(*task, *sheet, plan, why)) names.push_back(applied.made.name);
  return names;
}

TEST(Templates, AllParse) {
  const auto all = templates();
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_GE(all->size(), 13u);
  for (const Template& made : *all) {
    EXPECT_NE(find_binder(made.binder), nullptr) << made.name << " " << made.binder;
    EXPECT_FALSE(made.parameters.empty()) << made.name;
  }
}

TEST(Templates, ErrorsNameFileAndKey) {
  const auto unknown = parse_template("x", "[template]\ntitel = 'a'\n", "");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(to_string(unknown.error()), testing::AllOf(testing::HasSubstr("data/kernels/x/template.toml:2"), testing::HasSubstr("title")));
  const std::string head = "[template]\ntitle='a'\nsummary='b'\npatterns=['c']\nbinder='rows'\nexpected_gain=2\n";
  EXPECT_FALSE(parse_template("x", head + "[[parameter]]\nname='p'\ntitle='t'\nchoices=[1]\ndefault=2\n", ""));
  EXPECT_FALSE(parse_template("x", head + "[[constraint]]\nholds='p <'\nwhy='w'\n", ""));
  EXPECT_TRUE(parse_template("x", head, ""));
}

TEST(Templates, ApplyToTheirComputations) {
  using testing::ElementsAre;
  EXPECT_THAT(names_for(example("softmax")), ElementsAre("row_fused"));
  EXPECT_THAT(names_for(example("layernorm")), ElementsAre("row_fused"));
  EXPECT_THAT(names_for(example("transpose")), ElementsAre("transpose"));
  EXPECT_THAT(names_for(example("reduction")), ElementsAre("reduce_all"));
  EXPECT_THAT(names_for(example("saxpy")), ElementsAre("elementwise"));
  EXPECT_THAT(names_for(example("scan")), ElementsAre("scan_lookback"));
  EXPECT_THAT(names_for(example("histogram")), ElementsAre("histogram"));
  EXPECT_THAT(names_for(example("sobel")), ElementsAre("stencil_march", "stencil_tile"));
  EXPECT_THAT(names_for(example("sgemm")), ElementsAre("gemm_simt"));
  EXPECT_THAT(names_for(kernel_task("argmax")), ElementsAre("row_fused"));
  EXPECT_THAT(names_for(kernel_task("gemv")), ElementsAre("row_fused"));
  EXPECT_THAT(names_for(kernel_task("batched_gemm")), ElementsAre("gemm_simt"));
  EXPECT_THAT(names_for(kernel_task("conv2d")), ElementsAre("stencil_march", "stencil_tile"));
  EXPECT_THAT(names_for(kernel_task("stencil3d")), ElementsAre("stencil_march"));
  EXPECT_THAT(names_for(headline("gemm_bf16")), ElementsAre("gemm_wgmma", "gemm_mma"));
  EXPECT_THAT(names_for(headline("gemm_tf32")), ElementsAre("gemm_wgmma"));
  EXPECT_THAT(names_for(headline("gemm_bias_gelu")), ElementsAre("gemm_wgmma", "gemm_mma"));
  EXPECT_THAT(names_for(headline("cross_entropy")), ElementsAre("row_fused"));
  EXPECT_THAT(names_for(headline("attention")), ElementsAre("attention_wgmma", "attention_mma"));
  EXPECT_THAT(names_for(headline("attention_causal")), ElementsAre("attention_wgmma", "attention_mma"));
  EXPECT_THAT(names_for(kernel_task("transpose_i8")), ElementsAre("transpose"));
  EXPECT_THAT(names_for(template_task("transpose/cube_reversed")), ElementsAre("transpose"));
  EXPECT_THAT(names_for(template_task("transpose/cube_rotated")), ElementsAre("transpose"));
  EXPECT_THAT(names_for(template_task("elementwise/rows_moved")), ElementsAre("elementwise"));
  EXPECT_THAT(names_for(template_task("stencil/pool_max")), ElementsAre("stencil_tile"));
  EXPECT_THAT(names_for(kernel_task("dot")), ElementsAre("reduce_all"));
}

// A matrix, reduced by a formula.
std::string reduced_task(const TemporaryDirectory& folder, const std::string& formula, const std::string& result) {
  const std::string path = (folder.path() / "task.toml").string();
  EXPECT_TRUE(write_file_atomic(path, "[task]\nname = 'reduced'\n[semantics]\nformula = '" + formula + "'\n"
      "[[semantics.tensor]]\nname = 'x'\ndtype = 'f32'\nshape = ['rows', 'cols']\nrole = 'in'\n[[semantics.tensor]]\nname = 'y'\ndtype = 'f32'\nshape = ['" + result +
      "']\nrole = 'out'\n[sizes]\nmeasure = [{rows = 1000, cols = 1024}]\n[hardware]\ngpu = 'h200'\n[interface]\nfunction = 'reduced'\n"));
  return path;
}

TEST(Templates, AMatrixIsReducedAlongItsRowsOrAcrossThem) {
  const auto folder = TemporaryDirectory::create("template-test");
  ASSERT_TRUE(folder);
  EXPECT_THAT(names_for(reduced_task(*folder, "y = sum(x, axis=0)", "cols")), testing::ElementsAre("reduce_columns"));
  EXPECT_THAT(names_for(reduced_task(*folder, "y = max(x, axis=0) - mean(x, axis=0)", "cols")), testing::ElementsAre("reduce_columns"));
  EXPECT_THAT(names_for(reduced_task(*folder, "y = sum(x, axis=1)", "rows")), testing::ElementsAre("row_fused"));
}

TEST(Templates, DoNotApplyToOthersAndSayWhy) {
  for (const char* name : {"sort_rows", "spmv", "jacobi", "gather", "poly64", "strided_scale", "collatz"}) {
    std::vector<std::string> why;
    EXPECT_THAT(names_for(kernel_task(name), &why), testing::IsEmpty()) << name;
    EXPECT_FALSE(why.empty());
  }
}

TEST(Templates, RenderAtManyPointsWithoutALeftOverTag) {
  const auto sheet = hardware::find_sheet("h200");
  for (const std::string& path : {example("softmax"), example("sgemm"), example("sobel"), example("scan"), example("histogram"), example("reduction"), example("saxpy"), example("transpose"), kernel_task("argmax"),
                                   kernel_task("stencil3d"), headline("sobel"), headline("gemm_f16"), headline("attention_causal")}) {
    const auto task = task::read_task(path);
    ASSERT_TRUE(task) << to_string(task.error());
    Plan plan;
    plan.guess.pattern = task->pattern.empty() ? "unknown" : task->pattern;
    for (const Applied& applied : applied_templates(*task, *sheet, plan)) {
      ASSERT_GT(applied.space.size(), 0u);
      std::set<std::string> ids;
      for (std::uint64_t i = 0; i < (kSanitized ? 4 : 12); ++i) {
        const std::size_t point = i == 0 ? standard_point(applied) : task::CounterRandom(1).below(i, applied.space.size());
        const auto candidate = candidate_at(applied, applied.space.values(point));
        ASSERT_TRUE(candidate) << to_string(candidate.error());
        EXPECT_EQ(candidate->source.find("{{"), std::string::npos) << candidate->source;
        EXPECT_EQ(candidate->source.find("}}}"), std::string::npos) << candidate->source;
        EXPECT_NE(candidate->source.find("extern \"C\" cudaError_t " + task->function + "("), std::string::npos);
        ids.insert(candidate->id);
      }
      EXPECT_GT(ids.size(), 1u);
    }
  }
}

TEST(Render, ATagThatNothingFillsIsAnError) {
  Template made;
  made.name = "x";
  made.source = "int a = {{missing}};";
  const auto text = render(made, Binding(), {});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, testing::HasSubstr("missing"));
}

TEST(Render, NamesOfTheTaskGiveWay) {
  task::Task task;
  task::Tensor tile;
  tile.name = "tile";
  tile.shape = {"n"};
  task.tensors = {tile};
  const FileNames names(task, {"tile"});
  EXPECT_EQ(names("tile"), "tile_");
  EXPECT_EQ(names("n"), "n");
}

TEST(TemplateProposer, BeginsWithTheDefaultRepeatsNothingAndIsDeterministic) {
  const auto task = task::read_task(example("softmax"));
  ASSERT_TRUE(task);
  const auto sheet = hardware::find_sheet("h200");
  Plan plan;
  plan.guess.pattern = "softmax";
  std::vector<Tried> tried;
  std::set<std::string> ids;
  for (int round = 0; round < 6; ++round) {
    const Situation situation{*task, *sheet, plan, tried, 1, {}, {}};
    const auto proposed = make_template_proposer()->propose(situation, 3);
    const auto again = make_template_proposer()->propose(situation, 3);
    ASSERT_EQ(proposed.size(), 3u);
    for (std::size_t i = 0; i < proposed.size(); ++i) {
      EXPECT_EQ(proposed[i].id, again[i].id);
      EXPECT_TRUE(ids.insert(proposed[i].id).second);
      EXPECT_EQ(proposed[i].move.id, round == 0 ? "template" : "parameter");
      Tried one;
      one.candidate = proposed[i];
      one.status = VerdictStatus::accepted;
      one.us = 10.0 + static_cast<double>(tried.size());
      tried.push_back(one);
    }
  }
}

TEST(TemplateProposer, ATemplateWhoseCandidatesAreAllRejectedIsADeadEnd) {
  const auto task = task::read_task(example("transpose"));
  ASSERT_TRUE(task);
  const auto sheet = hardware::find_sheet("h200");
  Plan plan;
  plan.guess.pattern = "transpose";
  std::vector<Tried> tried;
  for (int round = 0; round < 10; ++round) {
    const Situation situation{*task, *sheet, plan, tried, 1, {}, {}};
    const auto proposed = make_template_proposer()->propose(situation, 1);
    if (proposed.empty()) break;
    Tried one;
    one.candidate = proposed[0];
    one.status = VerdictStatus::rejected;
    tried.push_back(one);
  }
  EXPECT_EQ(tried.size(), 4u);
}

// A task and what a round knows of it, without a judge.
struct Scene {
  explicit Scene(const std::string& path, const std::string& pattern) : task(*task::read_task(path)), sheet(*hardware::find_sheet("h200")) { plan.guess.pattern = pattern; }
  Situation situation(std::span<const std::string> frontier = {}) const { return {task, sheet, plan, tried, 1, frontier, {}}; }
  Tried& judge(Candidate candidate, VerdictStatus status, double us) {
    Tried& one = tried.emplace_back();
    one.candidate = std::move(candidate);
    one.status = status;
    one.us = us;
    return one;
  }

  task::Task task;
  hardware::DataSheet sheet;
  Plan plan;
  std::vector<Tried> tried;
};

TEST(TemplateProposer, DerivesFromTheNearestOnTheFrontier) {
  Scene scene(example("softmax"), "softmax");
  const auto proposer = make_template_proposer();
  for (int i = 0; i < 5; ++i) scene.judge(proposer->propose(scene.situation(), 1).at(0), VerdictStatus::accepted, 10.0 + i);
  const std::vector<std::string> frontier = {scene.tried[3].candidate.id, scene.tried[1].candidate.id};
  for (const Candidate& c : proposer->propose(scene.situation(frontier), 6)) {
    EXPECT_THAT(frontier, testing::Contains(c.parent)) << "the best of all is no longer on it";
    const Candidate& parent = scene.tried[c.parent == frontier[0] ? 3 : 1].candidate;
    const Candidate& other = scene.tried[c.parent == frontier[0] ? 1 : 3].candidate;
    const auto changes = [&](const Candidate& from) {
      int count = 0;
      for (std::size_t i = 0; i < c.parameters.size(); ++i) count += c.parameters[i].second != from.parameters[i].second;
      return count;
    };
    EXPECT_LE(changes(parent), changes(other));
    EXPECT_EQ(std::count(c.move.title.begin(), c.move.title.end(), ','), changes(parent) - 1) << c.move.title;
  }
}

TEST(TemplateProposer, SearchesOnTowardsAGoalAndPastWhatWasScreened) {
  for (const bool screened : {false, true}) {
    Scene scene(example("transpose"), "transpose");
    for (int i = 0; i < 6; ++i) {
      const auto proposed = make_template_proposer()->propose(scene.situation(), 1);
      ASSERT_EQ(proposed.size(), 1u) << "candidate " << i;
      Tried& one = scene.judge(proposed[0], screened ? VerdictStatus::error : VerdictStatus::rejected, 20.0 + i);
      one.screened = screened;
      if (!screened) one.contracts = {{"numerics", Level::required, Status::passed, "", "", ""}, {"goal", Level::required, Status::failed, "", "", ""}};
    }
  }
}

TEST(TemplateProposer, KnowsARememberedWinner) {
  Scene scene(example("softmax"), "softmax");
  Candidate known = make_template_proposer()->propose(scene.situation(), 2).at(1);
  known.proposer = "memory";
  scene.judge(known, VerdictStatus::accepted, 10);
  const Candidate next = make_template_proposer()->propose(scene.situation(), 1).at(0);
  EXPECT_EQ(next.parent, known.id);
  EXPECT_NE(next.id, known.id);
}

TEST(TemplateProposer, TakesEachParameterBackToItsDefault) {
  Scene scene(example("softmax"), "softmax");
  const auto applied = applied_templates(scene.task, scene.sheet, scene.plan);
  ASSERT_EQ(applied.size(), 1u);
  // group's default is more than 64 threads have: the nearest that the rules leave stands for it.
  const Values values{{"threads", 64}, {"group", 32}, {"vector", 2}, {"packs", 8}, {"stages", 0}, {"stream", 0}};
  ASSERT_LT(applied[0].space.find(values), applied[0].space.size());
  const Candidate winner = *candidate_at(applied[0], values);
  const std::vector<Candidate> line = {winner};
  const auto proposer = make_template_proposer();
  std::vector<std::string> titles;
  for (const TakenBack& back : proposer->take_back(scene.situation(), line)) {
    titles.push_back(back.title);
    EXPECT_EQ(back.step, winner.id);
    EXPECT_EQ(back.next, 1u);
    EXPECT_NE(back.candidate.id, winner.id);
  }
  EXPECT_THAT(titles, testing::Contains("threads 256 -> 64"));
  EXPECT_THAT(titles, testing::Contains("group 64 -> 32"));
  EXPECT_THAT(titles, testing::Each(testing::Not(testing::HasSubstr("stream")))) << "it is at its default";
  EXPECT_TRUE(proposer->take_back(scene.situation(), std::vector<Candidate>{{}}).empty());
}

TEST(TemplateProposer, TellsCandidatesOfOneRoundApart) {
  Scene scene(example("softmax"), "softmax");
  std::set<std::string> titles;
  for (const Candidate& c : make_template_proposer()->propose(scene.situation(), 4)) titles.insert(c.move.title);
  EXPECT_EQ(titles.size(), 4u);
}

// Every template says what its points will cost, and what it says tells points apart.
TEST(Estimate, EveryTemplateHasOne) {
  struct Row { const char *example, *pattern; };
  for (const Row& row : {Row{"softmax", "softmax"}, {"sgemm", "gemm"}, {"sobel", "stencil"}, {"scan", "scan"}, {"histogram", "histogram"}, {"reduction", "reduction"}, {"saxpy", "elementwise"}, {"transpose", "transpose"}}) {
    const Scene scene(example(row.example), row.pattern);
    for (const Applied& applied : applied_templates(scene.task, scene.sheet, scene.plan)) {
      const auto us = Estimator(applied, scene.task, scene.sheet, row.pattern).of(applied.space);
      ASSERT_EQ(us.size(), applied.space.size()) << applied.made.name;
      const auto [least, most] = std::minmax_element(us.begin(), us.end());
      EXPECT_GT(*least, 0.5) << applied.made.name;
      EXPECT_GT(*most, 1.005 * *least) << applied.made.name;
    }
  }
}

TEST(Estimate, ABlockThatDoesNotFitIsLast) {
  const std::string head = "[template]\ntitle='a'\nsummary='b'\npatterns=['c']\nbinder='rows'\nexpected_gain=2\n[[parameter]]\nname='p'\ntitle='t'\nchoices=[1, 2, 4]\ndefault=2\n";
  const auto made = parse_template("x", head + "[estimate]\nshared = 'p * 100000'\nshared_bytes = 'shared'\nblocks = '132'\nthreads = '128'\n", "");
  ASSERT_TRUE(made) << to_string(made.error());
  Scene scene(example("softmax"), "softmax");
  const Applied applied{*made, Binding(), Space({{"p", {1, 2, 4}}}, [](const Values&) { return true; })};
  const Estimator estimator(applied, scene.task, scene.sheet, "softmax");
  EXPECT_TRUE(std::isfinite(*estimator.us({{"p", 2}})));
  EXPECT_FALSE(std::isfinite(*estimator.us({{"p", 4}}))) << "400 kB of shared memory";
  const auto us = estimator.of(applied.space);
  EXPECT_GT(us[2], us[1]);
  EXPECT_FALSE(parse_template("x", head + "[estimate]\nblocks = 'p +'\n", ""));
}

TEST(TemplateProposer, ThePlanRestrictsTemplatesAndParameters) {
  const auto task = task::read_task(example("softmax"));
  ASSERT_TRUE(task);
  const auto sheet = hardware::find_sheet("h200");
  Plan plan;
  plan.guess.pattern = "softmax";
  PlanStep step;
  step.id = "template:row_fused";
  step.parameters["threads"] = {"128"};
  plan.steps = {step};
  const auto applied = applied_templates(*task, *sheet, plan);
  ASSERT_EQ(applied.size(), 1u);
  for (std::size_t i = 0; i < applied[0].space.size(); ++i) EXPECT_EQ(applied[0].space.values(i).at("threads"), 128);
  plan.steps[0].enabled = false;
  EXPECT_TRUE(applied_templates(*task, *sheet, plan).empty());
}

}  // namespace
}  // namespace kforge::propose
