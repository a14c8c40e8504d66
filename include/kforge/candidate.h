// A candidate: one proposed kernel, and the move that made it out of another one.
//
// Whoever proposes (template, transformation, tuner, model, agent, person) hands over this value and nothing else; the loop builds,
// judges and records all of them alike (design.md, invariant 1).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kforge {

// One named change. Moves form a tree: a candidate's parent is the candidate that it was made from.
struct Move {
  std::string id;              // stable word: "start", "template", "parameter", "transform.vector-access", "model", "agent", "user"
  std::string title;           // one line for people: "float4 loads of `x`"
  std::string answers;         // what it answers: a contract's id, a plan step's id, or ""
  std::string rule;            // of the knowledge base, or ""
  double expected_gain = 1;    // time before over time after, as promised
};

struct Candidate {
  std::string id;              // identity(candidate): equal sources and flags have equal ids
  std::string parent;          // id, or "" for a first candidate
  std::string proposer;        // "naive", "template:softmax_row", "transform", "model:NAME", "agent", "user"
  Move move;
  std::string source;          // CUDA C++, the whole .cu file
  std::vector<std::string> flags;  // of nvcc, added to the task's
  std::vector<std::pair<std::string, std::string>> parameters;  // of a template, in its order
};

// 16 hex digits over source and flags.
std::string identity(std::string_view source, const std::vector<std::string>& flags);

}  // namespace kforge
