#include "mutate.h"

#include <algorithm>
#include <regex>

namespace kforge::tests {
namespace {

class Mutator {
 public:
  explicit Mutator(const std::string& source) : source_(source) {}

  void replace(const std::string& kind, std::size_t at, std::size_t length, const std::string& by) {
    Mutant mutant;
    mutant.kind = kind;
    mutant.line = 1 + static_cast<int>(std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    mutant.change = "`" + source_.substr(at, length) + "` -> `" + by + "`";
    mutant.source = source_;
    mutant.source.replace(at, length, by);
    const bool seen = std::any_of(all_.begin(), all_.end(), [&](const Mutant& other) { return other.source == mutant.source; });
    if (!seen) all_.push_back(std::move(mutant));
  }

  // Every match of `pattern`: its capture group 1 is replaced by `by`.
  void replace_all(const std::string& kind, const std::string& pattern, const std::string& by) {
    const std::regex regex(pattern);
    for (std::sregex_iterator match(source_.begin(), source_.end(), regex), end; match != end; ++match)
      replace(kind, static_cast<std::size_t>(match->position(1)), static_cast<std::size_t>(match->length(1)), by);
  }

  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < source_.size(); ++i) {
      if (source_[i] == '(') ++depth;
      if (source_[i] == ')' && --depth == 0) return i;
    }
    return std::string::npos;
  }

  // Takes away each operand of a condition in [begin, end), and the whole of it.
  void conditions(std::size_t begin, std::size_t end, bool neutral_when_true) {
    const std::string text = source_.substr(begin, end - begin);
    if (text.find('<') == std::string::npos && text.find(">=") == std::string::npos) return;
    const std::string neutral = neutral_when_true ? "true" : "false";
    const std::string joint = neutral_when_true ? " && " : " || ";
    std::size_t from = 0;
    while (text.find(joint) != std::string::npos && from <= text.size()) {
      const std::size_t to = std::min(text.find(joint, from), text.size());
      replace("bounds", begin + from, to - from, neutral);
      from = to + joint.size();
    }
    replace("bounds", begin, end - begin, neutral);
  }

  void if_statements() {
    for (std::size_t at = source_.find("if ("); at != std::string::npos; at = source_.find("if (", at + 1)) {
      const std::size_t open = at + 3, close = closing(open);
      if (close == std::string::npos) continue;
      const std::string rest = source_.substr(close + 1, 12);
      const bool leaves = rest.find("continue") != std::string::npos || rest.find("return") != std::string::npos;
      conditions(open + 1, close, !leaves);
    }
  }

  void named_conditions() {
    const std::string key = "const bool inside = ";
    for (std::size_t at = source_.find(key); at != std::string::npos; at = source_.find(key, at + 1))
      conditions(at + key.size(), source_.find(';', at), true);
  }

  // clamp(index, limit) -> index, where it is called.
  void clamps() {
    const std::regex call(R"((clamp)\(first)");
    for (std::sregex_iterator match(source_.begin(), source_.end(), call), end; match != end; ++match) {
      const auto at = static_cast<std::size_t>(match->position(0));
      const std::size_t open = at + 5, close = closing(open);
      const std::string arguments = source_.substr(open + 1, close - open - 1);
      replace("bounds", at, close + 1 - at, "(" + arguments.substr(0, arguments.rfind(',')) + ")");
    }
  }

  std::vector<Mutant> take() { return std::move(all_); }

 private:
  const std::string& source_;
  std::vector<Mutant> all_;
};

}  // namespace

std::vector<Mutant> mutants(const std::string& source) {
  Mutator mutator(source);
  mutator.replace_all("barrier", R"((__syncthreads\(\);))", "");
  mutator.if_statements();
  mutator.named_conditions();
  mutator.clamps();
  mutator.replace_all("initialisation", R"(( = empty\(\));)", "");
  mutator.replace_all("initialisation", R"(\w( = 0\.0f);)", "");
  mutator.replace_all("initialisation", R"(\]( = \{\});)", "");
  mutator.replace_all("padding", R"(__shared__[^;\n]*?( \+ [12])\])", "");
  mutator.replace_all("padding", R"(__shared__[^;\n]*\]\[\w+( \+ [12])\])", "");
  mutator.replace_all("padding", R"(for \([^;]*; \w+ < \w+( \+ [12]);)", "");
  mutator.replace_all("padding", R"(constexpr int kPad = (\d+);)", "0");
  return mutator.take();
}

}  // namespace kforge::tests
