#include "forge/cases.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kforge/learn.h"
#include "report/story.h"

namespace kforge {
namespace forge {

Expected<void> keep_cases(store::Store& store, const RunRecord& run) {
  if (run.winner.empty()) return {};
  for (const report::StoryStep& step : report::story_of(run)) {
    const Candidate& after = step.tried->candidate;
    if (!step.before || !step.descends || step.observed_gain < kWorthTelling || !step.tried->verdict.time || !step.before->verdict.time) continue;
    store::CaseRow row;
    row.run = run.id;
    row.before = step.before->candidate.id;
    row.after = after.id;
    row.pattern = run.plan.guess.pattern;
    row.gpu = run.gpu;
    row.device = run.device;
    row.time_source = step.tried->verdict.time->source;
    row.contract = after.move.answers;
    if (!step.answered.empty()) row.contract = step.answered.front()->contract, row.finding = step.answered.front()->message;
    row.move = after.move.id;
    row.title = after.move.title;
    row.rule = step.rule ? step.rule->id : after.move.rule;
    row.before_us = step.before->verdict.time->us;
    row.after_us = step.tried->verdict.time->us;
    if (auto kept = store.add_case(row); !kept) return kept;
  }
  return {};
}

}  // namespace forge

Expected<std::vector<KnowledgeCase>> search_cases(const std::string& folder, const std::vector<std::string>& words, std::size_t count) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store && store.error().code == ErrorCode::missing) return std::vector<KnowledgeCase>();
  if (!store) return Unexpected(store.error());
  auto rows = store->cases(words, count);
  if (!rows) return Unexpected(rows.error());
  std::vector<KnowledgeCase> out;
  for (store::CaseRow& row : *rows)
    out.push_back({row.run, row.before, row.after, row.pattern, row.gpu, row.device, row.time_source, row.contract, row.finding, row.move, row.title, row.rule, row.before_us, row.after_us,
                   row.before_us / row.after_us, std::move(row.before_source), std::move(row.after_source)});
  return out;
}

std::string to_text(const KnowledgeCase& known, bool with_sources) {
  std::string out = fmt::format("{:.2f}x  {} ({}, {}): {:.4g} us to {:.4g} us, {}{}{}\n      run {}, {} to {}\n", known.gain, known.title, known.pattern, known.gpu, known.before_us, known.after_us, known.time_source,
                                known.contract.empty() ? "" : "; it answers " + known.contract, known.finding.empty() ? "" : ": " + known.finding, known.run, known.before, known.after);
  if (with_sources) out += fmt::format("\nBefore\n\n{}\nAfter\n\n{}\n", known.before_source, known.after_source);
  for (char& c : out)   // sources come from strangers: control characters do not reach a terminal
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  return out;
}

std::string to_json(const std::vector<KnowledgeCase>& cases) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KnowledgeCase& k : cases)
    list.push_back({{"run", k.run}, {"before", k.before}, {"after", k.after}, {"pattern", k.pattern}, {"gpu", k.gpu}, {"device", k.device}, {"time_source", k.time_source}, {"contract", k.contract}, {"finding", k.finding},
                    {"move", k.move}, {"title", k.title}, {"rule", k.rule}, {"before_us", k.before_us}, {"after_us", k.after_us}, {"gain", k.gain}, {"before_source", k.before_source}, {"after_source", k.after_source}});
  return nlohmann::ordered_json{{"schema", "kforge.cases/1"}, {"cases", std::move(list)}}.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kforge
