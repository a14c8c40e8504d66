#include "propose/template_small.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

constexpr std::int64_t kLargest = 2048, kLargestByte = 255;

struct Range {
  std::int64_t lowest = 0, highest = 0;
  bool is_small() const { return lowest >= -kLargest && highest <= kLargest; }
};

struct Weighted {
  std::int64_t weight = 0;
  std::string text;
};

// The sum as text: what is added first, so that it starts with a value.
std::string sum_text(std::vector<Weighted> parts, std::int64_t constant) {
  std::stable_sort(parts.begin(), parts.end(), [](const Weighted& a, const Weighted& b) { return (a.weight == 1) > (b.weight == 1) || ((a.weight == 1) == (b.weight == 1) && a.weight > b.weight); });
  std::string out;
  if (constant != 0 || parts.empty()) out = fmt::format("number<Value, {}>()", constant);
  for (const Weighted& part : parts) {
    if (out.empty()) out = part.weight == 1 ? part.text : fmt::format("fused<{}>({}, number<Value, 0>())", part.weight, part.text);
    else if (part.weight == 1) out = fmt::format("add({}, {})", out, part.text);
    else if (part.weight == -1) out = fmt::format("subtract({}, {})", out, part.text);
    else out = fmt::format("fused<{}>({}, {})", part.weight, part.text, out);
  }
  return out;
}

std::string element_text(std::int64_t dx) { return dx == 0 ? "e" : fmt::format("e {} {}", dx < 0 ? "-" : "+", std::abs(dx)); }

class Writer {
 public:
  Writer(const std::map<std::string, Tap>& taps, const std::vector<std::int64_t>& lowest) : taps_(taps), lowest_(lowest) { out_.filters.resize(lowest.size()); }

  std::optional<SmallFormula> all(const TermPtr& term) {
    const auto value = of(term);
    if (!value || value->range.lowest < 0 || value->range.highest > kLargestByte) return std::nullopt;
    out_.value = value->text;
    return out_;
  }

 private:
  struct Linear {
    std::map<Tap, std::int64_t> weights;
    std::int64_t constant = 0;
  };
  struct Value {
    std::string text;
    Range range;
  };

  // As a sum of weighted neighbours, or nothing.
  std::optional<Linear> linear(const TermPtr& t) const {
    if (t->kind == Kind::load) return Linear{{{taps_.at(key_of(t)), 1}}, 0};
    if (const auto number = integer_of(t)) return Linear{{}, *number};
    if (t->kind == Kind::to_integer && (narrow_integer(t->text).empty() || t->args[0]->kind == Kind::load)) return linear(t->args[0]);
    if (t->kind == Kind::unary && t->text == "-") return scaled(linear(t->args[0]), -1);
    if (t->kind != Kind::binary) return std::nullopt;
    auto a = linear(t->args[0]);
    const auto b = linear(t->args[1]);
    if (!a || !b) return std::nullopt;
    if (t->text == "*") return a->weights.empty() ? scaled(b, a->constant) : b->weights.empty() ? scaled(a, b->constant) : std::nullopt;
    if (t->text != "+" && t->text != "-") return std::nullopt;
    const std::int64_t sign = t->text == "+" ? 1 : -1;
    for (const auto& [tap, weight] : b->weights) a->weights[tap] += sign * weight;
    a->constant += sign * b->constant;
    std::erase_if(a->weights, [](const auto& entry) { return entry.second == 0; });
    return a;
  }
  static std::optional<Linear> scaled(std::optional<Linear> linear, std::int64_t by) {
    if (!linear || std::abs(by) > kLargest || std::abs(linear->constant) > kLargest) return std::nullopt;
    for (auto& [tap, weight] : linear->weights) weight *= by;
    linear->constant *= by;
    return linear;
  }

  std::optional<Value> of(const TermPtr& t) {
    const std::string key = key_of(t);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const auto made = make(t);
    if (!made || !made->range.is_small()) return std::nullopt;
    Value named = *made;
    if (named.text.find('(') != std::string::npos) {
      named.text = fmt::format("s{}", out_.statements.size());
      out_.statements.push_back(fmt::format("const Value {} = {};", named.text, made->text));
    }
    known_[key] = named;
    return named;
  }

