// `kforge mcp`: the agent protocol over standard input and output, or over HTTP on the loopback interface.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"

namespace kforge::cli {
namespace {

Expected<std::string> token_of(const McpArguments& arguments) {
  if (!arguments.token_file.empty()) {
    const auto text = read_file(arguments.token_file, 4096);
    if (!text) return Unexpected(text.error());
    if (trim(*text).empty()) return fail(ErrorCode::bad_input, "the file holds no token", {arguments.token_file, 0, 0});
    return std::string(trim(*text));
  }
  const char* named = std::getenv("KFORGE_MCP_TOKEN");
  return std::string(named ? named : "");
}

}  // namespace

int run(const McpArguments& arguments) {
  mcp::ServerOptions options = arguments.options;
  options.say = [](const std::string& line) { fmt::print(stderr, "kforge mcp: {}\n", line); };
  const auto token = token_of(arguments);
  if (!token) return report_error(token.error());
  options.token = *token;
  ::unsetenv("KFORGE_MCP_TOKEN");   // nothing that is started here inherits it
  const auto served = arguments.http ? mcp::serve_http(options) : mcp::serve_stdio(options);
  const int code = served ? 0 : report_error(served.error());
  std::fflush(nullptr);
  std::_Exit(code);   // a call that did not end in time dies with the process, and what it started with it
}

}  // namespace kforge::cli
