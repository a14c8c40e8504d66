// Pieces that the text of a run and the walk through it have in common.
#pragma once

#include <string>
#include <string_view>

#include "kforge/run.h"
#include "report/figures.h"
#include "report/style.h"

namespace kforge::report {

std::string line(const Painter& paint, std::string_view key, const std::string& value);   // empty value: nothing
std::string heading(const Painter& paint, std::string_view title);
std::string contribution_text(const RunRecord& run, const Painter& paint);
std::string answer_text(const RunRecord& run, const Standing& standing, const Painter& paint);

}  // namespace kforge::report
