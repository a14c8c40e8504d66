// The error type of every room is part of the public face; rooms include it under this name.
#pragma once

#include "kforge/error.h"  // IWYU pragma: export
