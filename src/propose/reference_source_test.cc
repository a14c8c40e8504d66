// What the reader makes of a reference's text, shown as "kind:text(parts)".
#include "propose/reference_source.h"

#include <gtest/gtest.h>

namespace kforge::propose::reference {
namespace {

std::string shown(const Expression& e) {
  constexpr const char* kKinds[] = {"?", "", "", "u", "p", "b", "=", "c", "call", "cast", "at", "member", "list", "lambda"};
  std::string out = std::string(kKinds[static_cast<std::size_t>(e.kind)]) + e.text;
  if (e.parts.empty()) return out;
  out += "(";
  for (const Expression& part : e.parts) out += (&part == &e.parts.front() ? "" : ", ") + shown(part);
  return out + ")";
}

std::vector<Function> read(const std::string& text, Casts casts = Casts::keep) {
  auto functions = functions_of(text, casts);
  EXPECT_TRUE(functions);
  return functions ? std::move(*functions) : std::vector<Function>{};
}

std::vector<Statement> body_of(const std::string& body, Casts casts = Casts::keep) {
  auto functions = read("void f(const float* x, float* y, int n) {" + body + "}", casts);
  EXPECT_EQ(functions.size(), 1u);
  return functions.empty() ? std::vector<Statement>{} : std::move(functions[0].body);
}

std::string expression_of(const std::string& text, Casts casts = Casts::keep) {
  const auto body = body_of(text + ";", casts);
  return body.size() == 1 && body[0].kind == Statement::Kind::expression ? shown(body[0].condition[0]) : "no expression";
}

TEST(ReferenceSource, CastsAreKeptWithTheirTypeOrDropped) {
  for (const char* text : {"y[0] = (long long)n", "y[0] = static_cast<long long>(n)"}) {
    EXPECT_EQ(expression_of(text), "==(at[](y, 0), castlong long(n))");
    EXPECT_EQ(expression_of(text, Casts::drop), "==(at[](y, 0), n)");
  }
  for (const char* text : {"y[0] = std::uint8_t(n)", "y[0] = static_cast<std::uint8_t>(n)", "y[0] = uint8_t{n}"}) EXPECT_EQ(expression_of(text), "==(at[](y, 0), castuint8_t(n))") << text;
  EXPECT_EQ(expression_of("y[0] = unsigned(n)"), "==(at[](y, 0), castunsigned(n))");
  EXPECT_EQ(expression_of("y[0] = max(n, 2)"), "==(at[](y, 0), call(max, n, 2))");
}

TEST(ReferenceSource, NamesLoseStdAndTemplateArguments) {
  EXPECT_EQ(expression_of("y[0] = -std::numeric_limits<float>::infinity()"), "==(at[](y, 0), u-(call(numeric_limits::infinity)))");
  EXPECT_EQ(expression_of("y[0] = std::max<double>(x[0], 1.0)"), "==(at[](y, 0), call(max, at[](x, 0), 1.0))");
  EXPECT_EQ(last_name("numeric_limits::max"), "max");
}

TEST(ReferenceSource, DeclarationsSayWhatTheyHold) {
  const auto body = body_of("std::vector<double> v(n), w(n, 0.0); float a[4] = {1, 2}; const float* in = x + n; unsigned int k = 0, j; auto [p, q] = pair; Other o; double s(x[0]);");
  std::vector<Declared> all;
  for (const Statement& statement : body) all.insert(all.end(), statement.declared.begin(), statement.declared.end());
  ASSERT_EQ(all.size(), 9u);
  EXPECT_TRUE(all[0].container && all[1].container && all[2].container);
  EXPECT_EQ(all[0].initial.size(), 1u);
  EXPECT_EQ(all[1].initial.size(), 2u);
  EXPECT_FALSE(all[2].pointer);
  EXPECT_TRUE(all[3].pointer);
  EXPECT_EQ(all[3].type, "float");
  EXPECT_EQ(all[4].type, "unsigned int");
  EXPECT_TRUE(all[5].initial.empty());
  EXPECT_EQ(all[6].name, "");
  EXPECT_EQ(all[7].type, "");
  EXPECT_EQ(shown(all[8].initial.at(0)), "at[](x, 0)");
}

TEST(ReferenceSource, StatementsKeepTheirParts) {
  const auto body = body_of("for (int i = 0; i < n; i++) if (x[i] > 0) continue; else y[i] = 1; for (const auto& e : v) s += e; while (n > 0) --n; const auto g = [&](int i) { return i; };");
  ASSERT_EQ(body.size(), 4u);
  EXPECT_EQ(body[0].kind, Statement::Kind::loop);
  EXPECT_EQ(shown(body[0].step.at(0)), "p++(i)");
  const Statement& branch = body[0].body.at(0);
  EXPECT_EQ(branch.kind, Statement::Kind::branch);
  EXPECT_EQ(branch.first.at(0).kind, Statement::Kind::leave);
  EXPECT_EQ(branch.body.at(0).kind, Statement::Kind::expression);
  EXPECT_EQ(body[1].kind, Statement::Kind::range_loop);
  EXPECT_TRUE(body[1].declared.at(0).reference);
  EXPECT_EQ(shown(body[2].body.at(0).condition.at(0)), "u--(n)");
  EXPECT_EQ(body[3].declared.at(0).initial.at(0).parameters.at(0).name, "i");
}

TEST(ReferenceSource, VariablesOfAStructAreItsMembers) {
  const auto functions = read("struct Best { double value = -1; int index; };\nstruct Odd { int a[3]; };\n"
                              "double score(const Best b, int k) { return b.value * k; }\n"
                              "void f(const float* x, float* y, int n) { Best best{x[0]}; Best next = best; best.value += 2; next = {x[1], n}; best = next; y[0] = score(best, n); Odd odd; odd.a[0] = 1; }");
  ASSERT_EQ(functions.size(), 2u);
  ASSERT_EQ(functions[0].parameters.size(), 3u);
  EXPECT_EQ(functions[0].parameters[1].name, "b.index");
  const auto& body = functions[1].body;
  ASSERT_EQ(body.size(), 8u);
  ASSERT_EQ(body[0].declared.size(), 2u);
  EXPECT_EQ(body[0].declared[1].name + " " + body[0].declared[1].type + " " + shown(body[0].declared[1].initial.at(0)), "best.index int 0");
  EXPECT_EQ(shown(body[1].declared.at(0).initial.at(0)), "best.value");
  EXPECT_EQ(shown(body[2].condition[0]), "=+=(best.value, 2)");
  EXPECT_EQ(shown(body[3].condition[0]), "list,(==(next.value, at[](x, 1)), ==(next.index, n))");
  EXPECT_EQ(shown(body[4].condition[0]), "list,(==(best.value, next.value), ==(best.index, next.index))");
  EXPECT_EQ(shown(body[5].condition[0]), "==(at[](y, 0), call(score, best.value, best.index, n))");
  EXPECT_EQ(shown(body[7].condition[0]), "==(at[](membera(odd), 0), 1)");
}

// In order, the second value would be the first one's new value.
TEST(ReferenceSource, MembersThatChangePlacesAreNotTakenApart) {
  const auto functions = read("struct P { int a, b; };\nvoid f(const float* x, float* y, int n) { P p{1, n}; p = {p.b, p.a}; }");
  EXPECT_EQ(shown(functions.at(0).body.at(1).condition.at(0)), "==(p, list{(p.b, p.a))");
}

TEST(ReferenceSource, WhatIsNotLookedThroughIsOpaqueAndItsStatementsAreThere) {
  const auto body = body_of("switch (n) { case 1: y[0] = 1; }\n#if A\ny[0] = 2;\n#endif\n");
  ASSERT_EQ(body.front().kind, Statement::Kind::opaque);
  EXPECT_EQ(std::count_if(body.begin(), body.end(), [](const Statement& s) { return s.kind == Statement::Kind::opaque; }), 3);   // the switch, its case, the #if
  EXPECT_EQ(std::count_if(body.begin(), body.end(), [](const Statement& s) { return s.kind == Statement::Kind::expression; }), 2);
  EXPECT_EQ(expression_of("y[0] = sizeof(float)"), "==(at[](y, 0), ?)");
}

TEST(ReferenceSource, FunctionsOfTheWholeTextAreFoundAndBrokenOnesSaySo) {
  const auto functions = read("template <class T> static T square(const T& v) { return v * v; }\nnamespace { struct P { float at(int i) const { return i; } }; }\nextern \"C\" void f(const std::vector<float>& x, int n = 3) {}\nint g(int a) { return a +; }\n");
  ASSERT_EQ(functions.size(), 4u);
  EXPECT_EQ(functions[0].name, "square");
  EXPECT_EQ(functions[1].name, "at");
  EXPECT_TRUE(functions[2].parameters.at(0).container && functions[2].parameters.at(0).reference);
  EXPECT_EQ(functions[2].parameters.at(1).name, "n");
  EXPECT_TRUE(functions[2].parses);
  EXPECT_FALSE(functions[3].parses);
  EXPECT_EQ(find(functions, "f"), &functions[2]);
  EXPECT_EQ(find(functions, "h"), nullptr);
}

TEST(ReferenceSource, DeepNestingEnds) {
  std::string text = "y[0] = ";
  for (int i = 0; i < 3000; ++i) text += "(1 + ";
  text += "x[0]" + std::string(3000, ')');
  EXPECT_NE(expression_of(text).find('?'), std::string::npos);
}

}  // namespace
}  // namespace kforge::propose::reference
