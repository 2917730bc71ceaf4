#pragma once
// A rule as rewriting systems see it: terms and facts, as nested forms. Both text formats (rewrite_text.h) are written from
// forms and read into them.
//
// Terms of tensors and values of attributes are told apart, because egglog has a sort for each. Facts say what a match has
// to satisfy:
//
//   (tensor x TYPE SHAPE)          an input, its element type ("" if it is the rule's shared real type) and its shape
//   (defined x) (weight x)         marks of inputs
//   (rank A 0 3)                   the numbers of axes that a group may have
//   (range-KIND p BOUND...)        a parameter, and the values that it may have
//   (== a b), (PREDICATE a ...)    conditions
//   (equation)                     always holds: the rule is an equation, but its right side does not bind all variables or
//                                  is not looked for (`search forward`), so that it is written in one direction

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"

namespace lemma::exchange {

inline constexpr std::string_view equation_fact = "equation";

struct Form {
  enum class Kind { variable, number, real, text, type, apply };
  enum class Sort { tensor, attribute, fact };
  Kind kind = Kind::apply;
  Sort sort = Sort::attribute;
  std::string
      word;  // name, head, or the literal as the rule's language writes it (text: without quotes)
  std::vector<Form> parts;  // apply
  friend bool operator==(const Form&, const Form&) = default;
};

struct RewriteForm {
  std::string name;
  std::vector<Form> left, right;
  std::vector<Form> facts;
  bool bidirectional = false;
  std::size_t line = 0;  // where it was read
};

/// An error says which part of the rule a rewriting system has no words for: free parameters, whose values a match does not
/// give. Roles, which steer searches and are no part of the claim, are left out.
Result<RewriteForm> form_of(const Substitution& rule);
/// The rule that a form stands for. An error is "file:line: rule NAME: what is wrong".
Result<Substitution> rule_of(const RewriteForm& form, const std::string& file);

}  // namespace lemma::exchange
