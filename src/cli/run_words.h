// `kforge run PROGRAM.cu -I.. -D.. -- ARGS`: what belongs to nvcc, and what to the program, before the parser library sees the rest.
#pragma once

#include <string>
#include <vector>

namespace kforge::cli {

struct RunWords {
  std::vector<std::string> ours;         // options of kforge and the files
  std::vector<std::string> build;        // options of nvcc, each with its value
  std::vector<std::string> program;      // after --
};

// `words`: those after "run".
RunWords split_run_words(const std::vector<std::string>& words);

}  // namespace kforge::cli
