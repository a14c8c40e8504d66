// The table of contracts (contracts.md): one row a contract. Levels, must-know, groups, thresholds and the words for
// people are read from here and from nowhere else.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kforge/verdict.h"

namespace kforge::judge {

enum class Group : std::uint8_t { correctness, performance, goal };

struct ContractRow {
  std::string_view id;
  Group group;
  Level level;                  // by default; conditional levels are raised by their rule
  bool must_know;
  std::string_view threshold;   // the key a task may set in its [contracts] table; "" none
  double default_threshold;
  std::string_view statement;   // "global loads and stores waste no sectors"
  std::string_view required;    // for people: "each hot line <= 1.25"
  std::string_view advice;      // what to do when it fails, one sentence
};

std::span<const ContractRow> contract_table();
// Null when there is no such contract.
const ContractRow* find_contract(std::string_view id);

}  // namespace kforge::judge
