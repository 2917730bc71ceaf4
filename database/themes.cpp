#include "database/themes.h"

#include <algorithm>
#include <array>

#include "ir/operator.h"

namespace lemma::database {
namespace {

/// A part of the name of an operator, and the theme of the rules that have such a one; the first that fits.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> by_operator = {{
    {"Conv", "convolution"},
    {"Pool", "pooling"},
    {"MatMul", "matmul"},
    {"Gemm", "matmul"},
    {"Softmax", "softmax"},
    {"Reduce", "reduction"},
}};
constexpr std::array<std::string_view, 8> themes = {
    "convolution", "elementwise", "elementwise_movement", "matmul", "movement", "pooling",
    "reduction",   "softmax"};

}  // namespace

std::string_view theme_of(const Substitution& rule) {
  bool computes = false, moves = false;
  for (const RuleTerm& term : rule.terms) {
    if (term.is_input) continue;
    computes = computes || record(term.op).has(OperatorFlag::elementwise);
    moves = moves || record(term.op).has(OperatorFlag::data_movement);
  }
  for (const auto& [part, theme] : by_operator)
    for (const RuleTerm& term : rule.terms)
      if (!term.is_input && record(term.op).name.find(part) != std::string_view::npos) return theme;
  return computes && moves ? "elementwise_movement" : moves ? "movement" : "elementwise";
}

std::span<const std::string_view> all_themes() { return themes; }

}  // namespace lemma::database
