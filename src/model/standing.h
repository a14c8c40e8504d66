// How far a tried candidate came, as the model is told and as moves are chosen by. The judge's verdict alone says it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "propose/proposer.h"

namespace kforge::model {

enum class Stage {
  accepted,        // or short of the goal alone
  slow,            // right, but a required performance contract fails
  screened,        // its time on sampled blocks was not worth a proof
  wrong,           // it builds, and a correctness contract fails
  broken,          // it does not build
  unproven,        // something that must be known could not be established
};
Stage stage_of(const propose::Tried& tried);
inline bool is_right(Stage stage) { return stage == Stage::accepted || stage == Stage::slow; }

// A model wrote it: proposer "model:..." (points of its parameters are others').
bool is_models(const Candidate& candidate);
// The best right one: accepted before slow, then by time; null when none is right.
const propose::Tried* best_of(std::span<const propose::Tried> tried);
const propose::Tried* find(std::span<const propose::Tried> tried, std::string_view id);
// Its number in the order of the run, from 1 on: how prompts name it.
std::size_t number_of(std::span<const propose::Tried> tried, const propose::Tried& one);
// Share of the words of two sources that both have, 0 to 1: kernels of one idea are alike.
double likeness(std::string_view a, std::string_view b);
// The principal finding; null when there is none.
const Finding* principal_of(const propose::Tried& tried);
Verdict verdict_of(const propose::Tried& tried);   // what texts are made from

}  // namespace kforge::model
