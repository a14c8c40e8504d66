// The person in the loop, at the terminal: shows what is to be looked at, opens the editor, takes notes.
#pragma once

#include "kforge/optimize.h"

namespace kforge::cli {

// Enter goes on, q stops, e opens $VISUAL or $EDITOR, d shows what changed; any other line is a note.
ReviewAnswer ask_person(const Review& review);

}  // namespace kforge::cli
