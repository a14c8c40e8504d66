#include "forge/tool_box.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/text.h"
#include "build/disassembler.h"
#include "forge/point_sweep.h"
#include "kforge/knowledge.h"
#include "knowledge/context_index.h"
#include "model/sweep_proposer.h"
#include "model/tunables.h"
#include "model/verdict_text.h"

namespace kforge::forge {

// One function a tool; `json` is an object.
struct Tools {
  using Json = nlohmann::json;

  static std::string text_of(const Json& json, const char* key) { return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string(); }
  static std::uint64_t count_of(const Json& json, const char* key, std::uint64_t otherwise) {
    return json.contains(key) && json[key].is_number_integer() && json[key].get<std::int64_t>() >= 0 ? json[key].get<std::uint64_t>() : otherwise;
  }
  static ToolAnswer wrong(std::string text) { return {std::move(text), true}; }

  // The candidate that the call means: by its id, or by its source, which is then judged.
  static Expected<const ToolBox::Checked*> meant(ToolBox& box, const Json& json) {
    if (const std::string source = text_of(json, "source"); !source.empty()) return box.judged(source);
    const std::string id = text_of(json, "candidate");
    if (const auto* found = box.find(id)) return found;
    if (const std::string* source = box.s_.known_source ? box.s_.known_source(id) : nullptr) return box.judged(*source);
    return fail(ErrorCode::bad_input, fmt::format("there is no candidate '{}'", id), {}, "give the id that `check` answered, or the source");
  }

  static ToolAnswer check(ToolBox& box, const Json& json) {
    if (text_of(json, "source").empty()) return wrong("check takes {\"source\": \"the whole .cu file\"}");
    const auto found = meant(box, json);
    if (!found) return wrong(to_string(found.error()));
    const ToolBox::Checked& c = **found;
    return {fmt::format("candidate {}\n{}", c.candidate.id, model::verdict_text(c.judgement.verdict, c.candidate.source, {3, false})), false, c.candidate.id};
  }

  static ToolAnswer profile(ToolBox& box, const Json& json) {
    const auto found = meant(box, json);
    if (!found) return wrong(to_string(found.error()));
    const ToolBox::Checked& c = **found;
    const std::string text = model::profile_text(c.judgement.profiles, c.candidate.source, 10);
    return {text.empty() ? "nothing was counted: it did not run at a measured size (" + c.judgement.verdict.why + ")" : text, false, c.candidate.id};
  }

  static ToolAnswer finding(ToolBox& box, const Json& json) {
    const auto found = meant(box, json);
    if (!found) return wrong(to_string(found.error()));
    const ToolBox::Checked& c = **found;
    const std::uint64_t number = count_of(json, "number", 1);
    const std::string text = number == 0 ? "" : model::finding_text(c.judgement.verdict, number - 1, c.candidate.source);
    if (text.empty()) return wrong(fmt::format("it has {}, counted from 1", counted(c.judgement.verdict.findings.size(), "finding")));
    return {text, false, c.candidate.id};
  }

  static ToolAnswer ptx(ToolBox& box, const Json& json) {
    const auto found = meant(box, json);
    if (!found) return wrong(to_string(found.error()));
    const ToolBox::Checked& c = **found;
    if (c.judgement.ptx.empty()) return wrong("it has no PTX: it did not build");
    const std::string text = model::ptx_excerpt(c.judgement.ptx, static_cast<std::uint32_t>(count_of(json, "line", 0)));
    return {text.empty() ? "no instruction comes from this line" : text, false, c.candidate.id};
  }

  static ToolAnswer sass(ToolBox& box, const Json& json) {
    const auto found = meant(box, json);
    if (!found) return wrong(to_string(found.error()));
    const ToolBox::Checked& c = **found;
    if (c.judgement.ptx.empty()) return wrong("it has no machine code: it did not build");
    const auto all = build::disassemble(c.judgement.ptx);
    if (!all) return wrong(to_string(all.error()));
    const std::string text = model::sass_excerpt(*all, static_cast<std::uint32_t>(count_of(json, "line", 0)));
    return {text.empty() ? "no instruction comes from this line" : text, false, c.candidate.id};
  }

