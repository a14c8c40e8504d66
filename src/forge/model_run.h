// The language model of a run of `optimize`: its client and budget, its proposer, its messages in the store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forge/journal.h"
#include "forge/tool_box.h"
#include "kforge/optimize.h"
#include "llm/budget.h"
#include "llm/chat.h"
#include "model/model_proposer.h"
#include "store/store.h"

namespace kforge::forge {

// What the model's part of a run needs of the rest.
struct ModelSurroundings {
  store::Store* store = nullptr;
  Journal* journal = nullptr;
  std::string reference;                         // the reference's text, or ""
  std::string device;                            // "emulated h200"
  std::function<double()> seconds;               // since the run began
  std::function<Expected<Judgement>(const Candidate&)> judge;   // of tools
  std::function<std::optional<std::string>(const std::string& prompt)> review;   // may be empty
  std::function<bool()> cancelled;
  std::function<void(std::string_view)> told;
};

class ModelRun {
 public:
  // Errors: bad_input (options, key's file, a price that is unknown and is to be kept to), missing (no key), as llm::open_client.
  static Expected<std::unique_ptr<ModelRun>> open(const ModelOptions& options, ModelSurroundings around);

  // Once; *this outlives it.
  std::unique_ptr<propose::Proposer> proposer();
  std::optional<Error> failure() const { return proposer_ ? proposer_->failure() : std::nullopt; }
  // "12 answers, 41.2 k tokens in, 8.1 k out, price unknown"
  std::string summary() const;

 private:
  ModelRun(const ModelOptions& options, ModelSurroundings around) : o_(options), around_(std::move(around)) {}
  Expected<void> set_up();
  Expected<void> load_messages();
  Expected<void> keep(const llm::Request& request, const llm::Answer& answer);
  std::optional<llm::Answer> recall(const std::string& request);

  ModelOptions o_;
  ModelSurroundings around_;
  bool tools_ = false;
  std::unique_ptr<llm::Client> client_;
  std::optional<llm::Spending> spending_;
  std::optional<ToolBox> box_;
  std::multimap<std::string, llm::Answer> known_;    // of this run before it was resumed
  std::size_t answers_ = 0;
  model::ModelProposer* proposer_ = nullptr;
};

// What is wrong with the options, before a run begins: errors as ModelRun::open.
Expected<void> check_model(const ModelOptions& options);

// The options of a model as the store keeps them for a resumed run, and back.
std::vector<std::string> model_words(const ModelOptions& options);
ModelOptions model_of_words(const std::vector<std::string>& words);

}  // namespace kforge::forge
