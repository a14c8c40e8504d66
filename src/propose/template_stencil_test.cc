// Where stencils read: the places that binders understand, and those that only look like one.
#include <gtest/gtest.h>

#include "propose/template_stencil.h"

namespace kforge::propose {
namespace {

const TermPtr kRow = make_term(Term::Kind::index, "r"), kExtent = make_term(Term::Kind::size, "rows");

TermPtr clamped(const TermPtr& term) { return make_term(Term::Kind::call, "clamp", {term, number_term(0), binary_term("-", kExtent, number_term(1))}); }
TermPtr plus(const TermPtr& term, std::int64_t step) { return binary_term("+", term, number_term(step)); }

// "stride offset", or "no".
std::string place(const TermPtr& term) {
  const auto found = stencil_place(term, "r", kExtent);
  return found ? std::to_string(found->stride) + " " + std::to_string(found->offset) : "no";
}

TEST(StencilPlace, IsAMultipleOfTheVariableAndAStep) {
  EXPECT_EQ(place(kRow), "1 0");
  EXPECT_EQ(place(plus(kRow, -2)), "1 -2");
  EXPECT_EQ(place(plus(binary_term("*", number_term(2), kRow), 1)), "2 1");
  EXPECT_EQ(place(binary_term("*", plus(kRow, 1), number_term(3))), "3 3");
  EXPECT_EQ(place(clamped(plus(binary_term("*", kRow, number_term(2)), -1))), "2 -1");
}

TEST(StencilPlace, RefusesOtherVariablesAndStepsBackwards) {
  EXPECT_EQ(place(make_term(Term::Kind::index, "c")), "no");
  EXPECT_EQ(place(number_term(3)), "no");
  EXPECT_EQ(place(binary_term("*", kRow, kRow)), "no");
  EXPECT_EQ(place(binary_term("*", number_term(-1), kRow)), "no");
  EXPECT_EQ(place(binary_term("-", number_term(4), kRow)), "no");
}

// At row 0 the first reads row 1, not row 0.
TEST(StencilPlace, RefusesAStepBeyondAClamp) {
  EXPECT_EQ(place(plus(clamped(plus(kRow, -1)), 1)), "no");
  EXPECT_EQ(place(binary_term("*", number_term(2), clamped(kRow))), "no");
}

TEST(StencilOffset, IsOfStrideOneOnly) {
  EXPECT_EQ(stencil_offset(clamped(plus(kRow, 1)), "r", kExtent), std::optional<std::int64_t>(1));
  EXPECT_EQ(stencil_offset(binary_term("*", number_term(2), kRow), "r", kExtent), std::nullopt);
}

}  // namespace
}  // namespace kforge::propose
