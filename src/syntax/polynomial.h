// Integer arithmetic over names as a sum of products: what stands before `threadIdx.x` in an index is the distance between neighbouring
// lanes. One form for all who read indices: of kernels (index.h), of references (propose/pattern_walk.h), of templates' terms.
//
// Atoms are names whose value we do not know (`cols`, `threadIdx.x`, a loop's variable). What is no sum of products (a division, a
// call, an element of an array) is one opaque atom, which remembers what it was computed from. Machine overflow of the program is left
// out of account, as it is by everybody who reads such code; a sum that grows beyond 64 terms, 12 factors or 64 bits is `unknown`.
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
  using Monomial = std::vector<std::string>;        // sorted factors
  static constexpr const char* kUnknown = "#";      // the factor that stands for what could not be followed

  Polynomial() = default;   // zero
  static Polynomial constant(std::int64_t value);
  static Polynomial atom(std::string name);
  static Polynomial opaque(const std::string& text, std::set<std::string> made_of);
  // The product of kUnknown and the names that the value is made of.
  static Polynomial unknown(std::set<std::string> made_of);

  Polynomial operator+(const Polynomial& other) const;
  Polynomial operator-(const Polynomial& other) const;
  Polynomial operator*(const Polynomial& other) const;
  bool operator==(const Polynomial& other) const { return terms_ == other.terms_; }

  bool is_zero() const { return terms_.empty(); }
  bool is_known() const { return !names().contains(kUnknown); }
  std::optional<std::int64_t> as_constant() const;
  const std::map<Monomial, std::int64_t>& terms() const { return terms_; }   // no zero factors
  std::set<std::string> names() const;             // all atoms
  std::set<std::string> dependencies() const;      // those that opaque ones were made of, too
  bool depends_on(const std::string& atom) const;
  // f of this = f * atom + rest, with neither f nor rest depending on the atom. Nothing when there is no such form.
  std::optional<Polynomial> coefficient(const std::string& atom) const;
  Polynomial without(const std::string& atom) const;  // the terms that do not have the atom as a factor
  void add(const Monomial& monomial, std::int64_t factor);

 private:
  void adopt(const Polynomial& other);
  void bound();
  std::map<Monomial, std::int64_t> terms_;
  std::map<std::string, std::set<std::string>> opaque_;
};

}  // namespace kforge::syntax
