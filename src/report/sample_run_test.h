// A run as the loop fills it, made by hand: a softmax from the naive kernel to a winner in three steps, with rejected candidates between.
#pragma once

#include <string>

#include "kforge/run.h"

namespace kforge::report {

RunRecord sample_run();
// The same with text in every field that would break out of HTML, XML, Markdown or a terminal.
RunRecord hostile_run();
inline constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>&'\"]]>\x1b[31m`|*_\xff\xc3\x28 \xe2\x80\xae rtl";

}  // namespace kforge::report
