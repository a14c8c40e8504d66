// Whether this thread is inside a host function that a stream was given.
#pragma once

namespace kforge::cudart {

class HostFunctionScope {
 public:
  HostFunctionScope() { ++depth(); }
  ~HostFunctionScope() { --depth(); }
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
  static bool active() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int value = 0;
    return value;
  }
};

}  // namespace kforge::cudart
