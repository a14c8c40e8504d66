#include "forge/standard_proposers.h"

#include "propose/template_proposer.h"
#include "propose/transform_proposer.h"

namespace kforge::forge {

Proposers standard_proposers() {
  Proposers out;
  out.push_back(propose::make_template_proposer());
  out.push_back(propose::make_transform_proposer());
  return out;
}

}  // namespace kforge::forge
