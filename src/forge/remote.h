// One check as text: what `kforge worker` reads and answers, and what `--device 'cmd:...'` sends. Lines of JSON, one document each:
//
//   request    {"schema": "kforge.request/1", "id": N, "task": NAME, "candidate": NAME, "files": {NAME: TEXT, ...}, "options": {...}}
//   answers    {"id": N, "progress": TEXT} any number of times, then {"id": N, "verdict": {...}} or {"id": N, "error": {code, message, hint}}
//
// The files are the task's folder and the candidate; the other side builds, runs and judges, so that nothing but text crosses.
#pragma once

#include <string>

#include "kforge/check.h"
#include "task/task.h"

namespace kforge::forge {

// Errors: bad_input (no such file, files of the task outside its folder or too large).
Expected<std::string> request_line(const CheckOptions& options, const task::Task& task, const std::string& candidate, std::uint64_t id);

// Runs `command` (words; no shell) with one request and reads its answer. Errors: the other side's; failed (it ended without an answer).
Expected<Verdict> check_by_command(const std::string& command, const CheckOptions& options, const task::Task& task, const std::string& candidate);

}  // namespace kforge::forge
