// What a run may spend on a model, in tokens and money, and what it has spent. Prices are data (data/llm/prices.toml); an unknown price is said, never guessed.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_text.h"
#include "base/error.h"
#include "llm/chat.h"

namespace kforge::llm {

std::span<const EmbeddedText> embedded_prices();

// US dollars for a million tokens.
struct Price { double input = 0, output = 0, cached = 0, cache_write = 0; };

// From $KFORGE_PRICES, else the embedded table. `model` exactly, or with "-YYYYMMDD" or "-YYYY-MM-DD" after it. Errors: bad_input (a price file that cannot be read).
Expected<std::optional<Price>> find_price(const std::string& model);
double money_of(const Usage& usage, const Price& price);

struct TokenBudget {
  std::uint64_t tokens = 0;      // in and out; 0: no limit
  double money = 0;              // US dollars; 0: no limit
};

// Thread-safe.
class Spending {
 public:
  Spending(TokenBudget budget, std::optional<Price> price) : budget_(budget), price_(price) {}

  void add(const Usage& usage);
  // How many output tokens a request of so many input tokens may have; 0: the budget is spent.
  std::uint64_t affordable_output(std::uint64_t input, std::uint64_t wanted) const;
  Usage usage() const;
  std::optional<double> money() const;           // nothing: the price is unknown
  // "the budget of 100000 tokens is spent (98211)"; "" while it is not.
  std::string exhausted() const;
  // "41.2 k tokens in (12.0 k cached), 8.1 k out, 0.25 US dollars"
  std::string summary() const;

 private:
  mutable std::mutex mutex_;
  TokenBudget budget_;
  std::optional<Price> price_;
  Usage usage_{0, 0, 0, 0, true};
  mutable bool refused_ = false;
};

}  // namespace kforge::llm
