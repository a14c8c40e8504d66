// Tools on the store: list_runs, get_best.
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "kforge/report.h"
#include "kforge/run.h"
#include "mcp/tool_words.h"

namespace kforge::mcp {

Expected<Answer> list_runs_tool(const ToolCall& call) {
  auto runs = list_runs(call.workspace->options().store);
  if (!runs) return Unexpected(runs.error());
  std::reverse(runs->begin(), runs->end());
  Answer answer;
  answer.data["runs"] = Json::array();
  answer.data["runs_in_all"] = runs->size();
  const auto most = static_cast<std::size_t>(call.integer("count", 10));
  if (runs->size() > most) runs->resize(most);
  for (const RunSummary& run : *runs) {
    const std::string uri = "kforge://run/" + run.id;
    answer.text += fmt::format("{} {} on {}: {}, {} of {} accepted, {}\n", run.id, run.task_name, run.gpu, run.outcome, run.accepted, counted(run.candidates, "candidate"),
                               run.best_us > 0 ? fmt::format("{:.4g} us from {:.4g}", run.best_us, run.baseline_us) : "no winner");
    answer.data["runs"].push_back({{"run", run.id}, {"task", run.task_name}, {"gpu", run.gpu}, {"outcome", run.outcome}, {"candidates", run.candidates}, {"accepted", run.accepted},
                                   {"best_us", run.best_us > 0 ? Json(run.best_us) : Json(nullptr)}, {"uri", uri}});
    answer.links.push_back({run.id, uri, "application/json", "run of " + run.task_name});
  }
  if (runs->empty()) answer.text = "the store holds no run\n";
  return answer;
}

Expected<Answer> get_best(const ToolCall& call) {
  const auto run = load_run(call.workspace->options().store, call.has("run") ? call.text("run") : "last");
  if (!run) return Unexpected(run.error());
  const TriedCandidate* best = run->find(run->best);
  if (!best) return fail(ErrorCode::bad_input, "the run " + run->id + " has no right candidate: " + run->outcome_why);
  Answer answer;
  answer.text = fmt::format("{} of {} on {}: {}, {}; {}\nproposed by {}: {}\n", best->candidate.id, run->task_name, run->gpu, name(best->verdict.status), time_text(best->verdict), run->outcome_why,
                            best->candidate.proposer, best->candidate.move.title);
  answer.data = {{"run", run->id}, {"task", run->task_name}, {"gpu", run->gpu}, {"candidate", best->candidate.id}, {"status", name(best->verdict.status)}, {"is_winner", run->winner == run->best},
                 {"us", best->verdict.time ? Json(best->verdict.time->us) : Json(nullptr)}, {"steps", Json::array()}};
  for (const std::string& id : run->winners)
    if (const TriedCandidate* step = run->find(id)) {
      answer.text += fmt::format("step: {} ({})\n", step->candidate.move.title, time_text(step->verdict));
      answer.data["steps"].push_back({{"candidate", id}, {"title", step->candidate.move.title}, {"us", step->verdict.time ? Json(step->verdict.time->us) : Json(nullptr)}});
    }
  add_link(answer, call.workspace->keep("source", "text/x-cuda", "the kernel", best->candidate.source));
  add_link(answer, {"run", "kforge://run/" + run->id, "application/json", "the whole run, schema kforge.run/1"});
  add_link(answer, {"story", "kforge://story/" + run->id, "text/plain", "the run told step by step"});
  return answer;
}

}  // namespace kforge::mcp
