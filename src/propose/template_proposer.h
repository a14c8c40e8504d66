// The proposer of templates: which of them apply to the task, the space of each one's parameters, and a search in it.
//
// Templates are tried in the plan's order (steps "template:NAME"; without such steps in order of expected gain), each first with its
// default parameters; then each template gets as many further candidates as its results deserve (best first with progressive widening).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "propose/proposer.h"
#include "propose/space.h"
#include "propose/template_binding.h"
#include "propose/template_render.h"

namespace kforge::propose {

std::unique_ptr<Proposer> make_template_proposer();

// A template that applies to a task on a GPU.
struct Applied {
  Template made;
  Binding binding;
  Space space;
  std::shared_ptr<TemplateText> text = {};   // of `made`; without: it is taken apart at each use
};
// In the order in which they are to be tried. `why_not` gets "NAME: reason" for each of the others.
std::vector<Applied> applied_templates(const task::Task& task, const hardware::DataSheet& sheet, const Plan& plan, std::vector<std::string>* why_not = nullptr);

// What constraints and estimates may name besides parameters, at each measure size: its sizes, the binding's and the sheet's numbers.
std::vector<task::Sizes> known_numbers(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet);

// The default parameters' point, or the nearest one that the rules leave. REQUIRES: the space is not empty.
std::size_t standard_point(const Applied& applied);

// The candidate at a point. Errors: bad_input (a defect of the template).
Expected<Candidate> candidate_at(const Applied& applied, const Values& values);

// Names of the templates that apply, best first, with the gain that they promise: for the planner's steps.
struct TemplateOffer {
  std::string name, title, rule;
  double expected_gain = 1;
};
std::vector<TemplateOffer> template_offers(const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern);

}  // namespace kforge::propose
