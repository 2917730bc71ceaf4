#pragma once
// Axioms with one thing changed on their right side: an operator, an operand, a number, a variable.

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::verifier {

/// The places of words and numbers of a text.
struct Token {
  std::size_t begin = 0, length = 0;
  std::string text;
  bool is_number() const { return std::isdigit(static_cast<unsigned char>(text[0])) != 0; }
};

inline std::vector<Token> tokens_of(const std::string& text, std::size_t from) {
  std::vector<Token> result;
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t i = from; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && part(text[end])) ++end;
    if (end > i) result.push_back({i, end - i, text.substr(i, end - i)});
    i = std::max(end, i + 1);
  }
  return result;
}

/// A number that says yes or no: all but 0 mean the same, so another of them is no mutant.
inline bool is_flag(const std::string& text, const Token& token) {
  for (const std::string_view name : {"keepdims=", "count_include_pad="})
    if (token.begin >= name.size() &&
        text.compare(token.begin - name.size(), name.size(), name) == 0)
      return true;
  return false;
}

/// Texts of mutants; most still parse.
inline std::vector<std::string> mutant_texts(const Substitution& axiom) {
  const std::string text = lemma::text(axiom);
  std::size_t arrow = text.find("=>");
  if (arrow == std::string::npos)  // not that of a let, which both sides may share
    arrow = text.find(" = ", text.rfind("\n  ", text.size() - 2));
  const std::vector<std::vector<std::string>> families = {
      {"Add", "Sub", "Mul", "Max", "Min", "Div"},
      {"Relu", "Neg", "Abs", "Exp", "Sigmoid", "Identity"},
      {"compose", "plus"},
      {"real_max", "real_min"},
      {"Squeeze", "Unsqueeze"},
      {"MatMul", "Add"}};
  std::set<std::string> names;  // inputs, parameters and sizes: what may stand for each other
  for (const RuleInput& input : axiom.inputs) names.insert(input.name);
  std::set<std::string> sizes;
  for (const RuleParameter& parameter : axiom.parameters) sizes.insert(parameter.name);
  for (const Token& token : tokens_of(text, 0))
    if (token.text.size() == 1 && !token.is_number() && !names.contains(token.text) &&
        std::islower(static_cast<unsigned char>(token.text[0])))
      sizes.insert(token.text);
  std::set<std::string> results;
  const auto replace = [&](const Token& token, const std::string& by) {
    std::string mutant = text;
    mutant.replace(token.begin, token.length, by);
    if (mutant != text) results.insert(std::move(mutant));
  };
  for (const Token& token : tokens_of(text, arrow)) {
    for (const auto& family : families)
      if (std::find(family.begin(), family.end(), token.text) != family.end())
        for (const std::string& other : family) replace(token, other);
    for (const auto* set : {&names, &sizes})
      if (set->contains(token.text))
        for (const std::string& other : *set) replace(token, other);
    if (is_flag(text, token)) {
      replace(token, token.text == "0" ? "1" : "0");
    } else if (token.is_number() && token.text.size() < 4) {
      replace(token, std::to_string(std::stoi(token.text) + 1));
      if (token.text != "0") replace(token, std::to_string(std::stoi(token.text) - 1));
    }
  }
  // A function of one operand forgotten.
  for (const Token& token : tokens_of(text, arrow))
    for (const char* name : {"Relu", "Neg", "Abs", "Exp", "Log", "Sqrt", "Reciprocal"})
      if (token.text == name) replace(token, "Identity");
  return {results.begin(), results.end()};
}

}  // namespace lemma::verifier
