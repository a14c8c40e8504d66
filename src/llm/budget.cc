#include "llm/budget.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/tomlplusplus.h"

namespace kforge::llm {
namespace {

constexpr double kMillion = 1e6;
constexpr std::uint64_t kLeastOutput = 256;    // an answer of less is worth nothing

bool is_date(std::string_view text) {
  return (text.size() == 9 || text.size() == 11) && text[0] == '-' && std::all_of(text.begin(), text.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

bool names(std::string_view row, std::string_view model) { return model.starts_with(row) && (model.size() == row.size() || is_date(model.substr(row.size()))); }

Expected<std::optional<Price>> look_up(std::string_view text, const std::string& file, const std::string& model) {
  const auto parsed = toml::parse(text, file);
  if (!parsed) return fail(ErrorCode::bad_input, std::string(parsed.error().description()), {file, static_cast<int>(parsed.error().source().begin.line), 0}, "see data/llm/prices.toml");
  const auto* rows = parsed.table()["price"].as_array();
  if (!rows) return std::optional<Price>();
  for (const auto& node : *rows) {
    const auto* row = node.as_table();
    if (!row || !names((*row)["model"].value_or(std::string_view("?")), model)) continue;
    const auto number = [&](const char* key) { return (*row)[key].value<double>(); };
    if (!number("input") || !number("output")) return fail(ErrorCode::bad_input, fmt::format("the price of {} lacks input or output", model), {file, static_cast<int>(row->source().begin.line), 0}, "US dollars for a million tokens");
    return std::optional(Price{*number("input"), *number("output"), number("cached").value_or(*number("input")), number("cache_write").value_or(0)});
  }
  return std::optional<Price>();
}

}  // namespace

Expected<std::optional<Price>> find_price(const std::string& model) {
  if (const char* own = std::getenv("KFORGE_PRICES"); own && *own) {
    const auto text = read_file(own);
    if (!text) return Unexpected(text.error());
    auto found = look_up(*text, own, model);
    if (!found || *found) return found;
  }
  for (const EmbeddedText& text : embedded_prices())
    if (auto found = look_up(text.text, std::string(text.path), model); !found || *found) return found;
  return std::optional<Price>();
}

double money_of(const Usage& usage, const Price& price) {
  const double cached = static_cast<double>(usage.cached_input), written = price.cache_write > 0 ? static_cast<double>(usage.cache_writes) : 0;
  const double plain = std::max(0.0, static_cast<double>(usage.input) - cached - written);
  return (plain * price.input + cached * price.cached + written * price.cache_write + static_cast<double>(usage.output) * price.output) / kMillion;
}

void Spending::add(const Usage& usage) {
  const std::lock_guard lock(mutex_);
  usage_ += usage;
}

std::uint64_t Spending::affordable_output(std::uint64_t input, std::uint64_t wanted) const {
  const std::lock_guard lock(mutex_);
  double least = static_cast<double>(wanted);
  if (budget_.tokens > 0) least = std::min(least, static_cast<double>(budget_.tokens) - static_cast<double>(usage_.input + usage_.output + input));
  if (budget_.money > 0 && price_) least = std::min(least, (budget_.money - money_of(usage_, *price_) - static_cast<double>(input) * std::max(price_->input, price_->cache_write) / kMillion) / price_->output * kMillion);
  refused_ = least < static_cast<double>(std::min(kLeastOutput, wanted));
  return refused_ ? 0 : static_cast<std::uint64_t>(least);
}

Usage Spending::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

std::optional<double> Spending::money() const {
  const std::lock_guard lock(mutex_);
  return price_ ? std::optional(money_of(usage_, *price_)) : std::nullopt;
}

std::string Spending::exhausted() const {
  const std::lock_guard lock(mutex_);
  if (!refused_) return {};
  std::string limits = budget_.tokens > 0 ? fmt::format("{} tokens", budget_.tokens) : "";
  if (budget_.money > 0) limits += fmt::format("{}{:.4g} US dollars", limits.empty() ? "" : " or ", budget_.money);
  return fmt::format("the model's budget of {} has no room for a further request ({} tokens spent)", limits, usage_.input + usage_.output);
}

std::string Spending::summary() const {
  const auto spent = money();
  const Usage u = usage();
  const std::string cached = u.cached_input > 0 ? fmt::format(" ({} cached)", human_count(static_cast<double>(u.cached_input))) : "";
  return fmt::format("{} tokens in{}, {} out{}, {}", human_count(static_cast<double>(u.input)), cached, human_count(static_cast<double>(u.output)), u.told ? "" : " (estimated)",
                     spent ? fmt::format("{:.4g} US dollars", *spent) : std::string("price unknown"));
}

}  // namespace kforge::llm
