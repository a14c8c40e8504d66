// For the tests of syntax trees and of what is built on them: finds the grammar of the checkout under test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "syntax/program.h"

namespace kforge::syntax::testing {

inline Program parsed(const std::string& source) {
  setenv("KFORGE_ROOT", KFORGE_SOURCE_DIR, 0);
  auto program = Program::parse(source);
  if (!program) throw std::runtime_error(to_string(program.error()));
  return *program;
}

}  // namespace kforge::syntax::testing
