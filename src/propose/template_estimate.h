// What a point of a template's space will cost, before anything is compiled: the counts that the template's [estimate] derives from its
// parameters, the task's sizes and the plan's bytes and operations, handed to the time model that later judges what was observed.
//
// It ranks points and prunes those that no multiprocessor can hold. It is a guess: registers, instructions and addresses are the
// template author's, not the compiler's.
//
//   blocks threads shared_bytes registers     of a launch; registers of a thread
//   instructions                              of warps; also requests, shared_requests, shared_wavefronts, barriers, atomics, sectors
//   load_bytes store_bytes                    default: the compulsory ones
//   fp32_ops special_ops int_ops              of lanes, default: the plan's
//   loads_in_flight                           of a thread before the first use
//
// What an expression may name besides: read_bytes, write_bytes, operations (the plan's, at that size).
#pragma once

#include <optional>
#include <vector>

#include "hardware/time_model.h"
#include "propose/template_proposer.h"
#include "task/expression.h"

namespace kforge::propose {

class Estimator {
 public:
  Estimator(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern);

  // Of the measure sizes, added up. Infinity: a block does not fit on a multiprocessor. Nothing: the template has no estimate, or it
  // names something that is not known.
  std::optional<double> us(const Values& values) const;
  // Of each point, those that cannot run behind all others; empty unless all are known.
  std::vector<double> of(const Space& space) const;

 private:
  struct Size {
    task::Sizes numbers;
    hardware::KernelWork start;      // what the plan knows
  };
  std::optional<double> us_at(const Size& size, const Values& values) const;

  const hardware::DataSheet& sheet_;
  std::vector<std::pair<std::string, task::Expression>> rows_;
  std::vector<Size> sizes_;
};

}  // namespace kforge::propose
