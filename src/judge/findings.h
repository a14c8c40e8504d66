// The findings of one verdict: one per (contract, file, line), the worst occurrence described, the count summed, the number of other cases named.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "evidence/source.h"
#include "evidence/violation.h"
#include "judge/host_lines.h"
#include "kforge/verdict.h"

namespace kforge::judge {

class FindingSet {
 public:
  FindingSet() = default;
  // Findings of what host code did get the line that `host` knows.
  explicit FindingSet(HostLines host) : host_(std::move(host)) {}

  // `weight` orders occurrences of the same place: the heaviest one is described.
  void add(Finding finding, double weight = 0);
  bool has(std::string_view contract) const;              // any finding at all
  bool has_error(std::string_view contract) const;
  const Finding* first_error(std::string_view contract) const;
  std::vector<Finding> take();                            // errors first, then by contract table order, file, line

 private:
  struct Entry { Finding finding; double weight; std::set<std::string> cases; };
  std::vector<Entry> entries_;
  HostLines host_;
};

// "void softmax_rows<float>(float const*, float*)" becomes "softmax_rows<float>"; other text is kept.
std::string readable_kernel(const std::string& mangled);

// A violation as a finding: line inside the candidate's file, advice of the contract's row.
Finding to_finding(const evidence::Violation& violation, const std::string& candidate);

// A finding of `contract` with its row's advice, at `position` inside the candidate's file.
Finding make_finding(std::string_view contract, const evidence::SourcePosition& position, const std::string& candidate);

}  // namespace kforge::judge
