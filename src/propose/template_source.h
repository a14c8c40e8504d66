// Reads a C++ reference into a small syntax tree: the subset of C++ in which references are written (loops over sizes, declarations,
// assignments, branches, lambdas that return a value, arithmetic and calls). What lies outside the subset becomes an `opaque`
// statement, which the lifting (template_lift.h) refuses to look through: nothing is guessed here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::propose {

struct SourceExpr {
  enum class Kind { number, name, call, index, unary, binary, ternary, cast, assign, post };
  Kind kind = Kind::number;
  std::string text;              // number or name as written (without "std::"); operator; type of a cast; function of a call
  std::vector<SourceExpr> args;  // index: base, then the index; assign: target, value ("=" "+=" ...); post: "++" or "--"
};

struct SourceStatement {
  enum class Kind { declare, lambda, expression, loop, branch, give_back, opaque };
  Kind kind = Kind::opaque;
  std::string name;                          // declared name, loop variable, lambda
  std::string type;                          // of a declaration, pointer stars included
  std::vector<std::string> parameters;       // of a lambda
  std::optional<SourceExpr> value;           // initial value, expression, condition, loop start, returned value
  std::optional<SourceExpr> end;             // of a loop, exclusive
  std::vector<SourceStatement> body, otherwise;
};

struct SourceParameter {
  std::string type, name;
};

struct SourceFunction {
  std::string name;
  std::vector<SourceParameter> parameters;
  std::vector<SourceStatement> body;
};

// The definition of `function` in `text`; nothing when it is not there or its parameters cannot be read.
std::optional<SourceFunction> parse_reference(std::string_view text, std::string_view function);

}  // namespace kforge::propose
