// Expected failures are values. A function that can fail for a reason outside this program (a bad
// file, a missing tool, a full disk) returns Expected<T>; exceptions mean a bug in Kernel Forge.
//
// An Error says what was expected and what was found (`message`), where (`where`), and what to do
// (`hint`). Nothing prints from a library room: the command line turns the Error into text and the
// code into an exit status (design.md, "Verdict").
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace kforge {

enum class ErrorCode {
  bad_input,    // the call or the task is wrong: exit 2
  missing,      // something is missing on this machine (tool, library, GPU): exit 3
  unsupported,  // understood, but not supported by this version or target: exit 3
  limit,        // a budget or limit was exceeded
  failed,       // an outside thing failed: I/O, a tool that crashed: exit 3
};

// A place in a text that a person can open. `line` and `column` count from 1; 0 is unknown.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Error {
  ErrorCode code = ErrorCode::failed;
  std::string message;
  Where where;
  std::string hint;
};

template <class T>
using Expected = tl::expected<T, Error>;
using Unexpected = tl::unexpected<Error>;

inline Unexpected fail(ErrorCode code, std::string message, Where where = {}, std::string hint = {}) {
  return Unexpected(Error{code, std::move(message), std::move(where), std::move(hint)});
}

// "file:line:column: message (hint)" with the unknown parts left out.
std::string to_string(const Where& where);
std::string to_string(const Error& error);

}  // namespace kforge