  std::optional<Value> make(const TermPtr& t) {
    if (const auto sum = linear(t)) return weighted(*sum);
    if (t->kind == Kind::to_integer) return cast(t);
    std::vector<Value> args;
    for (const TermPtr& arg : t->args) {
      const auto value = of(arg);
      if (!value) return std::nullopt;
      args.push_back(*value);
    }
    const auto text = [&](const char* function) { return fmt::format("{}({}, {})", function, args[0].text, args[1].text); };
    if (t->kind == Kind::binary && t->text == "+") return Value{text("add"), {args[0].range.lowest + args[1].range.lowest, args[0].range.highest + args[1].range.highest}};
    if (t->kind == Kind::binary && t->text == "-") return Value{text("subtract"), {args[0].range.lowest - args[1].range.highest, args[0].range.highest - args[1].range.lowest}};
    if (t->kind != Kind::call) return std::nullopt;
    if (t->text == "abs") {
      const Range r = args[0].range;
      return Value{fmt::format("absolute({})", args[0].text), {r.lowest > 0 ? r.lowest : r.highest < 0 ? -r.highest : 0, std::max(-r.lowest, r.highest)}};
    }
    const auto least = [](const Value& a, const Value& b) { return Value{fmt::format("least({}, {})", a.text, b.text), {std::min(a.range.lowest, b.range.lowest), std::min(a.range.highest, b.range.highest)}}; };
    const auto greatest = [](const Value& a, const Value& b) { return Value{fmt::format("greatest({}, {})", a.text, b.text), {std::max(a.range.lowest, b.range.lowest), std::max(a.range.highest, b.range.highest)}}; };
    if (t->text == "min") return least(args[0], args[1]);
    if (t->text == "max") return greatest(args[0], args[1]);
    if (t->text == "clamp") return least(greatest(args[0], args[1]), args[2]);
    return std::nullopt;
  }
  // Of a narrow type only where the value is one of its own.
  std::optional<Value> cast(const TermPtr& t) {
    const auto value = of(t->args[0]);
    const std::string_view narrow = narrow_integer(t->text);
    if (!value || narrow.empty()) return value;
    const bool is_byte = value->range.lowest >= 0 && value->range.highest <= (narrow == "signed char" ? 127 : kLargestByte);
    return is_byte ? value : std::nullopt;
  }

  std::optional<Value> weighted(const Linear& sum) {
    Range range{sum.constant, sum.constant};
    std::int64_t most = std::abs(sum.constant);
    for (const auto& [tap, weight] : sum.weights) {
      (weight > 0 ? range.highest : range.lowest) += weight * kLargestByte;
      most += std::abs(weight) * kLargestByte;
    }
    if (most > kLargest) return std::nullopt;   // in whatever order it is added up
    std::map<std::size_t, std::map<std::int64_t, RowFilter>> rows;
    for (const auto& [tap, weight] : sum.weights) rows[tap.line][tap.along][tap.dx] = weight;
    std::vector<Weighted> parts;
    for (const auto& [line, own] : rows) add_line(line, own, parts);
    return Value{sum_text(parts, sum.constant), range};
  }

  // Rows that are multiples of one filter are that filter's results, weighted; others neighbour by neighbour.
  void add_line(std::size_t line, const std::map<std::int64_t, RowFilter>& rows, std::vector<Weighted>& parts) {
    RowFilter filter = primitive(rows.begin()->second);
    const bool is_one = filter.size() > 1 && std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return primitive(row.second) == filter; });
    // Of the two signs the one under which less is subtracted.
    std::int64_t total = 0;
    for (const auto& [along, row] : rows) total += row.begin()->second / filter.begin()->second;
    if (total < 0)
      for (auto& [dx, weight] : filter) weight = -weight;
    for (const auto& [along, row] : rows) {
      const std::string name = fmt::format("line{}[{}]", line, along - lowest_[line]);
      if (is_one) parts.push_back({row.begin()->second / filter.begin()->second, fmt::format("{}.f{}[e]", name, number_of(line, filter))});
      else for (const auto& [dx, weight] : row) parts.push_back({weight, fmt::format("{}.at({})", name, element_text(dx))});
    }
  }
  // Without common factor, the first weight positive.
  static RowFilter primitive(RowFilter row) {
    std::int64_t factor = 0;
    for (const auto& [dx, weight] : row) factor = std::gcd(factor, weight);
    if (row.begin()->second < 0) factor = -factor;
    for (auto& [dx, weight] : row) weight /= factor;
    return row;
  }
  std::size_t number_of(std::size_t line, const RowFilter& filter) {
    auto& filters = out_.filters[line];
    const auto found = std::find(filters.begin(), filters.end(), filter);
    if (found != filters.end()) return static_cast<std::size_t>(found - filters.begin());
    filters.push_back(filter);
    return filters.size() - 1;
  }

  const std::map<std::string, Tap>& taps_;
  const std::vector<std::int64_t>& lowest_;
  SmallFormula out_;
  std::map<std::string, Value> known_;
};

}  // namespace

std::optional<SmallFormula> small_formula(const TermPtr& term, const std::map<std::string, Tap>& taps, const std::vector<std::int64_t>& lowest) { return Writer(taps, lowest).all(term); }

std::string filter_line(const RowFilter& filter, std::size_t number) {
  std::vector<Weighted> parts;
  for (const auto& [dx, weight] : filter) parts.push_back({weight, fmt::format("at({})", element_text(dx))});
  return fmt::format("f{}[e] = {};", number, sum_text(parts, 0));
}

}  // namespace kforge::propose
