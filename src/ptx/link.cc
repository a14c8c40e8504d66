#include "ptx/link.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace kforge::ptx {
namespace {

// Where the things of one module went.
struct Places {
  std::vector<std::uint32_t> variables, functions;
  std::uint32_t first_location = 0;
  std::unordered_map<std::string, std::string> renamed;   // its own names that another module uses too
};

class Linker {
 public:
  Expected<Module> run(std::vector<Module> modules) {
    result_.locations.emplace_back();
    std::vector<Places> places(modules.size());
    for (owner_ = 0; owner_ < modules.size(); ++owner_) {
      Module& module = modules[owner_];
      Places& own = places[owner_];
      result_.version = std::max(result_.version, module.version);
      if (module.target >= result_.target) result_.target = module.target, result_.target_suffix = module.target_suffix;
      for (Variable& variable : module.variables)
        if (auto placed = place(std::move(variable), own); !placed) return Unexpected(placed.error());
      for (Function& function : module.functions)
        if (auto placed = place(std::move(function), own); !placed) return Unexpected(placed.error());
      own.first_location = static_cast<std::uint32_t>(result_.locations.size());
      std::move(module.locations.begin(), module.locations.end(), std::back_inserter(result_.locations));
    }
    for (const auto& [index, owner] : bodies_) adjust(result_.functions[index], places[owner]);
    for (const auto& [index, owner] : initials_)
      for (Variable::Relocation& relocation : result_.variables[index].relocations)
        if (const auto renamed = places[owner].renamed.find(relocation.symbol); renamed != places[owner].renamed.end()) relocation.symbol = renamed->second;
    return std::move(result_);
  }

 private:
  // A name of the module's own that is taken gets a suffix.
  void make_own(std::string& name, Places& places) {
    if (taken_.insert(name).second) return;
    std::string fresh;
    do fresh = name + "$" + std::to_string(++suffix_);
    while (!taken_.insert(fresh).second);
    places.renamed[name] = fresh;
    name = std::move(fresh);
  }

  Expected<void> place(Variable&& variable, Places& places) {
    const bool shared_name = variable.is_visible || variable.is_weak || variable.is_extern;
    if (!shared_name) make_own(variable.name, places);
    const auto known = shared_name ? variables_.find(variable.name) : variables_.end();
    if (known == variables_.end()) {
      const auto index = static_cast<std::uint32_t>(result_.variables.size());
      if (shared_name) variables_[variable.name] = index, taken_.insert(variable.name);
      if (!variable.is_extern) initials_.emplace_back(index, owner_);
      result_.variables.push_back(std::move(variable));
      places.variables.push_back(index);
      return {};
    }
    places.variables.push_back(known->second);
    Variable& there = result_.variables[known->second];
    if (variable.is_extern || (variable.is_weak && !there.is_extern)) return {};
    if (!there.is_extern && !there.is_weak) return fail(ErrorCode::bad_input, "the device variable `" + variable.name + "` is defined twice");
    there = std::move(variable);
    initials_.emplace_back(known->second, owner_);
    return {};
  }

  Expected<void> place(Function&& function, Places& places) {
    const bool shared_name = function.is_visible || function.is_extern || function.is_entry;
    if (!shared_name) make_own(function.name, places);
    const auto known = shared_name ? functions_.find(function.name) : functions_.end();
    if (known == functions_.end()) {
      const auto index = static_cast<std::uint32_t>(result_.functions.size());
      if (shared_name) functions_[function.name] = index, taken_.insert(function.name);
      bodies_[index] = owner_;
      result_.functions.push_back(std::move(function));
      places.functions.push_back(index);
      return {};
    }
    places.functions.push_back(known->second);
    Function& there = result_.functions[known->second];
    if (function.is_extern || function.instructions.empty()) return {};
    // Weak functions (templates) come with every text that uses them; the first one serves.
    if (!there.is_extern && !there.instructions.empty()) return {};
    there = std::move(function);
    bodies_[known->second] = owner_;
    return {};
  }

  void adjust(Function& function, const Places& places) {
    for (Instruction& instruction : function.instructions) {
      if (instruction.location != 0) instruction.location += places.first_location;
      for (Operand& operand : instruction.operands) adjust(operand, places);
      if (instruction.call == nullptr) continue;
      auto call = std::make_shared<Instruction::Call>(*instruction.call);
      for (auto* list : {&call->returns, &call->arguments})
        for (Operand& operand : *list) adjust(operand, places);
      if (call->function) call->function = places.functions[*call->function];
      instruction.call = std::move(call);
    }
  }

  void adjust(Operand& operand, const Places& places) {
    if (operand.variable && !operand.variable->of_function) operand.variable->index = places.variables[operand.variable->index];
    if (operand.kind == Operand::Kind::function) operand.target = places.functions[operand.target];
    for (Operand& element : operand.elements) adjust(element, places);
  }

  Module result_;
  std::unordered_map<std::string, std::uint32_t> variables_, functions_;   // shared names
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::uint32_t, std::size_t> bodies_;                  // function -> module that it came from
  std::vector<std::pair<std::uint32_t, std::size_t>> initials_;            // variable -> the same
  std::size_t owner_ = 0;                                                  // the module that is taken in
  int suffix_ = 0;
};

}  // namespace

Expected<Module> link(std::vector<Module> modules) { return Linker().run(std::move(modules)); }

}  // namespace kforge::ptx
