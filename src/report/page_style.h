// The style sheet of the pages.
#pragma once

#include <string_view>

namespace kforge::report {

std::string_view page_style();

}  // namespace kforge::report
