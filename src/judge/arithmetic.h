// Arithmetic that is narrower than the task agreed on: what the code does, and what its results show.
//
// The task's tolerance may admit what its declared arithmetic does not need. So the results are held against what that arithmetic reaches (numerics.h,
// the bound without the task's own): an error beyond it, together with narrower operations in the code, is narrower arithmetic. Code alone proves
// nothing, since products of split operands reach single precision on half-precision hardware; neither do errors alone, unless the task states its
// `accumulate`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "evidence/source.h"
#include "judge/numerics.h"
#include "ptx/module.h"
#include "task/task.h"

namespace kforge::judge {

struct NarrowOperation {
  std::string text;                     // "cvt.tf32.f32"
  evidence::SourcePosition position;
};
// The first operation of the module's code whose result or operands are narrower than the task's accumulate type and tensors. Nothing in a task
// without floating tensors.
std::optional<NarrowOperation> narrower_operation(const ptx::Module& module, const task::Task& task);

// What the outputs of all calls on declared values show, one entry an output.
class ReachedPrecision {
 public:
  // `errors` is of the bound of contracts.md, not of the task's own.
  void see(const std::string& output, const std::string& label, const TensorErrors& errors);

  struct Excess { std::string output, why; double times = 0; };   // times: what the declared arithmetic reaches
  // The output that is farthest from what the declared arithmetic reaches; nothing when all are within.
  std::optional<Excess> worst(const task::Task& task) const;

 private:
  struct Seen {
    double times = 0, error = 0, bound = 0;                 // of the norm of all errors
    std::string label;
    double elements = 0, misrounded = 0, expected = 0;      // of outputs narrower than the accumulate type
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace kforge::judge
