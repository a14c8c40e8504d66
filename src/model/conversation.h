// One move's conversation with the model: the prompt, its calls of tools, and its answer, which may be asked for again where it holds no kernel.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "model/answer.h"
#include "model/model_proposer.h"

namespace kforge::model {

struct Talk {
  std::optional<Extracted> answer;               // what the model gives as its answer
  std::vector<Extracted> checked;                // other kernels that it had checked on the way
  std::optional<Error> failure;                  // the model could not be asked: as ModelProposer::failure
};

// `shared`: held while the setup's functions are called, since several conversations may go on at once.
Talk converse(const ModelSetup& setup, std::mutex& shared, const task::Task& task, const std::string& system, const std::string& prompt);

inline constexpr std::string_view kFinish = "finish";

}  // namespace kforge::model
