// Plans as TOML that a person may edit (docs/plan.md): written with comments that say what each part does, read with the place of every
// mistake. What is written is read back as the same plan.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "propose/pattern.h"
#include "propose/planner.h"
#include "task/expression.h"
#include "task/section.h"

namespace kforge::propose {
namespace {

using task::Done;
using task::Field;
using task::Reading;
using task::TomlValue;
using Kind = TomlValue::Kind;

// ---- Writing

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += fmt::format("\\{}", c);
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else out += c;
  }
  return out + "\"";
}

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "0"; }

std::string sizes_text(const std::map<std::string, std::int64_t>& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, value);
  return "{" + out + "}";
}

std::string parameters_text(const std::map<std::string, std::vector<std::string>>& parameters) {
  std::string out;
  for (const auto& [name, values] : parameters) {
    std::string list;
    for (const std::string& value : values) list += fmt::format("{}{}", list.empty() ? "" : ", ", toml_text(value));
    out += fmt::format("{}{} = [{}]", out.empty() ? "" : ", ", toml_text(name), list);
  }
  return "{" + out + "}";
}

std::string size_text(const PlanSize& size) {
  std::string out = "[[size]]\n";
  out += fmt::format("sizes = {}\n", sizes_text(size.sizes));
  out += fmt::format("operations = {}\nread_bytes = {}\nwrite_bytes = {}\n", number(size.operations), number(size.read_bytes), number(size.write_bytes));
  out += fmt::format("bound = {}\nfloor_us = {}\n", toml_text(size.bound), number(size.floor_us));
  return out + fmt::format("target_us = {}   # the run stops when all targets are met\n\n", number(size.target_us));
}

std::string step_text(const PlanStep& step) {
  std::string out = fmt::format("[[step]]\nid = {}\nenabled = {}\nexpected_gain = {}\ntitle = {}\nwhy = {}\nrule = {}\n", toml_text(step.id), step.enabled,
                                number(step.expected_gain), toml_text(step.title), toml_text(step.why), toml_text(step.rule));
  if (!step.parameters.empty()) out += fmt::format("parameters = {}\n", parameters_text(step.parameters));
  return out + "\n";
}

// ---- Reading

struct Draft {
  Plan plan;
};

template <class T>
Done put(Expected<T> value, T& out) {
  if (!value) return Unexpected(value.error());
  out = std::move(*value);
  return {};
}

Done read_possibly_empty(const TomlValue& value, std::string& out) {
  if (auto kind = task::expect(value, Kind::string); !kind) return kind;
  out = value.text;
  return {};
}

Done read_amount(const TomlValue& value, double& out) {
  auto amount = task::read_number(value);
  if (!amount) return Unexpected(amount.error());
  if (*amount < 0) return task::wrong_value(value, fmt::format("{} is negative", *amount), "an amount is 0 or more");
  out = *amount;
  return {};
}

constexpr std::array<Field<PatternGuess>, 3> kPatternFields{{
    {"name", true,
     [](const TomlValue& v, PatternGuess& g, const Reading&) -> Done {
       if (auto text = put(task::read_text(v), g.pattern); !text) return text;
       if (g.pattern == "unknown" || is_pattern(g.pattern)) return {};
       const std::string near = nearest_pattern(g.pattern);
       return task::wrong_value(v, fmt::format("unknown pattern '{}'", task::printable(g.pattern)), near.empty() ? "docs/plan.md lists them; or unknown" : fmt::format("did you mean '{}'?", near));
     }},
    {"confidence", false,
     [](const TomlValue& v, PatternGuess& g, const Reading&) -> Done {
       if (auto done = read_amount(v, g.confidence); !done) return done;
       if (g.confidence <= 1) return {};
       return task::wrong_value(v, fmt::format("a confidence of {} is more than 1", g.confidence), "0 to 1");
     }},
    {"why", false, [](const TomlValue& v, PatternGuess& g, const Reading&) { return read_possibly_empty(v, g.why); }},
}};

Done read_sizes(const TomlValue& value, std::map<std::string, std::int64_t>& out) {
  if (auto kind = task::expect(value, Kind::table); !kind) return kind;
  for (const auto& entry : value.entries) {
    if (!task::is_identifier(entry.key)) return fail(ErrorCode::bad_input, fmt::format("'{}' is no size name", task::printable(entry.key)), entry.where, "letters, digits and _");
    if (auto kind = task::expect(entry.value, Kind::integer); !kind) return kind;
    if (entry.value.integer < 1) return task::wrong_value(entry.value, fmt::format("{} = {}: a size is at least 1", entry.key, entry.value.integer), "give a positive integer");
    out[entry.key] = entry.value.integer;
  }
  return {};
}

constexpr std::array<Field<PlanSize>, 7> kSizeFields{{
    {"sizes", true, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_sizes(v, s.sizes); }},
    {"operations", false, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_amount(v, s.operations); }},
    {"read_bytes", false, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_amount(v, s.read_bytes); }},
    {"write_bytes", false, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_amount(v, s.write_bytes); }},
    {"bound", false, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_possibly_empty(v, s.bound); }},
    {"floor_us", false, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_amount(v, s.floor_us); }},
    {"target_us", true, [](const TomlValue& v, PlanSize& s, const Reading&) { return read_amount(v, s.target_us); }},
}};

