#include "knowledge/condition.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/metric.h"

namespace kforge::knowledge {

// One level of binary operators after the other, the loosest first. Depth is bounded: rules come from strangers.
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text) {}

  Expected<Condition> run() {
    const int root = binary(0);
    if (root >= 0 && !at_end()) complain(fmt::format("expected an operator, found '{}'", text_.substr(at_, 1)));
    if (!error_.empty()) return fail(ErrorCode::bad_input, error_, {"", 0, static_cast<int>(error_at_) + 1});
    if (!is_truth(condition_.nodes_[root].op)) return fail(ErrorCode::bad_input, "a condition compares two quantities", {"", 0, 1}, "write A > B");
    return std::move(condition_);
  }

 private:
  using Op = Condition::Op;
  struct Operator { std::string_view text; Op op; int level; };
  // Longer spellings before their beginnings.
  static constexpr std::array<Operator, 12> kOperators = {{{"||", Op::either, 0}, {"&&", Op::both, 1}, {"<=", Op::less_equal, 2}, {">=", Op::greater_equal, 2},
      {"==", Op::equal, 2}, {"!=", Op::not_equal, 2}, {"<", Op::less, 2}, {">", Op::greater, 2}, {"+", Op::add, 3}, {"-", Op::subtract, 3},
      {"*", Op::multiply, 4}, {"/", Op::divide, 4}}};
  static constexpr int kLevels = 5, kMaxDepth = 64;

  static bool is_truth(Op op) { return op >= Op::less; }

  int complain(std::string message) {
    if (error_.empty()) error_ = std::move(message), error_at_ = at_;
    return -1;
  }
  bool at_end() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ == text_.size();
  }
  const Operator* take_operator(int level) {
    if (at_end()) return nullptr;
    for (const Operator& row : kOperators) {
      if (!text_.substr(at_).starts_with(row.text)) continue;
      if (row.level != level) return nullptr;
      at_ += row.text.size();
      return &row;
    }
    return nullptr;
  }
  int add(Op op, int left, int right, double number = 0) {
    condition_.nodes_.push_back({op, left, right, number});
    return static_cast<int>(condition_.nodes_.size()) - 1;
  }

  int binary(int level) {
    if (level == kLevels) return unary();
    int left = binary(level + 1);
    while (left >= 0) {
      const Operator* row = take_operator(level);
      if (!row) return left;
      const int right = binary(level + 1);
      if (right < 0) return -1;
      const bool wants_truth = row->level < 2;
      for (const int side : {left, right})
        if (is_truth(condition_.nodes_[side].op) != wants_truth)
          return complain(fmt::format("'{}' needs {} on both sides", row->text, wants_truth ? "comparisons" : "quantities"));
      left = add(row->op, left, right);
    }
    return left;
  }

  int unary() {
    if (at_end()) return complain("expected a quantity, found the end");
    if (++depth_ > kMaxDepth) return complain("nested too deep");
    const int node = primary();
    --depth_;
    return node;
  }

  int primary() {
    const char c = text_[at_];
    if (c == '-') {
      ++at_;
      const int operand = unary();
      return operand < 0 ? -1 : is_truth(condition_.nodes_[operand].op) ? complain("'-' needs a quantity") : add(Op::negate, operand, -1);
    }
    if (c == '(') return parenthesis();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return name();
    return complain(fmt::format("expected a quantity, found '{}'", std::isprint(static_cast<unsigned char>(c)) ? std::string(1, c) : "?"));
  }

  int parenthesis() {
    ++at_;
    const int inner = binary(0);
    if (inner < 0) return -1;
    if (at_end() || text_[at_] != ')') return complain("expected ')'");
    ++at_;
    return inner;
  }

  int number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.')) ++at_;
    const auto value = parse_double(text_.substr(begin, at_ - begin));
    return value ? add(Op::number, -1, -1, *value) : complain("malformed number");
  }

  int name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    auto& names = condition_.names_;
    const auto found = std::find(names.begin(), names.end(), word);
    const auto index = static_cast<int>(found - names.begin());
    if (found == names.end()) names.push_back(word);
    return add(Op::name, index, -1);
  }

  std::string_view text_;
  std::size_t at_ = 0, error_at_ = 0;
  int depth_ = 0;
  std::string error_;
  Condition condition_;
};

