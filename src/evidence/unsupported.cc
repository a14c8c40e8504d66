#include "evidence/unsupported.h"

namespace kforge::evidence {

std::string unsupported_instruction(const LaunchLog& log) {
  for (const Violation& violation : log.violations)
    if (violation.kind == "unsupported-instruction") return violation.message;
  return {};
}

}  // namespace kforge::evidence
