// A process without a candidate that holds the buffers of bursts: it fills them, shares them with the candidate's process, and reads them back itself.
//
// What a burst leaves is then seen by code that no candidate can have touched, right when the candidate's process says that it is done: a process whose
// waiting, copying or clock was tampered with, or that puts its work off until somebody looks, leaves wrong outputs. The memory is shared by a handle of
// the driver (CUDA's inter-process memory); where that cannot be had there is no keeper, and bursts stay in the candidate's process.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trial/time.h"
#include "trial/worker_process.h"

namespace kforge::trial {

class Keeper {
 public:
  // Null where the driver shares no memory. `draws`: inputs, by draw.
  static std::unique_ptr<Keeper> open(const TimeRequest& request, const task::Sizes& sizes, const CaseLayout& layout, std::size_t sets, const std::vector<std::vector<SharedBytes>>& draws, std::uint64_t flush_bytes);

  std::size_t sets() const { return sets_; }
  const std::string& handle() const { return handle_; }   // hexadecimal
  // Inputs in place, outputs poisoned, the cache flushed, all of it done. False: the keeper is lost.
  bool prepare(const nlohmann::json& pairs);
  // The tensors of a set as they are now; null: the keeper is lost.
  const std::byte* fetch(std::size_t set);

 private:
  Keeper(const TimeRequest& request, const task::Sizes& sizes, const CaseLayout& layout) : request_(request), sizes_(sizes), layout_(layout) {}
  bool ask(const char* verb, const nlohmann::json& request, nlohmann::json* reply = nullptr);

  const TimeRequest& request_;
  const task::Sizes sizes_;
  const CaseLayout& layout_;
  std::unique_ptr<WorkerProcess> worker_;
  std::size_t sets_ = 0;
  std::string handle_;
};

}  // namespace kforge::trial
