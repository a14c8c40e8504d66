// The instruction table as a document: docs/ptx-coverage.md is this function's result.
#pragma once

#include <string>

namespace kforge::ptx {

std::string coverage_document();  // Markdown, one row per form

}  // namespace kforge::ptx
