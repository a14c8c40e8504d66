// The verdict as one JSON document, schema kforge.verdict/1 (design.md, "Verdict").
#include <cmath>

#include <nlohmann/json.hpp>

#include "kforge/verdict.h"
#include "report/json_parts.h"

namespace kforge {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity: a PSNR of equal tensors is null, as is any figure that is not finite.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json(const RungReport& rung) {
  return {{"name", rung.name}, {"status", name(rung.status)}, {"seconds", number(rung.seconds)}, {"why", rung.why}};
}

Json json(const TensorReport& t) {
  return {{"name", t.name}, {"max_abs", number(t.max_abs)}, {"max_rel", number(t.max_rel)}, {"mae", number(t.mae)},
          {"rmse", number(t.rmse)}, {"rel_l2", number(t.rel_l2)}, {"psnr_db", number(t.psnr_db)}, {"cosine", number(t.cosine)},
          {"elements", t.elements}, {"mismatched", t.mismatched}, {"undecided", t.undecided}, {"worst_index", t.worst_index}};
}

Json json(const CaseReport& c) {
  Json sizes = Json::object();
  for (const auto& [key, value] : c.sizes) sizes[key] = value;
  Json tensors = Json::array();
  for (const TensorReport& tensor : c.tensors) tensors.push_back(json(tensor));
  return {{"sizes", sizes}, {"values", c.values}, {"call", c.call}, {"status", name(c.status)}, {"degenerate", c.degenerate},
          {"sampled", c.sampled}, {"device", c.device}, {"why", c.why}, {"tensors", tensors}};
}

Json json(const ContractReport& c) {
  return {{"id", c.id}, {"level", name(c.level)}, {"status", name(c.status)}, {"measured", c.measured},
          {"required", c.required}, {"evidence", c.evidence}};
}

Json json(const Finding& f) {
  Json out = {{"contract", f.contract}, {"severity", name(f.severity)}, {"kernel", f.kernel}, {"file", f.file}, {"line", f.line},
              {"column", f.column}, {"message", f.message}, {"measured", f.measured}, {"required", f.required}, {"cause", f.cause},
              {"advice", f.advice}, {"rule", f.rule}, {"count", f.count}, {"details", f.details}};
  if (f.other_line > 0) out["other"] = {{"file", f.other_file}, {"line", f.other_line}};
  return out;
}

Json json(const ResourceReport& r) {
  return {{"kernel", r.kernel}, {"registers", r.registers}, {"shared_bytes", r.shared_bytes}, {"spill_bytes", r.spill_bytes},
          {"warps_per_sm", r.warps_per_sm}, {"limiter", r.limiter}};
}

template <class T>
Json list(const std::vector<T>& items) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(json(item));
  return out;
}

// The busiest kernel's resources; every kernel's are under "kernels".
Json resources(const Verdict& verdict) {
  Json out = verdict.resources.empty() ? Json::object() : json(verdict.resources.front());
  out["kernels"] = list(verdict.resources);
  return out;
}

Json json(const TimeReport& t) {
  Json out = {{"us", number(t.us)}, {"p99_us", number(t.p99_us)}, {"spread", number(t.spread)}, {"first_call_us", number(t.first_call_us)}, {"source", t.source}, {"bottleneck", t.bottleneck}};
  if (t.source != "measured") return out;
  Json baselines = Json::array();
  for (const BaselineTime& b : t.baselines) baselines.push_back({{"name", b.name}, {"us", number(b.us)}});
  const TimeConditions& c = t.conditions;
  out.update({{"interval", number(t.interval)}, {"launch_us", number(t.launch_us)}, {"graph_us", number(t.graph_us)}, {"back_to_back_us", number(t.back_to_back_us)}, {"modelled_us", number(t.modelled_us)},
              {"floor_us", number(t.floor_us)}, {"samples", t.samples}, {"discarded", t.discarded}, {"verified", t.verified}, {"warm", t.warm}, {"host_bound", t.host_bound}, {"baselines", baselines},
              {"conditions", {{"gpu", c.gpu}, {"driver", c.driver}, {"toolkit", c.toolkit}, {"sm_mhz", number(c.sm_mhz)}, {"memory_mhz", number(c.memory_mhz)},
                              {"temperature_c", number(c.temperature_c)}, {"power_w", number(c.power_w)}, {"power_capped", c.power_capped}}}});
  return out;
}

}  // namespace

Json report::verdict_json(const Verdict& v) {
  Json out = {{"schema", "kforge.verdict/1"}, {"status", name(v.status)}, {"why", v.why}, {"task", v.task},
              {"candidate", v.candidate}, {"gpu", v.gpu}, {"device", v.device}, {"unproven", v.unproven},
              {"rungs", list(v.rungs)}, {"cases", list(v.cases)}, {"contracts", list(v.contracts)}, {"findings", list(v.findings)}};
  out["time"] = nullptr;
  if (v.time) out["time"] = json(*v.time);
  out["resources"] = resources(v);
  out["fresh_seed"] = v.fresh_seed;
  out["seconds"] = number(v.seconds);
  return out;
}

// Text from compilers and candidates may hold any bytes: what is not UTF-8 is replaced, never thrown.
std::string report::dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string to_json(const Verdict& v) { return report::dump(report::verdict_json(v)); }

}  // namespace kforge
