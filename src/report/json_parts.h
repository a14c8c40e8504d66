// The JSON values behind to_json, for documents that contain others.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kforge/profile.h"
#include "kforge/run.h"
#include "kforge/verdict.h"

namespace kforge::report {

nlohmann::ordered_json verdict_json(const Verdict& verdict);
nlohmann::ordered_json run_json(const RunRecord& run);
nlohmann::ordered_json kernels_json(const std::vector<KernelFigures>& kernels);
// Pretty-printed, ending in a newline; bytes that are not UTF-8 are replaced, never thrown.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace kforge::report
