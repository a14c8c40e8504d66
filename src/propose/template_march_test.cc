// Stencils that march: what is an image and what a cube, and which integers are proven to be small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "hardware/data_sheet.h"
#include "propose/template_binding.h"
#include "propose/template_proposer.h"
#include "propose/template_small.h"

namespace kforge::propose {
namespace {

using testing::HasSubstr;

std::optional<Binding> bound(const std::string& path) {
  const auto task = task::read_task(path);
  EXPECT_TRUE(task) << to_string(task.error());
  return task ? bind_march(computation_of(*task, "stencil"), {}) : std::nullopt;
}
std::optional<Binding> headline(const std::string& name) { return bound(std::string(KFORGE_SOURCE_DIR) + "/bench/headline/" + name + "/task.toml"); }

// An image of bytes, whose element is `value` of at(row, column).
std::optional<Binding> bytes(const std::string& value) {
  const auto folder = TemporaryDirectory::create("march-test");
  EXPECT_TRUE(folder);
  EXPECT_TRUE(write_file_atomic(folder->path() / "reference.cpp", "#include <algorithm>\n#include <cstdint>\n#include <cstdlib>\n"
      "extern \"C\" void f(const std::uint8_t* x, std::uint8_t* y, int h, int w) {\n"
      "  const auto at = [&](int r, int c) { return static_cast<int>(x[static_cast<long long>(std::clamp(r, 0, h - 1)) * w + std::clamp(c, 0, w - 1)]); };\n"
      "  for (int r = 0; r < h; ++r)\n    for (int c = 0; c < w; ++c) y[static_cast<long long>(r) * w + c] = static_cast<std::uint8_t>(" + value + ");\n}\n"));
  const auto path = folder->path() / "task.toml";
  EXPECT_TRUE(write_file_atomic(path, "[task]\nname = 'f'\n[semantics]\npattern = 'stencil'\nreference = 'reference.cpp'\n"
      "[[semantics.tensor]]\nname = 'x'\ndtype = 'u8'\nshape = ['h', 'w']\nrole = 'in'\n[[semantics.tensor]]\nname = 'y'\ndtype = 'u8'\nshape = ['h', 'w']\nrole = 'out'\n"
      "[sizes]\nmeasure = [{h = 64, w = 64}]\n[interface]\nfunction = 'f'\n"));
  return bound(path.string());
}

TEST(March, SobelIsTwoFiltersAlongTheRow) {
  const auto sobel = headline("sobel");
  ASSERT_TRUE(sobel);
  EXPECT_TRUE(sobel->flags.at("exact"));
  EXPECT_EQ(sobel->texts.at("is_cube"), "false");
  ASSERT_EQ(sobel->lists.at("lines").size(), 1u);
  const Binding& line = sobel->lists.at("lines")[0];
  EXPECT_EQ(line.texts.at("depth"), "3");
  EXPECT_EQ(line.lists.at("filters").size(), 2u);
  EXPECT_THAT(line.texts.at("filter_lines"), testing::AllOf(HasSubstr("subtract(at(e + 1), at(e - 1))"), HasSubstr("fused<2>(at(e), add(at(e - 1), at(e + 1)))")));
  EXPECT_THAT(sobel->texts.at("exact_value"), testing::StartsWith("s"));
}

TEST(March, ACubeHasALineForEachOffsetAcrossTheMarch) {
  const auto cube = headline("stencil3d");
  ASSERT_TRUE(cube);
  EXPECT_FALSE(cube->flags.at("exact"));
  EXPECT_EQ(cube->texts.at("is_cube"), "true");
  EXPECT_EQ(cube->lists.at("lines").size(), 3u);
}

TEST(March, OnlyWhatHalvesHoldIsExact) {
  const auto is_exact = [](const std::string& value) {
    const auto made = bytes(value);
    EXPECT_TRUE(made) << value;
    return made && made->flags.at("exact");
  };
  EXPECT_TRUE(is_exact("std::min(at(r, c) + at(r, c + 1), 255)"));
  EXPECT_TRUE(is_exact("std::abs(at(r - 1, c) - at(r + 1, c))"));
  EXPECT_FALSE(is_exact("std::min(9 * at(r, c) + at(r, c + 1), 255)")) << "up to 2550";
  EXPECT_FALSE(is_exact("at(r, c) + at(r, c + 1)")) << "no byte";
  EXPECT_FALSE(is_exact("at(r, c) - at(r, c + 1)")) << "negative";
  EXPECT_FALSE(is_exact("(at(r, c) + at(r, c + 1)) / 2")) << "a division";
  EXPECT_FALSE(is_exact("std::min(at(r, c) * at(r, c + 1), 255)")) << "a product";
}

// nvcc 13.0 compiled the march, unrolled three times by a pragma, to whole threes of steps: the rest of a chunk's rows was written by whoever came next.
TEST(March, IsUnrolledByHand) {
  const auto task = task::read_task(std::string(KFORGE_SOURCE_DIR) + "/bench/headline/sobel/task.toml");
  const auto sheet = hardware::find_sheet("h200");
  ASSERT_TRUE(task && sheet);
  Plan plan;
  plan.guess.pattern = "stencil";
  for (const Applied& applied : applied_templates(*task, *sheet, plan)) {
    if (applied.made.name != "stencil_march") continue;
    Values values = applied.space.values(standard_point(applied));
    values["rounds"] = 3;
    const auto candidate = candidate_at(applied, values);
    ASSERT_TRUE(candidate) << to_string(candidate.error());
    EXPECT_THAT(candidate->source, testing::Not(HasSubstr("#pragma unroll 3")));
    EXPECT_THAT(candidate->source, HasSubstr("if (round > 0 && group + round >= steps) return;"));
    return;
  }
  FAIL() << "stencil_march does not apply";
}

TEST(March, WhatReadsNoNeighbourIsNoStencil) { EXPECT_FALSE(bytes("255 - at(r, c)")); }

}  // namespace
}  // namespace kforge::propose
