// Kernels of NVIDIA's libraries as contestants: what a goal's "cublas" and "cublaslt" mean, and CUB. Each is a source of data/baselines/ with the
// task's launcher, which finds its library at run time and is timed like any candidate; PyTorch is a program there that speaks the worker's protocol.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge::forge {

std::vector<std::string> library_baselines();    // words: "cublas", "cublaslt", "cub", "cudnn", "pytorch", "pytorch-compile"

// Errors: unsupported (this library has no such computation, in one sentence), missing (it is not on this machine), failed.
Expected<trial::Baseline> library_baseline(const std::string& word, const task::Task& task, const std::string& pattern);

// What the task's goal names and this machine has, to be timed in turns with each candidate: .cu files and libraries.
std::vector<trial::Baseline> goal_baselines(const task::Task& task, const std::string& pattern);

}  // namespace kforge::forge
