// Pieces that the page of a run and the page of a verdict have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kforge/verdict.h"
#include "report/difference.h"
#include "report/html.h"
#include "report/line_figures.h"

namespace kforge::report {

// The whole document: head with the style, a body with the sections; `title` is any text.
std::string document(const std::string& title, const Html& body);

Html badge(Status status);
Html badge(VerdictStatus status);
Html section(const Html& id, const Html& heading, const Html& content);   // empty content: nothing
Html pair(const Html& key, const Html& value);                            // of a description list

Html audit_table(const Verdict& verdict);
Html reading_list(const Verdict& verdict);
Html findings_list(const Verdict& verdict);
// The source with numbers; lines with findings carry contract and figure, and the message below; lines that were counted have their figures
// beside them. Long sources show what lies near either.
Html annotated_source(std::string_view source, const std::vector<Finding>& findings, const SourceFigures& figures = {});
Html difference_view(const Difference& difference);
Html cases_table(const Verdict& verdict);
Html resources_table(const Verdict& verdict);

}  // namespace kforge::report
