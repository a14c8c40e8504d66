// The table of tools, and what follows from a row: schema and check of arguments.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "mcp/tool.h"

namespace kforge::mcp {
namespace {

using enum ParameterKind;

constexpr Parameter kTask{"task", text, true, "Path of the task file (TOML)", 0, 4096};
constexpr Parameter kCandidate{"candidate", text, false, "Path of a .cu file; without it and without `source`: naive.cu beside the task file", 0, 4096};
constexpr Parameter kSource{"source", text, false, "The candidate's CUDA C++ text itself, in place of a path", 0, 4 << 20};
constexpr Parameter kGpu{"gpu", text, false, "Data sheet of the GPU to emulate (gpu_sheet lists them); default: the task's", 0, 4096};
constexpr Parameter kSeed{"seed", integer, false, "Seed of the inputs; default 1", 0, 1'000'000'000};
constexpr Parameter kRun{"run", text, false, "A run: its name, a unique prefix, or \"last\"", 0, 200};

constexpr std::array kPlan{kTask, kGpu};
constexpr std::array kCheck{kTask, kCandidate, kSource, kGpu, kSeed,
                            Parameter{"only_correctness", boolean, false, "Judge correctness alone: quicker, no time"},
                            Parameter{"findings", integer, false, "Findings in the answer; default 5", 1, 100}};
constexpr std::array kProfile{kTask, kCandidate, kSource, kGpu, kSeed, Parameter{"lines", integer, false, "Source lines in the answer; default 12", 1, 200}};
constexpr std::array kCompare{kTask, Parameter{"candidates", texts, false, "Paths of .cu files", 0, 16}, Parameter{"sources", texts, false, "Texts of candidates, in place of paths", 0, 16}, kGpu, kSeed};
constexpr std::array kExplain{Parameter{"verdict", text, false, "Handle of a verdict, as check_candidate gave it", 0, 200},
                              Parameter{"finding", integer, false, "Which of its findings, from 1; default 1", 1, 10'000},
                              Parameter{"contract", text, false, "In place of a verdict: the id of a contract, such as shared.banks", 0, 100}};
constexpr std::array kKnowledge{Parameter{"words", text, true, "Words that a rule must hold, or a compiler's message", 0, 2'000}, Parameter{"count", integer, false, "Rules at most; default 5", 1, 100}};
constexpr std::array kContext{Parameter{"query", text, true, "Words to look for; any may be there, more are better", 0, 2'000}, Parameter{"count", integer, false, "Passages at most; default 4", 1, 50}};
constexpr std::array kSweep{kTask, kCandidate, kSource, kGpu, kSeed,
                            Parameter{"parameters", choices, true,
                                      "Names and their values: {\"TILE\": [16, 32]}. The source defines each name once, by `#define TILE 16` or `constexpr int TILE = 16;`"},
                            Parameter{"points", integer, false, "Points judged at most; default 16", 1, 256}};
constexpr std::array kRuns{Parameter{"count", integer, false, "Runs at most, latest first; default 10", 1, 1'000}};
constexpr std::array kBest{kRun};
constexpr std::array kSheet{Parameter{"gpu", text, false, "Name of a data sheet; without it: all of them", 0, 4096}};

constexpr std::array kTools{
    Tool{"plan_task", "Plan a task", "Says what a task computes, what bounds it on the GPU, how fast it can be, and what to try in which order and why.", kPlan, false, plan_task},
    Tool{"check_candidate", "Judge a candidate",
         "Builds a CUDA kernel, runs it on an emulated GPU against the task's contracts (right results, no races, coalesced memory, no bank conflicts, ...) and answers accepted or rejected, with each fault at "
         "its source line and what to do. Takes seconds; use it after every change.",
         kCheck, false, check_candidate},
    Tool{"profile_candidate", "Profile a candidate", "Counts what the kernels do, per source line: instructions, active lanes, memory sectors and shared-memory wavefronts against the ideal.", kProfile, false, profile_candidate},
    Tool{"compare", "Compare candidates", "Judges several candidates of one task and ranks them by time.", kCompare, false, compare},
    Tool{"explain_finding", "Explain a finding", "Why a finding is slow or wrong on this hardware, the rule behind it, what to do, with a kernel before and after.", kExplain, false, explain_finding},
    Tool{"search_knowledge", "Search the knowledge base", "Rules about right and fast kernels, and causes and fixes of compiler messages.", kKnowledge, false, search_knowledge_tool},
    Tool{"search_context", "Search the context folders", "Passages of the documents and code that the user lent to this server, cited by file and lines.", kContext, false, search_context_tool},
    Tool{"sweep_parameters", "Sweep parameters", "Judges one source with other values of its parameters and ranks the points by time.", kSweep, false, sweep_parameters},
    Tool{"list_runs", "List runs", "Runs of `kforge optimize` in the store.", kRuns, false, list_runs_tool},
    Tool{"get_best", "Best kernel of a run", "The kernel that a run delivered, its time and how it came about.", kBest, false, get_best},
    Tool{"gpu_sheet", "GPU data sheets", "Limits, rates and latencies of a GPU, or the list of GPUs.", kSheet, false, gpu_sheet},
};

bool is_scalar(const Json& value) { return value.is_string() || value.is_number_integer(); }

std::string value_fault(const Parameter& p, const Json& value) {
  const auto bounded = [&](std::size_t size) { return p.most > 0 && size > static_cast<std::size_t>(p.most) ? fmt::format("is longer than {}", p.most) : std::string(); };
  switch (p.kind) {
    case text: return value.is_string() ? bounded(value.get_ref<const std::string&>().size()) : "must be a string";
    case boolean: return value.is_boolean() ? "" : "must be true or false";
    case integer:
      if (!value.is_number_integer()) return "must be an integer";
      return value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(p.most) ? fmt::format("must be at most {}", p.most)
             : value.get<std::int64_t>() < p.least                                                          ? fmt::format("must be at least {}", p.least)
                                                                                                            : "";
    case texts:
      if (!value.is_array() || !std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); })) return "must be a list of strings";
      return bounded(value.size());
    case choices:
      if (!value.is_object() || value.empty()) return "must be an object of names and lists of values";
      for (const Json& list : value)
        if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_scalar)) return "must give each name a list of integers or strings";
      return "";
  }
  return "";
}

Json schema_of(const Parameter& p) {
  Json out;
  switch (p.kind) {
    case text: out = {{"type", "string"}, {"maxLength", p.most}}; break;
    case integer: out = {{"type", "integer"}, {"minimum", p.least}, {"maximum", p.most}}; break;
    case boolean: out = {{"type", "boolean"}}; break;
    case texts: out = {{"type", "array"}, {"items", {{"type", "string"}}}, {"maxItems", p.most}}; break;
    case choices:
      out = {{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"minItems", 1}, {"items", {{"type", Json::array({"integer", "string"})}}}}}, {"minProperties", 1}};
      break;
  }
  out["description"] = p.what;
  return out;
}

}  // namespace

std::span<const Tool> tools() { return kTools; }

const Tool* find_tool(std::string_view name) {
  const auto found = std::find_if(kTools.begin(), kTools.end(), [&](const Tool& tool) { return tool.name == name; });
  return found == kTools.end() ? nullptr : &*found;
}

Json schema_of(const Tool& tool) {
  Json properties = Json::object(), required = Json::array();
  for (const Parameter& p : tool.parameters) {
    properties[std::string(p.name)] = schema_of(p);
    if (p.required) required.push_back(p.name);
  }
  Json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

std::string argument_fault(const Tool& tool, const Json& arguments) {
  std::vector<std::string_view> known;
  for (const Parameter& p : tool.parameters) {
    known.push_back(p.name);
    const auto given = arguments.find(std::string(p.name));
    if (given == arguments.end()) {
      if (p.required) return fmt::format("the argument \"{}\" is missing: {}", p.name, p.what);
      continue;
    }
    if (const std::string fault = value_fault(p, *given); !fault.empty()) return fmt::format("the argument \"{}\" {}", p.name, fault);
  }
  for (const auto& [name, value] : arguments.items())
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest(name, std::span<const std::string_view>(known));
      return fmt::format("{} takes no argument \"{}\"{}", tool.name, name.substr(0, 60), near ? fmt::format("; did you mean \"{}\"?", *near) : "");
    }
  return {};
}

}  // namespace kforge::mcp
