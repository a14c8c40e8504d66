// Runs and verdicts that a command names: by id in the store, by file, or on stdin.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "kforge/error.h"
#include "kforge/figures.h"
#include "kforge/run.h"
#include "kforge/verdict.h"

namespace kforge::cli {

using Document = std::variant<RunRecord, Verdict>;

// "-" is stdin; a file that exists is read as JSON (kforge.run/1 or kforge.verdict/1); anything else is a run of the store. `figures`, unless null, takes
// what was counted by source line, where a run has it.
Expected<Document> read_document(const std::string& name, const std::string& store, std::vector<KernelFigures>* figures = nullptr);
// The same, and a verdict is an error.
Expected<RunRecord> read_run_document(const std::string& name, const std::string& store);

}  // namespace kforge::cli
