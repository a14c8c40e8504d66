// The CUDA grammar: a table that the parser runs on, in a shared object of its own.
//
// It is opened at run time, like everything that comes from elsewhere: the program starts without it, `kforge doctor` names it when it
// is missing, and only what needs a syntax tree fails. The object is the one of the PyPI wheel `tree-sitter-cuda` (tools/grammar-wheels.txt),
// whose symbol `tree_sitter_cuda` gives the table; nothing of Python is called.
#pragma once

#include <string>

#include "base/error.h"

namespace kforge::syntax {

// Where the grammar is: $KFORGE_GRAMMAR (a file); else the project's .kforge/grammar; else libtree-sitter-cuda.so beside the program.
// Errors: missing, with how to get it.
Expected<std::string> find_grammar();

// The opened table (a TSLanguage); opened once and kept. Errors: missing; unsupported (a table of another version than our parser's).
Expected<const void*> load_grammar();

}  // namespace kforge::syntax
