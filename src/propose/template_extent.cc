#include "propose/template_extent.h"

#include <cctype>

#include "task/expression.h"

namespace kforge::propose {

using syntax::Polynomial;
using Kind = Term::Kind;

TermPtr extent_term(std::string_view expression) {
  const auto parsed = task::Expression::parse(expression);
  if (!parsed) return nullptr;
  std::vector<TermPtr> terms;
  for (const auto& part : parsed->parts()) {
    const TermPtr left = part.left < 0 ? nullptr : terms[static_cast<std::size_t>(part.left)], right = part.right < 0 ? nullptr : terms[static_cast<std::size_t>(part.right)];
    const bool named = std::isalpha(static_cast<unsigned char>(part.text[0])) || part.text[0] == '_';
    if (!left) terms.push_back(make_term(named ? Kind::size : Kind::number, part.text));
    else if (!right) terms.push_back(make_term(Kind::unary, part.text, {left}));
    else terms.push_back(named ? make_term(Kind::call, part.text, {left, right}) : binary_term(part.text, left, right));
  }
  return terms.back();
}

std::vector<Polynomial> strides_of(const task::Tensor& tensor, std::map<std::string, TermPtr>& atoms) {
  std::vector<Polynomial> strides(tensor.shape.size());
  Polynomial running = Polynomial::constant(1);
  for (std::size_t k = tensor.shape.size(); k-- > 0;) {
    const TermPtr own = tensor.strides.empty() ? nullptr : extent_term(tensor.strides[k]);
    strides[k] = own ? polynomial_of(own, atoms) : running;
    if (const TermPtr extent = extent_term(tensor.shape[k])) running = running * polynomial_of(extent, atoms);
  }
  return strides;
}

}  // namespace kforge::propose
