// The tools that a model may call (model/tool_row.h), over whatever judges.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/judge_candidate.h"
#include "kforge/candidate.h"
#include "model/tool_row.h"

namespace kforge::forge {

using model::ToolAnswer;
using model::ToolRow;

// check, profile, finding, ptx, sass, sweep, search_knowledge, search_context, read_context: in this order.
std::span<const ToolRow> model_tools();

struct ToolBoxSetup {
  std::function<Expected<Judgement>(const Candidate&)> judge;
  std::vector<std::string> context;      // folders
  std::function<const std::string*(const std::string& id)> known_source;   // of candidates that were not checked here; may be empty
};

class ToolBox {
 public:
  explicit ToolBox(ToolBoxSetup setup) : s_(std::move(setup)) {}

  struct Checked { Candidate candidate; Judgement judgement; };
  ToolAnswer call(std::string_view name, std::string_view arguments);
  const Checked* find(const std::string& id) const;

 private:
  Expected<const Checked*> judged(const std::string& source);

  ToolBoxSetup s_;
  std::map<std::string, Checked> checked_;
  friend struct Tools;
};

}  // namespace kforge::forge
