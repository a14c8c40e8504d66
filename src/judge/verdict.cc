#include "kforge/verdict.h"

namespace kforge {

std::string_view name(VerdictStatus status) {
  static constexpr std::string_view kNames[] = {"accepted", "rejected", "error"};
  return kNames[static_cast<int>(status)];
}

std::string_view name(Level level) {
  static constexpr std::string_view kNames[] = {"required", "advice", "off"};
  return kNames[static_cast<int>(level)];
}

std::string_view name(Status status) {
  static constexpr std::string_view kNames[] = {"passed", "failed", "unknown", "off", "skipped"};
  return kNames[static_cast<int>(status)];
}

std::string_view name(Severity severity) {
  static constexpr std::string_view kNames[] = {"error", "warning", "note"};
  return kNames[static_cast<int>(severity)];
}

int exit_code(const Verdict& verdict) {
  switch (verdict.status) {
    case VerdictStatus::accepted: return 0;
    case VerdictStatus::rejected: return 1;
    case VerdictStatus::error: return 3;
  }
  return 3;
}

}  // namespace kforge
