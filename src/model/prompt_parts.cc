#include "model/prompt_parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "build/wrapper.h"
#include "hardware/roofline.h"
#include "kforge/knowledge.h"
#include "model/standing.h"
#include "model/verdict_text.h"
#include "trial/trial.h"

namespace kforge::model {
namespace {

using propose::Situation;
using propose::Tried;

constexpr std::size_t kRules = 5, kSteps = 6, kPassages = 4, kAttempts = 20;
constexpr std::size_t kLongestSource = 24'000;   // bytes of a kernel that is shown

std::string time_text(double us) { return us > 0 ? human_seconds(us * 1e-6) : ""; }

std::string sizes_text(const task::Sizes& sizes, const std::vector<std::string>& order) {
  std::string out;
  for (const std::string& name : order)
    if (const auto found = sizes.find(name); found != sizes.end()) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, found->second);
  return out;
}

std::string values_text(const task::Tensor& t) {
  std::string arguments;
  for (std::size_t i = 0; i < t.values.arguments.size(); ++i) {
    const bool expression = i < t.values.expressions.size() && !t.values.expressions[i].empty();
    arguments += fmt::format("{}{}", i ? ", " : "", expression ? t.values.expressions[i] : fmt::format("{}", t.values.arguments[i]));
  }
  return fmt::format("{}({})", t.values.kind, arguments);
}

std::string numerics_text(const task::Numerics& n) {
  std::string out = fmt::format("compared with the reference element by element{}", n.accumulate ? fmt::format(", as sums in {} allow", task::name(*n.accumulate)) : std::string(", as sums in f32 allow; products in lower precision than the tensors' fail"));
  if (n.reduction) out += fmt::format(", over {} terms", *n.reduction);
  if (n.abs || n.rel) out = fmt::format("within {} + {} |reference|", n.abs.value_or(0), n.rel.value_or(0));
  return out;
}

std::string goal_text(const task::Task& task) {
  if (!task.goal) return {};
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (task.goal->us) add(fmt::format("{:g} us", *task.goal->us));
  if (task.goal->p99_us) add(fmt::format("P99 of {:g} us", *task.goal->p99_us));
  if (task.goal->roofline) add(fmt::format("{:g} of the roofline", *task.goal->roofline));
  if (task.goal->ratio) {
    std::string versus;
    for (const std::string& one : task.goal->versus) versus += (versus.empty() ? "" : ", ") + one.substr(one.rfind('/') + 1);
    add(fmt::format("{:g} times as fast as {}", *task.goal->ratio, versus));
  }
  return out;
}

constexpr std::string_view role_text(task::Role role) { return role == task::Role::in ? "in" : role == task::Role::out ? "out" : "in and out"; }

Fields task_fields(const Situation& s, const PromptOptions& options) {
  const task::Task& task = s.task;
  Fields out;
  const auto order = task.size_names();
  std::string measure;
  for (const task::Sizes& sizes : task.measure) measure += (measure.empty() ? "" : "; ") + sizes_text(sizes, order);
  std::string formula = replace_all(task.formula, "\n", "\n    ");
  out.texts = {{"name", task.name}, {"summary", task.summary}, {"pattern", task.pattern.empty() ? s.plan.guess.pattern : task.pattern}, {"measure", measure}, {"where", join(task.where, ", ")},
               {"numerics", numerics_text(task.numerics)}, {"goal", goal_text(task)}, {"formula", std::string(trim(formula))}, {"reference", options.reference}};
  auto& tensors = out.lists["tensors"];
  bool strided = false;
  for (const task::Tensor& t : task.tensors) {
    strided = strided || !t.strides.empty();
    tensors.push_back({{{"role", std::string(role_text(t.role))}, {"dtype", std::string(task::name(t.dtype))}, {"name", t.name}, {"shape", join(t.shape, ", ")}, {"strides", join(t.strides, ", ")},
                        {"values", t.role == task::Role::out ? "" : values_text(t)}}});
  }
  out.flags["strided"] = strided;
  auto& scalars = out.lists["scalars"];
  for (const task::Scalar& scalar : task.scalars) scalars.push_back({{{"dtype", std::string(task::name(scalar.dtype))}, {"name", scalar.name}, {"value", fmt::format("{:g}", scalar.value)}}});
  out.flags["has_scalars"] = !scalars.empty();
  return out;
}

Fields gpu_fields(const hardware::DataSheet& g) {
  std::string tensor;
  for (const auto& [type, rate] : g.tensor_ops) {
    static_cast<void>(rate);
    tensor += fmt::format("{}{} {:.0f} TFLOP/s", tensor.empty() ? "" : ", ", type, hardware::tensor_ops_per_s(g, type) * 1e-12);
  }
  const auto bytes = [](double n) { return human_bytes(n); };
  return {{{"product", g.product}, {"architecture", g.architecture}, {"sm", std::to_string(g.sm())}, {"multiprocessors", std::to_string(g.multiprocessors)}, {"boost_mhz", fmt::format("{:.0f}", g.boost_mhz)},
           {"dram", fmt::format("{:.0f} GB/s", g.dram_bytes_per_s * 1e-9)}, {"l2", fmt::format("{}, {:.0f} GB/s", bytes(static_cast<double>(g.l2_bytes)), g.l2_bytes_per_s * 1e-9)},
           {"warps_per_sm", std::to_string(g.max_warps_per_sm)}, {"registers", std::to_string(g.registers_per_sm)}, {"shared", bytes(g.shared_bytes_per_sm)}, {"shared_block", bytes(g.shared_bytes_per_block_optin)},
           {"fp32", fmt::format("{:.1f}", hardware::fp32_ops_per_s(g) * 1e-12)}, {"tensor", tensor}}};
}

std::string strategy_line(const Candidate& c) {
  const std::string kind = c.move.id.starts_with("model.") ? c.move.id.substr(6) : c.proposer;
  return fmt::format("{}: {}", kind, c.move.title);
}

Fields plan_fields(const Situation& s) {
  Fields out;
  out.texts = {{"pattern", replace_all(s.plan.guess.pattern, "_", " ")}, {"why", s.plan.guess.why}};
  auto& sizes = out.lists["sizes"];
  const auto order = s.task.size_names();
  for (const PlanSize& size : s.plan.sizes)
    sizes.push_back({{{"size", sizes_text(size.sizes, order)}, {"floor", time_text(size.floor_us)}, {"bound", size.bound}, {"target", time_text(size.target_us)}}});
  auto& steps = out.lists["steps"];
  for (const PlanStep& step : s.plan.steps)
    if (step.enabled && steps.size() < kSteps) steps.push_back({{{"title", step.title}, {"why", step.why}}});
  out.flags["has_steps"] = !steps.empty();
  auto& notes = out.lists["notes"];
  for (const std::string& note : s.plan.notes) notes.push_back({{{"note", note}}});
  return out;
}

// Rules that the findings cite come first, then those of the plan's steps.
std::vector<std::string> rule_ids(const Situation& s, const Tried* on) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  const auto add = [&](const std::string& id) {
    if (!id.empty() && seen.insert(id).second) out.push_back(id);
  };
  if (on)
    for (const Finding& finding : on->findings) add(finding.rule);
  for (const PlanStep& step : s.plan.steps) add(step.rule);
  if (out.size() > kRules) out.resize(kRules);
  return out;
}