Expected<Condition> Condition::parse(std::string_view text) { return ConditionParser(text).run(); }

namespace {

std::optional<double> arithmetic(unsigned op_index, double a, double b) {
  switch (op_index) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    default: return b == 0 ? std::nullopt : std::optional(a / b);
  }
}

bool compare(unsigned op_index, double a, double b) {
  const std::array<bool, 6> results = {a < b, a <= b, a > b, a >= b, a == b, a != b};
  return results[op_index];
}

}  // namespace

std::optional<double> Condition::value(int index, const Quantities& quantities) const {
  const Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.op == Op::number) return node.number;
  if (node.op == Op::name) return quantities(names_[static_cast<std::size_t>(node.left)]);
  const auto a = value(node.left, quantities);
  if (node.op == Op::negate) return a ? std::optional(-*a) : std::nullopt;
  const auto b = value(node.right, quantities);
  if (node.op == Op::both || node.op == Op::either) {
    const double decides = node.op == Op::either ? 1 : 0;
    if (a == decides || b == decides) return decides;
    return a && b ? std::optional(1 - decides) : std::nullopt;
  }
  if (!a || !b) return std::nullopt;
  if (node.op < Op::less) return arithmetic(static_cast<unsigned>(node.op) - static_cast<unsigned>(Op::add), *a, *b);
  return compare(static_cast<unsigned>(node.op) - static_cast<unsigned>(Op::less), *a, *b) ? 1 : 0;
}

std::optional<bool> Condition::holds(const Quantities& quantities) const {
  const auto truth = value(static_cast<int>(nodes_.size()) - 1, quantities);
  return truth ? std::optional(*truth != 0) : std::nullopt;
}

namespace {

// Beside metrics. docs/knowledge.md says what each is; knowledge_test compares the two lists.
constexpr std::array<std::string_view, 44> kQuantities = {
    "kernel.independent_loads", "kernel.code_bytes", "line.bytes_per_lane", "line.contiguous", "launch.blocks", "launch.threads_per_block", "launch.block_y",
    "launch.count", "occupancy.warps_per_sm", "ptxas.registers", "ptxas.shared_bytes", "ptxas.spill_bytes", "program.share", "task.read_bytes",
    "task.write_bytes", "task.operations", "task.tensor_allowed", "sheet.sm", "sheet.multiprocessors", "sheet.boost_mhz", "sheet.memory_bytes",
    "sheet.dram_bytes_per_s", "sheet.l2_bytes_per_s", "sheet.l2_bytes", "sheet.max_threads_per_sm", "sheet.max_warps_per_sm", "sheet.max_blocks_per_sm",
    "sheet.registers_per_sm", "sheet.max_registers_per_block", "sheet.shared_bytes_per_sm", "sheet.shared_bytes_per_block", "sheet.shared_bytes_per_block_optin",
    "sheet.l1_bytes", "sheet.max_threads_per_block", "sheet.schedulers_per_sm", "sheet.fp32_lanes", "sheet.fp64_lanes", "sheet.fp16_lanes", "sheet.int32_lanes",
    "sheet.special_lanes", "sheet.dram_latency", "sheet.l2_latency", "sheet.shared_latency", "sheet.alu_latency"};

}  // namespace

bool is_known_quantity(std::string_view name) {
  return evidence::find_metric(name) || std::find(kQuantities.begin(), kQuantities.end(), name) != kQuantities.end();
}

std::vector<std::string> known_quantities() {
  std::vector<std::string> all(kQuantities.begin(), kQuantities.end());
  for (const evidence::MetricRow& row : evidence::metric_table()) all.emplace_back(row.name);
  return all;
}

}  // namespace kforge::knowledge
