// Models that need no server: a program, a person or an agent who writes files, a recorded run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "llm/chat.h"

namespace kforge::llm {

// The prompt (chat.h, transcript) goes to the program's standard input; what it prints is the answer. No shell. Errors: missing, failed (it fails, says nothing,
// takes longer than `seconds`), limit (it prints more than `answer_bytes`).
std::unique_ptr<Client> command_client(std::vector<std::string> arguments, double seconds, std::uint64_t answer_bytes);

// Writes the prompt to FOLDER/prompt-N.md and waits for FOLDER/answer-N.md, which counts once it has not changed for `settle_seconds`. A prompt that is there
// already keeps its number, so that a resumed run takes up its answer.
std::unique_ptr<Client> manual_client(std::filesystem::path folder, double settle_seconds = 0.6);

// Answers as the record does (record.h). `in_order`: whatever is asked; else the request must be one of the record. Errors: limit (every answer was given),
// bad_input (no recorded request is this one).
Expected<std::unique_ptr<Client>> replay_client(const std::string& file, bool in_order);

}  // namespace kforge::llm