  // Judges points of the declared parameters, the most promising first.
  static ToolAnswer sweep(ToolBox& box, const Json& json) {
    const auto start = meant(box, json);
    if (!start) return wrong(to_string(start.error()));
    const std::string source = (*start)->candidate.source;
    const auto tunables = model::tunables_of(source);
    if (tunables.empty()) return wrong("the source declares no parameter: constexpr int kThreads = 256;  // tune: 128, 256, 512");
    const std::uint64_t most = std::clamp<std::uint64_t>(count_of(json, "candidates", 6), 1, 24);
    const propose::Space space = tunables.space();
    std::string out, best_id;
    double best = 0;
    const auto swept = sweep_points(space, {1, space.find(tunables.values()), most, 1}, [&](std::span<const std::size_t> points) -> Expected<std::vector<double>> {
      const auto values = space.values(points[0]);
      const auto judged = box.judged(model::with_values(source, values));
      if (!judged) return Unexpected(judged.error());
      const Verdict& verdict = (*judged)->judgement.verdict;
      const double us = verdict.status == VerdictStatus::accepted && verdict.time ? verdict.time->us : 0;
      if (us > 0 && (best <= 0 || us < best)) best = us, best_id = (*judged)->candidate.id;
      const std::string change = model::change_text(tunables.values(), values);
      out += fmt::format("{} {}: {}\n", (*judged)->candidate.id, change.empty() ? "as written" : change, model::outcome_line(verdict));
      return std::vector<double>{us};
    });
    if (!swept) return wrong(to_string(swept.error()));
    return {out + (best_id.empty() ? "none was accepted\n" : fmt::format("fastest: {}\n", best_id)), false, best_id};
  }

  static ToolAnswer search_knowledge(ToolBox&, const Json& json) {
    std::vector<std::string> words;
    for (const std::string_view word : split_words(text_of(json, "query"))) words.emplace_back(word);
    const auto rules = kforge::search_knowledge(words);
    if (!rules) return wrong(to_string(rules.error()));
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(rules->size(), 3); ++i) out += fmt::format("{}: {}\n{}\n\n", (*rules)[i].id, (*rules)[i].title, trim((*rules)[i].what_to_do));
    return {out.empty() ? "no rule holds all of these words" : out};
  }

  static ToolAnswer search_context(ToolBox& box, const Json& json) {
    if (box.s_.context.empty()) return wrong("no context folder was given");
    const auto found = kforge::search_context(box.s_.context, text_of(json, "query"), std::clamp<std::uint64_t>(count_of(json, "count", 4), 1, 10));
    if (!found) return wrong(to_string(found.error()));
    std::string out;
    for (const ContextPassage& p : found->passages) out += fmt::format("{}:{}-{}\n{}\n\n", p.file, p.first_line, p.last_line, trim(p.text));
    return {out.empty() ? "nothing was found" : out};
  }

  static ToolAnswer read_context(ToolBox& box, const Json& json) {
    if (box.s_.context.empty()) return wrong("no context folder was given");
    auto index = knowledge::ContextIndex::open(box.s_.context);
    if (!index) return wrong(to_string(index.error()));
    const int first = static_cast<int>(std::clamp<std::uint64_t>(count_of(json, "first_line", 1), 1, 1'000'000));
    const int last = static_cast<int>(std::clamp<std::uint64_t>(count_of(json, "last_line", static_cast<std::uint64_t>(first) + 80), 1, 1'000'000));
    const auto read = index->read(text_of(json, "file"), first, std::min(last, first + 200));
    if (!read) return wrong(to_string(read.error()));
    return {fmt::format("{}:{}-{}\n{}", read->file, read->first_line, read->last_line, read->text)};
  }
};

