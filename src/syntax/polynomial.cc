#include "syntax/polynomial.h"

#include <algorithm>

namespace kforge::syntax {

namespace {

constexpr std::size_t kMaxTerms = 64, kMaxFactors = 12;

}  // namespace

void Polynomial::add(const Monomial& monomial, std::int64_t factor) {
  const auto at = terms_.try_emplace(monomial, 0).first;
  if (__builtin_add_overflow(at->second, factor, &at->second)) *this = unknown(dependencies());
  else if (at->second == 0) terms_.erase(at);
}

void Polynomial::adopt(const Polynomial& other) { opaque_.insert(other.opaque_.begin(), other.opaque_.end()); }

void Polynomial::bound() {
  if (terms_.size() > kMaxTerms) *this = unknown(dependencies());
}

Polynomial Polynomial::constant(std::int64_t value) {
  Polynomial out;
  out.add({}, value);
  return out;
}

Polynomial Polynomial::atom(std::string name) {
  Polynomial out;
  out.add({std::move(name)}, 1);
  return out;
}

Polynomial Polynomial::opaque(const std::string& text, std::set<std::string> made_of) {
  Polynomial out = atom("(" + text + ")");
  out.opaque_["(" + text + ")"] = std::move(made_of);
  return out;
}

Polynomial Polynomial::unknown(std::set<std::string> made_of) {
  made_of.insert(kUnknown);
  Polynomial out;
  out.add({made_of.begin(), made_of.end()}, 1);
  return out;
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial out = *this;
  out.adopt(other);
  for (const auto& [monomial, factor] : other.terms_) out.add(monomial, factor);
  out.bound();
  return out;
}

Polynomial Polynomial::operator-(const Polynomial& other) const { return *this + constant(-1) * other; }

Polynomial Polynomial::operator*(const Polynomial& other) const {
  Polynomial out;
  out.adopt(*this);
  out.adopt(other);
  for (const auto& [a, fa] : terms_) {
    for (const auto& [b, fb] : other.terms_) {
      Monomial both = a;
      both.insert(both.end(), b.begin(), b.end());
      std::sort(both.begin(), both.end());
      std::int64_t factor = 0;
      if (both.size() > kMaxFactors || __builtin_mul_overflow(fa, fb, &factor)) {
        std::set<std::string> made_of = dependencies();
        made_of.merge(other.dependencies());
        return unknown(std::move(made_of));
      }
      out.add(both, factor);
    }
  }
  out.bound();
  return out;
}

std::set<std::string> Polynomial::names() const {
  std::set<std::string> out;
  for (const auto& [monomial, factor] : terms_) out.insert(monomial.begin(), monomial.end());
  return out;
}

std::optional<std::int64_t> Polynomial::as_constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::set<std::string> Polynomial::dependencies() const {
  std::set<std::string> out;
  for (const auto& [monomial, factor] : terms_) {
    for (const std::string& atom : monomial) {
      out.insert(atom);
      if (const auto found = opaque_.find(atom); found != opaque_.end()) out.insert(found->second.begin(), found->second.end());
    }
  }
  return out;
}

bool Polynomial::depends_on(const std::string& atom) const { return dependencies().contains(atom); }

std::optional<Polynomial> Polynomial::coefficient(const std::string& atom) const {
  Polynomial out;
  out.adopt(*this);
  for (const auto& [monomial, factor] : terms_) {
    Monomial rest = monomial;
    const auto at = std::find(rest.begin(), rest.end(), atom);
    if (at == rest.end()) continue;
    rest.erase(at);
    out.add(rest, factor);
  }
  if (out.depends_on(atom) || without(atom).depends_on(atom)) return std::nullopt;
  return out;
}

Polynomial Polynomial::without(const std::string& atom) const {
  Polynomial out;
  out.adopt(*this);
  for (const auto& [monomial, factor] : terms_) {
    if (std::find(monomial.begin(), monomial.end(), atom) == monomial.end()) out.add(monomial, factor);
  }
  return out;
}

}  // namespace kforge::syntax
