// Index arithmetic as a sum of products: what stands before `threadIdx.x` in an index is the distance between neighbouring lanes.
//
// Atoms are names whose value we do not know (`cols`, `threadIdx.x`, a loop's variable). What is no sum of products (a division, a
// call, an element of an array) is one opaque atom, which remembers what it was computed from. Machine overflow is left out of account,
// as it is by everybody who reads such code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::syntax {

class Polynomial {
 public:
  Polynomial() = default;   // zero
  static Polynomial constant(std::int64_t value);
  static Polynomial atom(std::string name);
  static Polynomial opaque(const std::string& text, std::set<std::string> made_of);

  Polynomial operator+(const Polynomial& other) const;
  Polynomial operator-(const Polynomial& other) const;
  Polynomial operator*(const Polynomial& other) const;
  bool operator==(const Polynomial& other) const { return terms_ == other.terms_; }

  bool is_zero() const { return terms_.empty(); }
  std::optional<std::int64_t> as_constant() const;
  std::set<std::string> dependencies() const;      // all atoms, those inside opaque ones too
  bool depends_on(const std::string& atom) const;
  // f of this = f * atom + rest, with neither f nor rest depending on the atom. Nothing when there is no such form.
  std::optional<Polynomial> coefficient(const std::string& atom) const;
  Polynomial without(const std::string& atom) const;  // the terms that do not have the atom as a factor

 private:
  using Monomial = std::vector<std::string>;  // sorted
  void add(const Monomial& monomial, std::int64_t factor);
  void adopt(const Polynomial& other);
  std::map<Monomial, std::int64_t> terms_;
  std::map<std::string, std::set<std::string>> opaque_;
};

}  // namespace kforge::syntax
