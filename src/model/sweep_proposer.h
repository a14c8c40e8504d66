// The proposer that searches the parameters which a kernel's author declared (tunables.h): of a model's, an agent's or a person's kernel alike.
#pragma once

#include <memory>
#include <string>

#include "propose/proposer.h"
#include "propose/space.h"

namespace kforge::model {

// Of the most promising families of kernels (equal but for their declared numbers) the next points, best first.
std::unique_ptr<propose::Proposer> make_sweep_proposer();

// What a point of the family of `source` is called: "kThreads 256 -> 512". "" when nothing differs.
std::string change_text(const propose::Values& from, const propose::Values& to);

}  // namespace kforge::model
