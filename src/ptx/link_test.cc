#include "ptx/link.h"

#include <gtest/gtest.h>

#include <string>

#include "ptx/parser.h"

namespace kforge::ptx {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

Module module_of(const std::string& text) {
  auto module = parse(kHead + text, "test.ptx");
  EXPECT_TRUE(module) << (module ? "" : to_string(module.error()));
  return module ? std::move(*module) : Module{};
}

const char* const kCaller = R"(
.extern .func (.param .b32 result) answer(.param .b32 which);
.extern .global .align 4 .u32 table;
.global .align 4 .u32 own = 1;
.func (.param .b32 result) helper() { .reg .b32 %r<2>; mov.u32 %r1, 1; st.param.b32 [result], %r1; ret; }
.visible .entry ask(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %d<3>;
  mov.u32 %r1, 5;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), answer, (a); ld.param.b32 %r2, [b]; }
  { .param .b32 b; call.uni (b), helper, (); ld.param.b32 %r2, [b]; }
  ld.global.u32 %r3, [table];
  ld.global.u32 %r3, [own];
  ret;
}
)";
const char* const kCalled = R"(
.visible .global .align 4 .u32 table = 40;
.global .align 4 .u32 own = 2;
.visible .global .align 8 .u64 pointer = own;
.func (.param .b32 result) helper() { .reg .b32 %r<2>; mov.u32 %r1, 2; st.param.b32 [result], %r1; ret; }
.visible .func (.param .b32 result) answer(.param .b32 which) {
  .reg .b32 %r<3>;
  { .param .b32 b; call.uni (b), helper, (); ld.param.b32 %r1, [b]; }
  st.param.b32 [result], %r1;
  ret;
}
)";

const Function& callee(const Module& module, const Function& caller, std::size_t n) {
  for (const Instruction& instruction : caller.instructions)
    if (instruction.call != nullptr && n-- == 0) return module.functions[*instruction.call->function];
  return caller;
}

std::string variable_read(const Module& module, const Function& function, std::size_t n) {
  for (const Instruction& instruction : function.instructions)
    for (const Operand& operand : instruction.operands)
      if (operand.kind == Operand::Kind::address && operand.variable && !operand.variable->of_function && n-- == 0) return module.variables[operand.variable->index].name;
  return "";
}

void expect_linked(const Module& module) {
  const Function* ask = module.find_function("ask");
  const Function* answer = module.find_function("answer");
  ASSERT_NE(ask, nullptr);
  ASSERT_NE(answer, nullptr);
  EXPECT_FALSE(answer->is_extern);
  EXPECT_EQ(&callee(module, *ask, 0), answer);
  EXPECT_NE(&callee(module, *ask, 1), &callee(module, *answer, 0));   // each text has its own helper
  EXPECT_EQ(variable_read(module, *ask, 0), "table");
  for (const Variable& variable : module.variables) {
    EXPECT_FALSE(variable.is_extern) << variable.name;
    if (variable.name != "pointer") continue;
    ASSERT_EQ(variable.relocations.size(), 1u);
    const std::string& target = variable.relocations[0].symbol;
    for (const Variable& other : module.variables) {
      if (other.name == target) { EXPECT_EQ(static_cast<int>(other.initial[0]), 2); }   // the `own` of the same text
    }
  }
}

TEST(Link, NamesMeetAndOwnNamesStayApart) {
  auto forwards = link({module_of(kCaller), module_of(kCalled)});
  ASSERT_TRUE(forwards) << to_string(forwards.error());
  expect_linked(*forwards);
  auto backwards = link({module_of(kCalled), module_of(kCaller)});
  ASSERT_TRUE(backwards) << to_string(backwards.error());
  expect_linked(*backwards);
}

TEST(Link, TwoDefinitionsOfAVariableAreAnError) {
  const auto linked = link({module_of(".visible .global .u32 twice = 1;"), module_of(".visible .global .u32 twice = 2;")});
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("twice"), std::string::npos);
}

}  // namespace
}  // namespace kforge::ptx
