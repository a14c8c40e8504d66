#include "judge/answer.h"

#include <string>
#include <vector>

#include "base/text.h"
#include "judge/contract_table.h"

namespace kforge::judge {

void answer(Verdict& verdict, bool only_correctness) {
  std::vector<std::string> failed, must_know;
  for (const ContractReport& c : verdict.contracts) {
    if (c.level == Level::required && c.status == Status::failed) failed.push_back(c.id);
    if (c.status == Status::unknown && find_contract(c.id)->must_know) must_know.push_back(c.measured.empty() ? c.id : c.id + " (" + c.measured + ")");
  }
  verdict.status = !failed.empty() ? VerdictStatus::rejected : !must_know.empty() ? VerdictStatus::error : VerdictStatus::accepted;
  verdict.why = !failed.empty()      ? "fails " + join(failed, ", ")
                : !must_know.empty() ? "could not establish " + join(must_know, ", ")
                : only_correctness   ? "every required correctness contract holds"
                                     : "every required contract holds";
}

}  // namespace kforge::judge