namespace {

struct Row {
  ToolRow row;
  ToolAnswer (*call)(ToolBox&, const nlohmann::json&);
};

constexpr std::array<Row, 9> kTools{{
    {{"check", "Builds a kernel, runs it on the emulated GPU at many sizes and judges it. Answers with the verdict, its id, the principal findings with their lines, and the time.",
      R"({"type":"object","properties":{"source":{"type":"string","description":"the whole .cu file"}},"required":["source"]})"}, Tools::check},
    {{"profile", "What was counted while a checked kernel ran at the largest measured size: sectors, wavefronts, instructions, barriers, by kernel and by hottest lines. Takes the id that check answered, or a source, which is then checked first.",
      R"({"type":"object","properties":{"candidate":{"type":"string"},"source":{"type":"string"}}})"}, Tools::profile},
    {{"finding", "One finding of a checked kernel with everything that is known of it: source, addresses of the lanes, banks, cause and advice. Takes the id or a source, as profile.",
      R"({"type":"object","properties":{"number":{"type":"integer","minimum":1},"candidate":{"type":"string"},"source":{"type":"string"}}})"}, Tools::finding},
    {{"ptx", "The PTX that nvcc made of one line of a checked kernel's source (line 0: of all of it). Takes the id or a source, as profile.",
      R"({"type":"object","properties":{"line":{"type":"integer","minimum":0},"candidate":{"type":"string"},"source":{"type":"string"}}})"}, Tools::ptx},
    {{"sass", "The machine code (SASS) that ptxas makes of one line of a checked kernel's source, with what was inlined into it (line 0: of all of it). Takes the id or a source, as profile.",
      R"({"type":"object","properties":{"line":{"type":"integer","minimum":0},"candidate":{"type":"string"},"source":{"type":"string"}}})"}, Tools::sass},
    {{"sweep", "Searches the parameters that the source declares (`constexpr int kThreads = 256;  // tune: 128, 256, 512`): judges some points and names the fastest. Takes the id or a source, as profile.",
      R"({"type":"object","properties":{"candidates":{"type":"integer","minimum":1,"maximum":24,"description":"points to judge, 6 by default"},"candidate":{"type":"string"},"source":{"type":"string"}}})"}, Tools::sweep},
    {{"search_knowledge", "Rules of making kernels right and fast that hold all of the given words.", R"({"type":"object","properties":{"query":{"type":"string"}},"required":["query"]})"}, Tools::search_knowledge},
    {{"search_context", "Passages of the user's documents and code that fit the words best, with file and lines.",
      R"({"type":"object","properties":{"query":{"type":"string"},"count":{"type":"integer","minimum":1,"maximum":10}},"required":["query"]})"}, Tools::search_context},
    {{"read_context", "Lines of a file of the user's documents and code, named as search_context names it.",
      R"({"type":"object","properties":{"file":{"type":"string"},"first_line":{"type":"integer","minimum":1},"last_line":{"type":"integer","minimum":1}},"required":["file"]})"}, Tools::read_context},
}};

}  // namespace

ToolAnswer ToolBox::call(std::string_view name, std::string_view arguments) {
  const auto found = std::find_if(kTools.begin(), kTools.end(), [&](const Row& r) { return r.row.name == name; });
  if (found == kTools.end()) {
    std::string known;
    for (const Row& row : kTools) known += (known.empty() ? "" : ", ") + std::string(row.row.name);
    return Tools::wrong(fmt::format("there is no tool '{}'; known: {}", name.substr(0, 60), known));
  }
  const auto json = nlohmann::json::parse(arguments.empty() ? "{}" : arguments, nullptr, false);
  if (!json.is_object()) return Tools::wrong(fmt::format("the arguments of {} are no JSON object", name));
  return found->call(*this, json);
}

const ToolBox::Checked* ToolBox::find(const std::string& id) const {
  const auto found = checked_.find(id);
  return found == checked_.end() ? nullptr : &found->second;
}

Expected<const ToolBox::Checked*> ToolBox::judged(const std::string& source) {
  Candidate candidate;
  candidate.source = source.ends_with('\n') ? source : source + "\n";
  candidate.id = identity(candidate.source, candidate.flags);
  if (const Checked* known = find(candidate.id)) return known;
  auto judgement = s_.judge(candidate);
  if (!judgement) return Unexpected(judgement.error());
  const std::string id = candidate.id;
  return &checked_.emplace(id, Checked{std::move(candidate), std::move(*judgement)}).first->second;
}

std::span<const ToolRow> model_tools() {
  static const auto rows = [] {
    std::array<ToolRow, kTools.size()> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kTools[i].row;
    return out;
  }();
  return rows;
}

}  // namespace kforge::forge
