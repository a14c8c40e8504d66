#include "model/standing.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "judge/contract_table.h"

namespace kforge::model {
namespace {

bool fails(const propose::Tried& tried, judge::Group group, std::string_view id = {}) {
  return std::any_of(tried.contracts.begin(), tried.contracts.end(), [&](const ContractReport& c) {
    const auto* row = judge::find_contract(c.id);
    return row && row->group == group && c.level == Level::required && c.status == Status::failed && (id.empty() || c.id == id);
  });
}

std::set<std::string_view> words_of(std::string_view text) {
  std::set<std::string_view> out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    if (end > i) out.insert(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return out;
}

}  // namespace

Stage stage_of(const propose::Tried& tried) {
  if (tried.screened) return Stage::screened;
  if (tried.status == VerdictStatus::accepted) return Stage::accepted;
  if (tried.status == VerdictStatus::error) return Stage::unproven;
  if (fails(tried, judge::Group::correctness, "build")) return Stage::broken;
  if (fails(tried, judge::Group::correctness)) return Stage::wrong;
  if (fails(tried, judge::Group::performance)) return Stage::slow;
  return fails(tried, judge::Group::goal) ? Stage::accepted : Stage::wrong;
}

bool is_models(const Candidate& candidate) { return candidate.proposer.starts_with("model:"); }

const propose::Tried* best_of(std::span<const propose::Tried> tried) {
  const propose::Tried* best = nullptr;
  for (const propose::Tried& one : tried) {
    const Stage stage = stage_of(one);
    if (!is_right(stage) || one.us <= 0) continue;
    if (!best || stage < stage_of(*best) || (stage == stage_of(*best) && one.us < best->us)) best = &one;
  }
  return best;
}

const propose::Tried* find(std::span<const propose::Tried> tried, std::string_view id) {
  const auto found = std::find_if(tried.begin(), tried.end(), [&](const propose::Tried& t) { return t.candidate.id == id; });
  return found == tried.end() ? nullptr : &*found;
}

std::size_t number_of(std::span<const propose::Tried> tried, const propose::Tried& one) { return static_cast<std::size_t>(&one - tried.data()) + 1; }

double likeness(std::string_view a, std::string_view b) {
  const auto left = words_of(a), right = words_of(b);
  std::vector<std::string_view> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  const std::size_t all = left.size() + right.size() - both.size();
  return all == 0 ? 1 : static_cast<double>(both.size()) / static_cast<double>(all);
}

const Finding* principal_of(const propose::Tried& tried) {
  const Finding* out = nullptr;
  for (const Finding& finding : tried.findings)
    if (!out || finding.severity < out->severity) out = &finding;
  return out;
}

Verdict verdict_of(const propose::Tried& tried) {
  if (tried.verdict) return *tried.verdict;
  Verdict out;
  out.status = tried.status;
  out.findings = tried.findings;
  out.contracts = tried.contracts;
  out.resources = tried.resources;
  if (tried.us > 0) out.time = TimeReport{};
  if (out.time) out.time->us = tried.us;
  return out;
}

}  // namespace kforge::model
