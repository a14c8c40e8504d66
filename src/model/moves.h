// Which moves a model is asked for next: explore, refine, repair, combine, port. Chosen by what was tried, so that equal runs ask alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "propose/proposer.h"

namespace kforge::model {

enum class MoveKind { explore, refine, repair, combine, port };
std::string_view id_of(MoveKind kind);           // "model.explore"

struct WantedMove {
  MoveKind kind = MoveKind::explore;
  const propose::Tried* on = nullptr;            // of refine, repair, combine, port; of explore: what stands so far, or null
  const propose::Tried* with = nullptr;          // of combine
  std::string strategy{}, step{};                // of explore: the plan's idea, and its step's id; "" is the model's own
  bool differ = false;                           // of explore: from what was tried
};

struct MoveOptions {
  std::string from_gpu;                          // the start was written for this GPU: port it first; ""
};

// At most `wanted`, each of another kind or on another candidate. Never empty where `wanted` is not 0.
std::vector<WantedMove> choose_moves(const propose::Situation& situation, std::size_t wanted, const MoveOptions& options);

}  // namespace kforge::model
