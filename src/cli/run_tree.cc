#include "cli/run_tree.h"

#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace kforge::cli {
namespace {

class TreeText {
 public:
  explicit TreeText(const RunRecord& run) : run_(run) {
    for (const TriedCandidate& t : run.tried) children_[run.find(t.candidate.parent) ? t.candidate.parent : ""].push_back(&t);
  }

  std::string text() {
    add("", "");
    return std::move(out_);
  }

 private:
  void add(const std::string& parent, const std::string& indent) {
    const auto found = children_.find(parent);
    if (found == children_.end()) return;
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const TriedCandidate& t = *found->second[i];
      if (!seen_.insert(t.candidate.id).second) continue;
      const bool last = i + 1 == found->second.size();
      out_ += indent + (parent.empty() ? "" : last ? "`- " : "|- ") + line(t) + "\n";
      add(t.candidate.id, indent + (parent.empty() ? "" : last ? "   " : "|  "));
    }
  }

  std::string line(const TriedCandidate& t) const {
    std::string out = t.candidate.id.substr(0, 8) + "  ";
    out += t.verdict.time ? fmt::format("{:.4g} us", t.verdict.time->us) : std::string("-");
    if (t.observed_gain > 0) out += fmt::format("  {:.2f}x (promised {:.2f}x)", t.observed_gain, t.candidate.move.expected_gain);
    out += fmt::format("  {}  {}", name(t.verdict.status), t.candidate.move.title);
    if (t.candidate.id == run_.winner) out += "  <- winner";
    else if (t.candidate.id == run_.best) out += "  <- best so far";
    else if (t.verdict.status != VerdictStatus::accepted) out += "  (" + t.verdict.why + ")";
    if (const auto dead = run_.dead_ends.find(t.candidate.id); dead != run_.dead_ends.end()) out += "  [dead end: " + dead->second + "]";
    if (t.reused) out += "  [known]";
    return out;
  }

  const RunRecord& run_;
  std::map<std::string, std::vector<const TriedCandidate*>> children_;
  std::set<std::string> seen_;
  std::string out_;
};

}  // namespace

std::string tree_text(const RunRecord& run) { return TreeText(run).text(); }

}  // namespace kforge::cli