Fields rules_fields(const std::vector<std::string>& ids, bool titles_only) {
  Fields out;
  auto& rules = out.lists["rules"];
  for (const std::string& id : ids)
    if (const auto rule = knowledge_rule(id)) rules.push_back({{{"id", id}, {"title", rule->title}, {"text", titles_only ? "" : std::string(trim(rule->what_to_do))}}});
  return out;
}

std::string outcome_of(const Tried& tried, bool bare) {
  if (stage_of(tried) == Stage::screened) {
    const Verdict verdict = verdict_of(tried);
    const std::string why = bare || !verdict.time ? "" : verdict.time->bottleneck;
    return fmt::format("not faster ({} on sampled blocks{}{})", time_text(tried.us), why.empty() ? "" : ": ", why);
  }
  return outcome_line(verdict_of(tried), bare);
}

// The last ones, and the best ones of those before.
Fields attempts_fields(const Situation& s, std::size_t most, bool bare) {
  std::vector<std::size_t> shown;
  for (std::size_t i = s.tried.size(); i-- > 0 && shown.size() < most * 2 / 3;) shown.push_back(i);
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i + shown.size() < s.tried.size(); ++i)
    if (is_right(stage_of(s.tried[i])) || is_models(s.tried[i].candidate)) rest.push_back(i);
  std::stable_sort(rest.begin(), rest.end(), [&](std::size_t a, std::size_t b) {
    const auto us = [&](std::size_t i) { return is_right(stage_of(s.tried[i])) && s.tried[i].us > 0 ? s.tried[i].us : 1e30; };
    return us(a) < us(b);
  });
  for (std::size_t i = 0; i < rest.size() && shown.size() < most; ++i) shown.push_back(rest[i]);
  std::sort(shown.begin(), shown.end());
  Fields out;
  auto& attempts = out.lists["attempts"];
  for (const std::size_t i : shown) {
    const Tried& t = s.tried[i];
    const Tried* parent = find(s.tried, t.candidate.parent);
    attempts.push_back({{{"number", std::to_string(i + 1)}, {"parent", parent ? std::to_string(number_of(s.tried, *parent)) : ""}, {"what", strategy_line(t.candidate)}, {"outcome", outcome_of(t, bare)}}});
  }
  out.texts["omitted"] = shown.size() < s.tried.size() ? std::to_string(s.tried.size() - shown.size()) : "";
  return out;
}

