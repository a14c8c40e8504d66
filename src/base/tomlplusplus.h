// toml++ with the one set of settings that all its users share (they end up in one program): errors are values, and nested values
// stop long before the stack does. Its assertions (3.3) fire on some malformed keys where the code behind them gives a proper
// error, so they are off; without NDEBUG none of them becomes an assumption of the optimiser either. Compiles slowly: .cc files only.
#pragma once

#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>
