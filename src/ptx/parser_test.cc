// Small texts: what they mean, and what is wrong with them and where.
#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ptx/checks.h"
#include "ptx/table.h"

namespace kforge::ptx {
namespace {

constexpr std::string_view kHead = ".version 9.0\n.target sm_90\n.address_size 64\n.global .align 8 .u64 gv[4];\n.func helper(.param .b32 x);\n";
constexpr std::string_view kRegisters =
    ".visible .entry k(.param .u64 p0) {\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n";

Expected<Module> read(std::string_view body) { return parse(std::string(kHead) + std::string(kRegisters) + std::string(body) + "\nret;\n}\n", "t.ptx"); }
const Function& kernel(const Module& module) { return *module.find_function("k"); }
std::string_view exec_id(const Instruction& i) { return instruction_table()[i.form].id; }

TEST(Parser, ModifiersAndTypesAreFields) {
  const auto m = read("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, _}, [%rd1+-16];\natom.add.release.gpu.u32 %r1, [gv+8], 1;\n"
                      "setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p3;\n@!%p1 bra DONE;\nDONE:\n");
  ASSERT_TRUE(m) << to_string(m.error());
  const auto& code = kernel(*m).instructions;
  EXPECT_EQ(code[0].mods.vector, 4);
  EXPECT_EQ(code[0].mods.cache, Cache::nc);
  EXPECT_EQ(code[0].mods.text, "L1::no_allocate.L2::128B");
  EXPECT_EQ(code[0].operands[1].offset, -16);
  EXPECT_EQ(code[0].operands[0].elements[3].kind, Operand::Kind::sink);
  EXPECT_EQ(code[1].mods.order, Order::release);
  EXPECT_EQ(code[1].mods.scope, Scope::gpu);
  EXPECT_EQ(code[1].mods.atom_op, AtomOp::add);
  EXPECT_EQ(code[1].operands[1].variable, (VariableId{0, false}));
  EXPECT_EQ(code[2].mods.compare, Compare::lt);
  EXPECT_EQ(code[2].mods.bool_op, BoolOp::and_);
  EXPECT_NE(code[2].operands[0].pair, kNoRegister);
  EXPECT_EQ(code[2].operands[2].bits, 0x3F800000u);
  EXPECT_TRUE(code[2].operands[3].negated);
  EXPECT_TRUE(code[3].guard->negated);
  EXPECT_EQ(code[3].operands[0].target, 4u);
}

TEST(Parser, OldTargetsMultiplyAndAddWithoutARounding) {
  const auto read_for = [](std::string_view target, std::string_view opcode) {
    return parse(".version 1.4\n.target " + std::string(target) + "\n.entry k {\n.reg .f32 %f<4>;\n" + std::string(opcode) + " %f1, %f2, %f3, %f1;\nret;\n}\n", "t.ptx");
  };
  for (const std::string_view opcode : {"mad.f32", "mad.sat.f32"}) {
    const auto m = read_for("sm_10, map_f64_to_f32", opcode);
    ASSERT_TRUE(m) << to_string(m.error());
    EXPECT_EQ(kernel(*m).instructions[0].mods.rounding, Rounding::rn);
    EXPECT_FALSE(read_for("sm_90", opcode));
  }
}

TEST(Parser, ConstantsTakeTheTypeOfTheInstruction) {
  const auto m = read("add.f64 %fd1, %fd1, 1.5;\nadd.u32 %r1, %r1, 0xFFFFFFFFU;\nadd.s16 %h1, %h1, -1;\nadd.u32 %r1, %r1, (1 + 2) * 3 << 1;\n"
                      "mov.b32 %r1, 0f40000000;\nmov.u32 %r1, 017;\nmov.u32 %r1, 0b101;\nadd.f32 %f1, %f1, 0d3FF0000000000000;\nmov.u32 %r1, WARP_SZ;\n");
  ASSERT_TRUE(m) << to_string(m.error());
  const auto& code = kernel(*m).instructions;
  const auto bits = [&](std::size_t i) { return code[i].operands.back().bits; };
  EXPECT_EQ(bits(0), 0x3FF8000000000000u);
  EXPECT_EQ(bits(1), ~0ull);
  EXPECT_EQ(bits(2), ~0ull);
  EXPECT_EQ(bits(3), 18u);
  EXPECT_EQ(bits(4), 0x40000000u);
  EXPECT_EQ(bits(5), 15u);
  EXPECT_EQ(bits(6), 5u);
  EXPECT_EQ(bits(7), 0x3F800000u);
  EXPECT_EQ(bits(8), 32u);
}

TEST(Parser, ScopesRedeclareRegistersAndLabels) {
  const auto m = read("{ .reg .b32 t; mov.u32 t, 1; { .reg .b64 t; mov.u64 t, 2; bra L; L: } mov.u32 t, 3; bra L; L: }\n");
  ASSERT_TRUE(m) << to_string(m.error());
  const auto& f = kernel(*m);
  ASSERT_EQ(f.registers.size(), 2u);
  EXPECT_EQ(f.instructions[0].operands[0].reg, f.instructions[3].operands[0].reg);
  EXPECT_NE(f.instructions[0].operands[0].reg, f.instructions[1].operands[0].reg);
  EXPECT_EQ(f.instructions[2].operands[0].target, 3u);
  EXPECT_EQ(f.instructions[4].operands[0].target, 5u);
}

TEST(Parser, InitialValuesAndAddresses) {
  const auto m = parse(".version 9.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 a[8] = {1, 2};\n.global .u64 p = generic(a)+4;\n"
                       ".global .align 1 .b8 q[3] = {7, 0xFF(a), 0xFF00(a)};\n.const .f32 c[2] = {0f3F800000, 2.0};\n");
  ASSERT_TRUE(m) << to_string(m.error());
  EXPECT_EQ(m->variables[0].initial.size(), 8u);
  ASSERT_EQ(m->variables[1].relocations.size(), 1u);
  EXPECT_TRUE(m->variables[1].relocations[0].generic);
  EXPECT_EQ(m->variables[1].relocations[0].addend, 4);
  ASSERT_EQ(m->variables[2].relocations.size(), 1u);
  EXPECT_EQ(m->variables[2].relocations[0].offset, 1u);
  EXPECT_EQ(m->variables[2].relocations[0].bytes, 2);
  EXPECT_EQ(m->variables[3].initial[7], std::byte{0x40});
}

TEST(Parser, BranchTargetsAndIndirectCalls) {
  const auto m = read("ts: .branchtargets A, B;\nbrx.idx %r1, ts;\nA: ret;\nB:\n{ .param .b32 a; .param .b32 r; st.param.b32 [a], 1;\n"
                      "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (r), %rd1, (a), proto;\ncall helper, (a);\n}\n");
  ASSERT_TRUE(m) << to_string(m.error());
  const auto& code = kernel(*m).instructions;
  EXPECT_EQ(code[0].targets, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_NE(code[3].call->pointer, kNoRegister);
  EXPECT_EQ(code[4].call->function, 0u);
}

struct Bad {
  const char* body;
  int line, column;  // of the whole text: the body starts on line 8
  const char* message;
};
class Malformed : public testing::TestWithParam<Bad> {};
TEST_P(Malformed, IsAnErrorAtItsPlace) {
  const auto m = read(GetParam().body);
  ASSERT_FALSE(m) << GetParam().body;
  EXPECT_EQ(m.error().where.line, GetParam().line) << to_string(m.error());
  EXPECT_EQ(m.error().where.column, GetParam().column) << to_string(m.error());
  EXPECT_NE(to_string(m.error()).find(GetParam().message), std::string::npos) << to_string(m.error());
}
const Bad kBad[] = {
    {"ad.u32 %r1, %r1, 1;", 8, 1, "nearest known opcode is 'add'"},
    {"add.q32 %r1, %r1, 1;", 8, 1, "no form of 'add'"},
    {"add.u32 %r1, %r2;", 8, 1, "2 operands, expected 3"},
    {"add.u32 %r1, %rd2, 1;", 8, 14, "operand 2"},
    {"add.u32 %r1, %f2, 1;", 8, 14, "type .f32"},
    {"add.u32 %p1, %r1, 1;", 8, 9, "type .pred"},
    {"add.u32 %r1, %r1, %r9;", 8, 19, "not declared"},
    {"add.u32 %r1, %r01, 1;", 8, 14, "not declared"},
    {"add.u32 %r1, %tid.x, 1;", 8, 14, "special register"},
    {"add.f32 %f1, %f1, 1;", 8, 19, "integer constant"},
    {"add.u32 %r1, %r1, 1.0;", 8, 19, "floating constant"},
    {"add.u32 %r1, %r1, 09;", 8, 19, "not a number"},
    {"add.u32 %r1, %r1, 1/0;", 8, 20, "division by zero"},
    {"ld.global.v2.u32 {%r1}, [%rd1];", 8, 18, "1 elements, expected 2"},
    {"ld.global.u32 %h1, [%rd1];", 8, 15, "type .b16"},
    {"st.global.u32 %r1, %r2;", 8, 15, "expected an address"},
    {"\nbra NOWHERE;", 9, 5, "not defined in this function"},
    {"L: L: ret;", 8, 4, "defined twice"},
    {"{ .reg .b32 a, a; }", 8, 16, "declared twice"},
    {"@%r1 bra L; L:", 8, 2, "no .pred register"},
    {"call nothing;", 8, 6, "not declared"},
    {"mov.u64 %rd1, nothing;", 8, 15, "not declared"},
    {"add.u32 %r1, %r1, 1", 9, 1, "expected ';'"},
    {"\x01", 8, 1, "expected an instruction"},
    {".reg .b32 %x<99999999999999999999>;", 8, 14, "not a number"},
};
INSTANTIATE_TEST_SUITE_P(Parser, Malformed, testing::ValuesIn(kBad));

TEST(Parser, RegisterParametersBecomeMemoryParameters) {
  const std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n.func (.reg .pred odd) f(.reg .v2 .u32 v, .reg .f64 d)\n{ .reg .u32 r; and.b32 r, v.y, 1; setp.ne.u32 odd, r, 0; ret; }\n"
                           ".entry k() { .reg .v2 .u32 w; .reg .pred p; .reg .f64 x; call (p), f, (w, x); @p ret; }\n";
  const auto m = parse(text, "t.ptx");
  ASSERT_TRUE(m) << to_string(m.error());
  const Function& f = m->functions[0];
  EXPECT_EQ(f.parameter_count, 2u);
  EXPECT_EQ(f.return_count, 1u);
  EXPECT_EQ(f.variables[0].size_bytes, 8u);
  std::vector<std::string_view> opcodes;
  for (const Instruction& in : f.instructions) opcodes.push_back(instruction_table()[in.form].opcode);
  EXPECT_EQ(std::vector<std::string_view>(opcodes.begin(), opcodes.begin() + 7), (std::vector<std::string_view>{"ld", "ld", "and", "setp", "selp", "st", "ret"}));
  const auto& caller = m->functions[1].instructions;
  ASSERT_EQ(caller.size(), 6u);   // two stores, the call, a load and its test, ret
  EXPECT_EQ(caller[2].call->arguments[0].kind, Operand::Kind::symbol);
  const std::string printed = print(*m);
  const auto again = parse(printed, "printed");
  ASSERT_TRUE(again) << to_string(again.error()) << printed;
  EXPECT_EQ(print(*again), printed);
  EXPECT_FALSE(parse(".version 9.0\n.target sm_90\n.address_size 64\n.func f(.reg .v4 .b64 x) { ret; }\n", "t.ptx"));
  EXPECT_FALSE(read(".reg .b32 a; .reg .b64 b; call helper, ({a, b});"));
  EXPECT_FALSE(read("call helper, ({%r1, 2});"));
}

TEST(Parser, VectorRegistersAreTheirParts) {
  const auto m = read(".reg .v4 .f32 v, w<2>; ld.global.v4.f32 v, [%rd1]; mov.v4.f32 w1, v; add.f32 w0.x, w1.w, v.y;");
  ASSERT_TRUE(m) << to_string(m.error());
  const auto& code = kernel(*m).instructions;
  EXPECT_EQ(code[0].operands[0].elements.size(), 4u);
  EXPECT_EQ(exec_id(code[1]), "mov_vector");
  EXPECT_EQ(code[2].operands[2].reg, code[0].operands[0].elements[1].reg);
  EXPECT_FALSE(read(".reg .v4 .f32 v; add.f32 v, %f1, %f2;"));
  EXPECT_FALSE(read(".reg .v2 .f32 v; mov.f32 %f1, v.z;"));
}

TEST(Parser, NestingIsBounded) {
  EXPECT_FALSE(read(std::string(100000, '{')));
  EXPECT_FALSE(read("add.u32 %r1, %r1, " + std::string(100000, '(') + "1;"));
  EXPECT_FALSE(read("add.u32 %r1, %r1, " + std::string(100000, '-') + "1;"));
  EXPECT_FALSE(read("add.u32 " + std::string(100000, '{') + ";"));
}

TEST(Checks, WhatATargetLacks) {
  const auto m = read("fma.rn.bf16 %h1, %h2, %h3, %h4;\nadd.bf16 %h1, %h2, %h3;\nld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;\n");
  ASSERT_TRUE(m) << to_string(m.error());
  EXPECT_TRUE(check_target(*m, 90).empty());
  ASSERT_EQ(check_target(*m, 80).size(), 1u);
  EXPECT_EQ(check_target(*m, 80)[0].needed_sm, 90u);
  ASSERT_EQ(check_target(*m, 75).size(), 3u);
  EXPECT_EQ(check_target(*m, 75)[2].feature, "L2::cache_hint");
}

TEST(Checks, MasksThatLeaveLanesOut) {
  const auto m = read("mov.b32 %r5, 65535;\nshfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, %r5;\nshfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\nbar.warp.sync 255;\n"
                      "vote.sync.ballot.b32 %r1, %p1, %r6;\n");
  ASSERT_TRUE(m) << to_string(m.error());
  const auto found = find_partial_masks(*m);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].mask, 65535u);
  EXPECT_EQ(found[1].opcode, "bar.warp.sync");
}

TEST(Table, RowsAreDistinctAndCompile) {
  std::vector<std::string_view> ids;
  for (const Form& form : instruction_table()) {
    ids.push_back(form.id);
    destination_count(form);
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(exec_id(kernel(*read("add.u32 %r1, %r1, 1;")).instructions[0]), "add_int");
}

}  // namespace
}  // namespace kforge::ptx
