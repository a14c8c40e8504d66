#include "task/task.h"
#include "trial/trial.h"

namespace kforge::trial {
namespace {

using build::Parameter;

// What the reference computes on: float for f32 and narrower, double for f64, integers as they are.
std::string reference_type(task::Dtype dtype) {
  if (!task::is_float(dtype)) return std::string(task::cuda_type(dtype));
  return dtype == task::Dtype::f64 ? "double" : "float";
}

build::Interface make_interface(const task::Task& task, std::string (*type)(task::Dtype)) {
  build::Interface out;
  out.function = task.function;
  for (const task::Tensor& tensor : task.tensors) {
    out.parameters.push_back({Parameter::Kind::pointer, tensor.name, type(tensor.dtype), tensor.role == task::Role::in});
  }
  for (const std::string& name : task.size_names()) {
    out.parameters.push_back({Parameter::Kind::size, name, task.sizes_are_64_bit ? "long long" : "int", false});
  }
  for (const task::Scalar& scalar : task.scalars) out.parameters.push_back({Parameter::Kind::scalar, scalar.name, type(scalar.dtype), false});
  return out;
}

std::string device_type(task::Dtype dtype) { return std::string(task::cuda_type(dtype)); }

}  // namespace

build::Interface interface_of(const task::Task& task) { return make_interface(task, device_type); }
build::Interface reference_interface_of(const task::Task& task) { return make_interface(task, reference_type); }

}  // namespace kforge::trial
