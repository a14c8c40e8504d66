// What kernels are built for and run on: a data sheet, and the real GPU where one was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "forge/judge_candidate.h"
#include "hardware/data_sheet.h"
#include "trial/trial.h"

namespace kforge::forge {

struct Target {
  hardware::DataSheet sheet;
  std::string sheet_name;                  // what the worker's runtime finds the same sheet by: a name, or an absolute path
  std::optional<trial::GpuOptions> gpu;
  std::vector<trial::GpuOptions> others;   // further GPUs of its kind, where all were asked for; proofs are made on `gpu`
  std::string toolkit;                     // version of the CUDA compiler, where there is a GPU
  std::vector<std::string> warnings;       // where the GPU differs from the sheet; defences that are switched off
  trial::Defences defences;                // but for those that $KFORGE_DEFENCES_OFF names
  std::string device_key() const;          // differs where a time would: "emulator", or the GPU and its driver
  std::string device_name() const;         // "emulated h200", "NVIDIA H200"
};

// `gpu`: a data sheet's name or path, or "this". `device`: "" or "emulator"; "gpu" or "gpu:N", as CUDA counts. "this" is the GPU that `device`
// names, else the first. "gpu:all", where `several` GPUs can be used: the first, and all others of its architecture and name. Errors: bad_input, missing (no driver, no GPU, no libcudart), unsupported (a part that nvcc does not target).
Expected<Target> open_target(const std::string& gpu, const std::string& device, bool several = false);

// The devices that a word stands for: "gpu:all" for every GPU of this machine, each other word for itself. Errors: as open_target.
Expected<std::vector<std::string>> device_words(const std::string& word);

void aim(JudgeRequest& request, const Target& target);   // `target` must outlive the request

}  // namespace kforge::forge
