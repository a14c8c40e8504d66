// What verdict_json.cc wrote, read back.
#include <limits>

#include <nlohmann/json.hpp>

#include "kforge/report.h"
#include "report/read_parts.h"

namespace kforge {
namespace report {
namespace {

// The words of an enumeration, as verdict.h names them.
template <class E>
void read_name(JsonReader& reader, const char* key, E& out, std::initializer_list<E> values) {
  std::vector<std::string_view> words;
  for (const E value : values) words.push_back(name(value));
  std::size_t index = 0;
  reader.read_word(key, words, index);
  out = *(values.begin() + index);
}
void read_name(JsonReader& reader, const char* key, Status& out) {
  read_name(reader, key, out, {Status::passed, Status::failed, Status::unknown, Status::off, Status::skipped});
}

// Declared before the template that calls them: an unnamed namespace is not searched later.
void read_into(JsonReader& reader, RungReport& rung);
void read_into(JsonReader& reader, TensorReport& t);
void read_into(JsonReader& reader, CaseReport& c);
void read_into(JsonReader& reader, ContractReport& c);
void read_into(JsonReader& reader, Finding& f);
void read_into(JsonReader& reader, ResourceReport& r);

template <class T>
void read_list(JsonReader& reader, const char* key, std::vector<T>& out) {
  reader.in_array(key, [&](JsonReader& inner) { read_into(inner, out.emplace_back()); });
}

void read_into(JsonReader& reader, RungReport& rung) {
  reader.read("name", rung.name);
  read_name(reader, "status", rung.status);
  reader.read("seconds", rung.seconds);
  reader.read("why", rung.why);
}

void read_into(JsonReader& reader, TensorReport& t) {
  t.psnr_db = std::numeric_limits<double>::infinity();   // null: equal
  reader.read("name", t.name);
  reader.read("max_abs", t.max_abs);
  reader.read("max_rel", t.max_rel);
  reader.read("mae", t.mae);
  reader.read("rmse", t.rmse);
  reader.read("rel_l2", t.rel_l2);
  reader.read("psnr_db", t.psnr_db);
  reader.read("cosine", t.cosine);
  reader.read("elements", t.elements);
  reader.read("mismatched", t.mismatched);
  reader.read("undecided", t.undecided);
  reader.read("worst_index", t.worst_index);
}

void read_into(JsonReader& reader, CaseReport& c);
void read_into(JsonReader& reader, ContractReport& c);
void read_into(JsonReader& reader, Finding& f);
void read_into(JsonReader& reader, ResourceReport& r);

void read_into(JsonReader& reader, CaseReport& c) {
  reader.read("sizes", c.sizes);
  reader.read("values", c.values);
  reader.read("call", c.call);
  read_name(reader, "status", c.status);
  reader.read("degenerate", c.degenerate);
  reader.read("sampled", c.sampled);
  reader.read("device", c.device);
  reader.read("why", c.why);
  read_list(reader, "tensors", c.tensors);
}

void read_into(JsonReader& reader, ContractReport& c) {
  reader.read("id", c.id);
  read_name(reader, "level", c.level, {Level::required, Level::advice, Level::off});
  read_name(reader, "status", c.status);
  reader.read("measured", c.measured);
  reader.read("required", c.required);
  reader.read("evidence", c.evidence);
}

void read_into(JsonReader& reader, Finding& f) {
  reader.read("contract", f.contract);
  read_name(reader, "severity", f.severity, {Severity::error, Severity::warning, Severity::note});
  reader.read("kernel", f.kernel);
  reader.read("file", f.file);
  reader.read("line", f.line);
  reader.read("column", f.column);
  reader.read("message", f.message);
  reader.read("measured", f.measured);
  reader.read("required", f.required);
  reader.read("cause", f.cause);
  reader.read("advice", f.advice);
  reader.read("rule", f.rule);
  reader.read("count", f.count);
  reader.read("details", f.details);
  reader.in_object("other", [&](JsonReader& other) {
    other.read("file", f.other_file);
    other.read("line", f.other_line);
  });
}

void read_into(JsonReader& reader, TimeReport& t) {
  reader.read("us", t.us);
  reader.read("p99_us", t.p99_us);
  reader.read("spread", t.spread);
  reader.read("first_call_us", t.first_call_us);
  reader.read("source", t.source);
  reader.read("bottleneck", t.bottleneck);
  reader.read("interval", t.interval);
  reader.read("launch_us", t.launch_us);
  reader.read("graph_us", t.graph_us);
  reader.read("back_to_back_us", t.back_to_back_us);
  reader.read("modelled_us", t.modelled_us);
  reader.read("floor_us", t.floor_us);
  reader.read("samples", t.samples);
  reader.read("discarded", t.discarded);
  reader.read("verified", t.verified);
  reader.read("warm", t.warm);
  reader.read("host_bound", t.host_bound);
  reader.in_array("baselines", [&](JsonReader& inner) {
    BaselineTime& baseline = t.baselines.emplace_back();
    inner.read("name", baseline.name);
    inner.read("us", baseline.us);
  });
  reader.in_object("conditions", [&](JsonReader& inner) {
    TimeConditions& c = t.conditions;
    inner.read("gpu", c.gpu);
    inner.read("driver", c.driver);
    inner.read("toolkit", c.toolkit);
    inner.read("sm_mhz", c.sm_mhz);
    inner.read("memory_mhz", c.memory_mhz);
    inner.read("temperature_c", c.temperature_c);
    inner.read("power_w", c.power_w);
    inner.read("power_capped", c.power_capped);
  });
}

void read_into(JsonReader& reader, ResourceReport& r) {
  reader.read("kernel", r.kernel);
  reader.read("registers", r.registers);
  reader.read("shared_bytes", r.shared_bytes);
  reader.read("spill_bytes", r.spill_bytes);
  reader.read("warps_per_sm", r.warps_per_sm);
  reader.read("limiter", r.limiter);
}

}  // namespace

void read_into(JsonReader& reader, Verdict& v) {
  reader.require("schema", "kforge.verdict/1");
  read_name(reader, "status", v.status, {VerdictStatus::accepted, VerdictStatus::rejected, VerdictStatus::error});
  reader.read("why", v.why);
  reader.read("task", v.task);
  reader.read("candidate", v.candidate);
  reader.read("gpu", v.gpu);
  reader.read("device", v.device);
  reader.read("unproven", v.unproven);
  read_list(reader, "rungs", v.rungs);
  read_list(reader, "cases", v.cases);
  read_list(reader, "contracts", v.contracts);
  read_list(reader, "findings", v.findings);
  reader.in_object("time", [&](JsonReader& time) { read_into(time, v.time.emplace()); });
  reader.in_object("resources", [&](JsonReader& resources) { read_list(resources, "kernels", v.resources); });
  reader.read("fresh_seed", v.fresh_seed);
  reader.read("seconds", v.seconds);
}

}  // namespace report

Expected<Verdict> read_verdict(std::string_view json, const std::string& file) {
  const auto parsed = report::parse_json(json, file);
  if (!parsed) return Unexpected(parsed.error());
  report::JsonReader reader(**parsed, file);
  Verdict verdict;
  report::read_into(reader, verdict);
  if (auto done = reader.done(); !done) return Unexpected(done.error());
  return verdict;
}

}  // namespace kforge
