#include "trial/keeper.h"

#include <nlohmann/json.hpp>

#include "trial/candidate_process.h"

namespace kforge::trial {

std::unique_ptr<Keeper> Keeper::open(const TimeRequest& request, const task::Sizes& sizes, const CaseLayout& layout, std::size_t sets, const std::vector<std::vector<SharedBytes>>& draws,
                                     std::uint64_t flush_bytes) {
  std::unique_ptr<Keeper> out(new Keeper(request, sizes, layout));
  WorkerOptions options = request.worker;
  options.object = request.reference.object;   // loaded and never called: a worker has an object
  auto worker = WorkerProcess::start(options);
  if (!worker || !(*worker)->started().ok) return nullptr;
  out->worker_ = std::move(*worker);
  if (!out->worker_->arena().reserve(layout.arena_bytes)) return nullptr;
  nlohmann::json reply;
  if (!out->ask("open", {{"sets", sets}, {"draws", draws.size()}, {"flush_bytes", flush_bytes}, {"share", true}}, &reply)) return nullptr;
  const auto handle = reply.find("handle");
  if (handle == reply.end() || !handle->is_string()) return nullptr;
  out->handle_ = handle->get<std::string>();
  out->sets_ = sets;
  for (std::size_t draw = 0; draw < draws.size(); ++draw) {
    place_inputs(layout, draws[draw], out->worker_->arena().data());
    if (!out->ask("load", {{"draw", draw}})) return nullptr;
  }
  return out;
}

bool Keeper::prepare(const nlohmann::json& pairs) { return ask("prepare", {{"pairs", pairs}}); }

const std::byte* Keeper::fetch(std::size_t set) { return ask("fetch", {{"set", set}}) ? worker_->arena().data() : nullptr; }

bool Keeper::ask(const char* verb, const nlohmann::json& request, nlohmann::json* reply) {
  if (!worker_->alive()) return false;
  nlohmann::json whole = nlohmann::json::parse(request_text(*request_.task, layout_, sizes_, {}));
  whole.update(request);
  whole["time"] = verb;
  const Answer answer = worker_->call(whole.dump(), {request_.call_seconds, 0, request_.stop});
  if (!answer.ok) return false;
  nlohmann::json json = nlohmann::json::parse(answer.json, nullptr, false);
  const auto done = json.find("completed");
  const bool completed = done == json.end() || *done != false;
  if (reply) *reply = std::move(json);
  return completed;
}

}  // namespace kforge::trial
