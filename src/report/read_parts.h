// Reading the values that run and verdict documents share.
#pragma once

#include "kforge/verdict.h"
#include "report/json_reader.h"

namespace kforge::report {

void read_into(JsonReader& reader, Verdict& verdict);

}  // namespace kforge::report