Done read_parameters(const TomlValue& value, std::map<std::string, std::vector<std::string>>& out) {
  if (auto kind = task::expect(value, Kind::table); !kind) return kind;
  for (const auto& entry : value.entries) {
    if (auto kind = task::expect(entry.value, Kind::array); !kind) return kind;
    if (entry.value.items.empty())
      return task::wrong_value(entry.value, fmt::format("no value is left for '{}'", task::printable(entry.key)), "name the values that may be tried, or leave the parameter out");
    for (const TomlValue& item : entry.value.items) {
      if (item.kind == Kind::integer) {
        out[entry.key].push_back(std::to_string(item.integer));
        continue;
      }
      auto text = task::read_text(item);
      if (!text) return Unexpected(text.error());
      out[entry.key].push_back(std::move(*text));
    }
  }
  return {};
}

constexpr std::array<Field<PlanStep>, 7> kStepFields{{
    {"id", true,
     [](const TomlValue& v, PlanStep& s, const Reading&) -> Done {
       if (auto text = put(task::read_text(v), s.id); !text) return text;
       for (const std::string_view kind : {"template:", "transform:", "strategy:"})
         if (s.id.starts_with(kind) && s.id.size() > kind.size()) return {};
       return task::wrong_value(v, fmt::format("'{}' is no step", task::printable(s.id)), "template:NAME, transform:NAME or strategy:NAME");
     }},
    {"enabled", false,
     [](const TomlValue& v, PlanStep& s, const Reading&) -> Done {
       s.enabled = v.boolean;
       return task::expect(v, Kind::boolean);
     }},
    {"expected_gain", false,
     [](const TomlValue& v, PlanStep& s, const Reading&) -> Done {
       if (auto done = read_amount(v, s.expected_gain); !done) return done;
       if (s.expected_gain > 0) return {};
       return task::wrong_value(v, "an expected gain of 0", "time before over time after: 2 is twice as fast");
     }},
    {"title", false, [](const TomlValue& v, PlanStep& s, const Reading&) { return read_possibly_empty(v, s.title); }},
    {"why", false, [](const TomlValue& v, PlanStep& s, const Reading&) { return read_possibly_empty(v, s.why); }},
    {"rule", false, [](const TomlValue& v, PlanStep& s, const Reading&) { return read_possibly_empty(v, s.rule); }},
    {"parameters", false, [](const TomlValue& v, PlanStep& s, const Reading&) { return read_parameters(v, s.parameters); }},
}};

Done read_all_sizes(const TomlValue& value, Draft& draft, const Reading& reading) {
  if (auto kind = task::expect(value, Kind::array); !kind) return kind;
  for (const TomlValue& item : value.items) {
    PlanSize size;
    if (auto done = task::read_table<PlanSize>(item, "[[size]]", kSizeFields, size, reading); !done) return done;
    draft.plan.sizes.push_back(std::move(size));
  }
  return {};
}

Done read_all_steps(const TomlValue& value, Draft& draft, const Reading& reading) {
  if (auto kind = task::expect(value, Kind::array); !kind) return kind;
  std::set<std::string> seen;
  for (const TomlValue& item : value.items) {
    PlanStep step;
    if (auto done = task::read_table<PlanStep>(item, "[[step]]", kStepFields, step, reading); !done) return done;
    if (!seen.insert(step.id).second) return task::wrong_value(item, fmt::format("the step '{}' is there twice", step.id), "remove one, or join their parameters");
    draft.plan.steps.push_back(std::move(step));
  }
  return {};
}

constexpr std::array<Field<Draft>, 6> kPlanFields{{
    {"task", true, [](const TomlValue& v, Draft& d, const Reading&) { return put(task::read_text(v), d.plan.task); }},
    {"gpu", true, [](const TomlValue& v, Draft& d, const Reading&) { return put(task::read_text(v), d.plan.gpu); }},
    {"notes", false, [](const TomlValue& v, Draft& d, const Reading&) { return put(task::read_texts(v), d.plan.notes); }},
    {"pattern", true,
     [](const TomlValue& v, Draft& d, const Reading& r) { return task::read_table<PatternGuess>(v, "[pattern]", kPatternFields, d.plan.guess, r); }},
    {"size", false, read_all_sizes},
    {"step", false, read_all_steps},
}};

}  // namespace

std::string plan_to_toml(const Plan& plan) {
  std::string out = fmt::format(
      "# A plan for the task `{}` on {}. Edit it and give it to: kforge optimize TASK --plan THIS\n"
      "# Steps are tried from top to bottom: move them, switch them off (enabled = false), restrict a template's parameters\n"
      "# (parameters = {{threads = [\"128\", \"256\"]}}). Times are of the model and of the data sheet, not measured.\n",
      plan.task, plan.gpu);
  out += fmt::format("task = {}\ngpu = {}\nnotes = [\n", toml_text(plan.task), toml_text(plan.gpu));
  for (const std::string& note : plan.notes) out += fmt::format("  {},\n", toml_text(note));
  out += fmt::format("]\n\n[pattern]\nname = {}\nconfidence = {}\nwhy = {}\n\n", toml_text(plan.guess.pattern), number(plan.guess.confidence), toml_text(plan.guess.why));
  for (const PlanSize& size : plan.sizes) out += size_text(size);
  for (const PlanStep& step : plan.steps) out += step_text(step);
  return out;
}

Expected<Plan> parse_plan(std::string_view text, const std::string& file) {
  auto root = task::parse_toml(text, file);
  if (!root) return Unexpected(root.error());
  if (root->where.line == 0) root->where = {file, 1, 1};
  Draft draft;
  if (auto done = task::read_table<Draft>(*root, "the plan", kPlanFields, draft, {}); !done) {
    Error error = done.error();
    if (error.hint == "see docs/task-file.md") error.hint = "see docs/plan.md";
    return Unexpected(std::move(error));
  }
  return std::move(draft.plan);
}

}  // namespace kforge::propose