Fields source_fields(const std::string& title, const Tried& tried) {
  std::string source = tried.candidate.source;
  if (source.size() > kLongestSource) source = source.substr(0, kLongestSource) + "\n// ... (cut here)\n";
  while (source.ends_with('\n')) source.pop_back();
  std::string what;
  for (const auto& [name, value] : tried.candidate.parameters) what += fmt::format("{}{} = {}", what.empty() ? "With " : ", ", name, value);
  return {{{"title", title}, {"what", what}, {"source", source}}};
}

Fields context_fields(const std::vector<ContextPassage>& passages) {
  Fields out;
  auto& rows = out.lists["passages"];
  for (const ContextPassage& p : passages)
    rows.push_back({{{"file", p.file}, {"first", std::to_string(p.first_line)}, {"last", std::to_string(p.last_line)}, {"text", replace_all(trim(p.text), "\n", "\n> ")}}});
  return out;
}

std::string query_of(const Situation& s, const WantedMove& move) {
  std::string query = s.plan.guess.pattern + " " + move.strategy;
  if (const Finding* first = move.on ? principal_of(*move.on) : nullptr) query += " " + first->cause + " " + first->message;
  return query;
}

double target_us(const Plan& plan) {
  double target = 0;
  for (const PlanSize& size : plan.sizes) target += size.target_us;
  return target;
}

std::string fault_of(const Tried& tried, bool bare) {
  const Stage stage = stage_of(tried);
  if (bare && stage != Stage::broken && stage != Stage::wrong) return "it was not accepted";
  switch (stage) {
    case Stage::broken: return "it does not build";
    case Stage::wrong: return "it is not right";
    case Stage::slow: return "it is right, but fails a required contract of speed";
    default: return "it was not accepted";
  }
}

std::vector<Fields> differences(const hardware::DataSheet& from, const hardware::DataSheet& to) {
  std::vector<Fields> out;
  const auto add = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) out.push_back({{{"difference", fmt::format("{}: {} there, {} here", what, a, b)}}});
  };
  add("architecture", fmt::format("{} (sm_{})", from.architecture, from.sm()), fmt::format("{} (sm_{})", to.architecture, to.sm()));
  add("multiprocessors", std::to_string(from.multiprocessors), std::to_string(to.multiprocessors));
  add("DRAM", fmt::format("{:.0f} GB/s", from.dram_bytes_per_s * 1e-9), fmt::format("{:.0f} GB/s", to.dram_bytes_per_s * 1e-9));
  add("L2", human_bytes(static_cast<double>(from.l2_bytes)), human_bytes(static_cast<double>(to.l2_bytes)));
  add("warps per SM", std::to_string(from.max_warps_per_sm), std::to_string(to.max_warps_per_sm));
  add("shared memory of a block", human_bytes(from.shared_bytes_per_block_optin), human_bytes(to.shared_bytes_per_block_optin));
  return out;
}

