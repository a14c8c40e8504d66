// What a kernel promises of its pointers, and how it asks the caches for what they point to.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "propose/transform_kernel.h"

namespace kforge::propose {
namespace {

using syntax::Node;
using syntax::Parameter;

// The host's variable that a launch passes, casts removed; null when it is anything but a plain name.
Node passed_variable(Node argument) {
  while (argument.is("call_expression") || argument.is("cast_expression")) {
    if (argument.is("cast_expression")) { argument = argument.field("value"); continue; }
    const auto inner = argument.field("arguments").named_children();
    if (!argument.field("function").is("template_function") || inner.size() != 1) return {};
    argument = inner.front();
  }
  return argument.is("identifier") ? argument : Node{};
}

// Different pointers in every launch, each of them a parameter of the launching function or a variable that was given no other pointer.
bool launched_apart(const KernelView& view) {
  for (const LaunchView& launch : view.launches) {
    std::vector<std::string_view> names;
    if (launch.launch->arguments.size() != view.kernel->parameters.size()) return false;
    for (std::size_t i = 0; i < view.kernel->parameters.size(); ++i) {
      if (!view.kernel->parameters[i].pointer) continue;
      const Node variable = passed_variable(launch.launch->arguments[i]);
      const Node declarator = variable ? syntax::declarator_of(variable) : Node{};
      if (!declarator || std::find(names.begin(), names.end(), variable.text()) != names.end()) return false;
      const Node start = syntax::initial_value(declarator);
      if (start && start.text() != "nullptr" && start.text() != "NULL" && start.text() != "0") return false;
      for (const Node& use : syntax::uses(launch.launch->host_body, variable.text())) {
        if (use.parent().is("assignment_expression") && use.parent().field("left") == use) return false;
      }
      names.push_back(variable.text());
    }
  }
  return true;
}

// Every use is a read of an element, or the start of a local pointer to const.
bool only_read(const KernelView& view, const Parameter& parameter) {
  const auto all = syntax::uses(view.kernel->body, parameter.name);
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Node& use) {
    const Node outer = use.parent();
    if (outer.is("subscript_expression") && outer.field("argument") == use) {
      return std::any_of(view.accesses.begin(), view.accesses.end(), [&](const auto& access) { return access.node == outer && !access.write; });
    }
    Node declaration = use.enclosing("declaration");
    return declaration && declaration.text().substr(0, use.begin() - declaration.begin()).find("const ") != std::string_view::npos &&
           use.enclosing("pointer_expression") == Node{} && declaration.text().find('*') != std::string_view::npos;
  });
}

}  // namespace

std::vector<Rewrite> add_restrict(const syntax::Program& program, const Known& known) {
  syntax::Edits edits;
  std::string names;
  for (const KernelView& view : kernel_views(program, known)) {
    const auto pointers = std::count_if(view.kernel->parameters.begin(), view.kernel->parameters.end(), [](const Parameter& each) { return each.pointer; });
    if (pointers < 2 || !launched_apart(view)) continue;
    bool changed = false;
    for (const Parameter& parameter : view.kernel->parameters) {
      if (!parameter.pointer || parameter.restricted || parameter.node.text().find("volatile") != std::string_view::npos) continue;
      edits.insert(parameter.identifier.begin(), "__restrict__ ");
      if (!parameter.is_const && only_read(view, parameter)) edits.insert(parameter.node.begin(), "const ");
      changed = true;
    }
    if (changed) names += (names.empty() ? "`" : ", `") + view.kernel->name + "`";
  }
  return finished(program, edits, "__restrict__ pointers of " + names, 1.05);
}

namespace {

bool has_cache_operators(std::string_view element) {
  constexpr std::array<std::string_view, 12> all = {"float", "double", "int", "unsigned", "unsigned int", "float2", "float4", "int2", "int4", "double2", "uint2", "uint4"};
  return std::find(all.begin(), all.end(), element) != all.end();
}

// A place whose sector no other lane or round touches again: every access of the array follows the thread with stride one or not at all.
bool streamed(const KernelView& view, const std::string& base) {
  return std::all_of(view.accesses.begin(), view.accesses.end(), [&](const auto& access) {
    if (access.base != base) return true;
    const auto step = access.index.coefficient("threadIdx.x");
    return step && step->as_constant() == 1 && !access.atomic;
  });
}

}  // namespace

// Stores that are never read again bypass (__stcs); elements that are read once are marked as such (__ldcs).
std::vector<Rewrite> add_cache_hints(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    syntax::Edits edits;
    for (const syntax::Access& access : view.accesses) {
      const Parameter* parameter = view.kernel->find(access.base);
      if (access.space != syntax::Space::global || !parameter || !has_cache_operators(parameter->element) || !streamed(view, access.base)) continue;
      if (!access.node.is("subscript_expression") || access.node.field("argument").text() != access.base) continue;
      const auto touches = std::count_if(view.accesses.begin(), view.accesses.end(), [&](const auto& each) { return each.base == access.base; });
      const Node outer = access.node.parent();
      if (touches != 1) continue;
      if (access.write && !access.read && outer.is("assignment_expression") && outer.parent().is("expression_statement")) {
        edits.replace(outer.begin(), outer.field("right").begin(), fmt::format("__stcs(&{}, ", access.node.text()));
        edits.insert(outer.end(), ")");
      } else if (!access.write && parameter->is_const && !access.node.inside(Node{})) {
        edits.replace(access.node, fmt::format("__ldcs(&{})", access.node.text()));
      }
    }
    for (Rewrite& each : finished(program, edits, fmt::format("streaming accesses in `{}`", view.kernel->name), 1.03)) out.push_back(std::move(each));
  }
  return out;
}

}  // namespace kforge::propose
