#pragma once
// Values of one case of a rule, written as expressions over the rule's variables, so that the proof
// of one case can be tried in others.

#include <string>
#include <vector>

#include "ir/graph.h"
#include "rule_language/rule_cases.h"

namespace lemma::verifier {

class Schematic {
 public:
  Schematic(const Substitution& rule, const RuleCase& rule_case);

  /// The value of an axiom's variable. Equal values of the rule's variables are preferred, and that
  /// of the same name to others.
  std::string write(const std::string& name, const AttributeValue& value) const;
  /// A group's value.
  std::string write_list(const std::string& name, const Shape& shape) const;
  /// A term over the rule's inputs. Nodes of inputs are named like the rule's.
  std::string write_term(const Graph& graph, ValueId value) const;

 private:
  std::string dimension(const Dimension& value) const;
  std::string symbol(const std::string& name) const;
  std::string elements(const Shape& shape) const;
  std::string write_attribute(const AttributeValue& value) const;
  void add_pool(const RuleExpression& expression);

  const Substitution& rule_;
  const RuleBindings& bindings_;
  struct Known {
    std::string text;
    AttributeValue value;
  };
  std::vector<Known> pool_;  // in order of preference
};

}  // namespace lemma::verifier