Expected<std::string> order_text(const Situation& s, const WantedMove& move, const PromptOptions& options) {
  const auto number = [&](const Tried* t) { return t ? std::to_string(number_of(s.tried, *t)) : std::string(); };
  Fields f;
  f.texts = {{"target", time_text(target_us(s.plan))}, {"number", number(move.on)}};
  switch (move.kind) {
    case MoveKind::explore:
      f.texts["strategy"] = move.strategy;
      f.flags["differ"] = move.differ;
      if (f.texts["target"].empty()) f.texts["target"] = "the least time";
      return fill("move_explore", f);
    case MoveKind::refine:
      f.texts["us"] = time_text(move.on->us);
      if (f.texts["us"] == f.texts["target"]) {   // a goal that is missed by less than the digits that are shown
        f.texts["us"] = fmt::format("{:.4g} us", move.on->us);
        f.texts["target"] = fmt::format("{:.4g} us", target_us(s.plan));
      }
      f.texts["bottleneck"] = !options.bare_feedback && move.on->verdict && move.on->verdict->time ? move.on->verdict->time->bottleneck : "";
      return fill("move_refine", f);
    case MoveKind::repair:
      f.texts["fault"] = fault_of(*move.on, options.bare_feedback);
      f.flags["doubt"] = move.on->candidate.move.id == id_of(MoveKind::repair);
      return fill("move_repair", f);
    case MoveKind::combine:
      f.texts["other"] = number(move.with);
      return fill("move_combine", f);
    case MoveKind::port: {
      const auto from = hardware::find_sheet(options.from_gpu);
      if (!from) return Unexpected(from.error());
      f.texts["from"] = from->product;
      f.texts["to"] = s.sheet.product;
      f.lists["differences"] = differences(*from, s.sheet);
      return fill("move_port", f);
    }
  }
  return std::string();
}

}  // namespace

Expected<std::string> system_text(const Situation& s, const PromptOptions& options) {
  Fields role;
  role.texts = {{"device", options.device}, {"allowed", join(s.task.allow, ", ")}, {"tool_calls", std::to_string(options.tool_calls)}};
  role.flags["tools"] = options.tools;
  Fields interface{{{"launcher", build::expected_launcher(trial::interface_of(s.task))}, {"sm", std::to_string(s.sheet.sm())}, {"flags", join(s.task.flags, " ")}}};
  std::string out;
  for (const auto& [name, fields] : {std::pair<const char*, Fields>{"system", role}, {"task", task_fields(s, options)}, {"interface", interface}, {"gpu", gpu_fields(s.sheet)}}) {
    auto text = fill(name, fields);
    if (!text) return text;
    out += (out.empty() ? "" : "\n") + *text;
  }
  return out;
}

Expected<std::string> move_text(const Situation& s, const WantedMove& move, const PromptOptions& options, std::vector<std::string>* left_out) {
  std::vector<Part> parts;
  std::optional<Error> wrong;
  const auto filled = [&](std::string_view text, const Fields& fields) -> std::string {
    auto made = fill(text, fields);
    if (!made && !wrong) wrong = made.error();
    return made ? std::move(*made) : std::string();
  };
  const auto add = [&](std::string_view part, std::string text, std::string shorter = {}) {
    if (!text.empty()) parts.push_back({std::string(part), std::move(text), std::move(shorter)});
  };
  if (!s.plan.sizes.empty()) add("plan", filled("plan", plan_fields(s)));
  if (!options.bare_feedback)
    if (const auto ids = rule_ids(s, move.on); !ids.empty()) add("rules", filled("rules", rules_fields(ids, false)), filled("rules", rules_fields(ids, true)));
  if (options.context)
    if (const auto passages = options.context(query_of(s, move), kPassages); !passages.empty()) add("context", filled("context", context_fields(passages)));
  if (!s.tried.empty()) add("attempts", filled("attempts", attempts_fields(s, kAttempts, options.bare_feedback)), filled("attempts", attempts_fields(s, kAttempts / 3, options.bare_feedback)));
  if (move.with) add("partner", filled("source", source_fields(fmt::format("Kernel {}", number_of(s.tried, *move.with)), *move.with)));
  if (move.on) {
    const Tried& on = *move.on;
    add("source", filled("source", source_fields(fmt::format("Kernel {}{}", number_of(s.tried, on), move.kind == MoveKind::explore ? ", the best so far" : ""), on)));
    const Verdict verdict = verdict_of(on);
    const std::string whole = verdict_text(verdict, on.candidate.source, {6, options.bare_feedback}), brief = verdict_text(verdict, on.candidate.source, {1, options.bare_feedback});
    add("feedback", filled("feedback", {{{"text", whole}}}), filled("feedback", {{{"text", brief}}}));
    if (!options.bare_feedback && is_right(stage_of(on)) && !on.profiles.empty()) add("evidence", filled("evidence", {{{"text", profile_text(on.profiles, on.candidate.source)}}}));
  }
  auto order = order_text(s, move, options);
  if (!order) return order;
  if (wrong) return Unexpected(*wrong);
  add("move", std::move(*order));
  return put_together(parts, options.tokens, left_out);
}

}  // namespace kforge::model
