// `kforge worker`: answers requests on stdin with lines on stdout, for machines without a GPU of their own (forge/remote.h).
#include <cstdio>
#include <iostream>
#include <string>

#include "cli/commands.h"

namespace kforge::cli {

int run(const WorkerArguments& arguments) {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    answer_request(line, arguments.device, [](const std::string& answer) {
      std::fputs(answer.c_str(), stdout);
      std::fflush(stdout);
    });
  }
  return 0;
}

}  // namespace kforge::cli
