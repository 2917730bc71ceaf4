#pragma once
// Uses of rules, stated about terms over the inputs of one original graph, whatever strategy found
// them and in however many steps: that the chosen graph refines the original follows by congruence.
// A use is an equation, for which its obligations have to follow from the uses before it, or, in the
// directed pass, a refinement.
//
// The log of a saturation is a list of equations between ground terms. Equality of the outputs
// follows from some of them; which ones, a proof-producing congruence closure tells (Nieuwenhuis and
// Oliveras, "Proof-producing congruence closure", 2005). It runs only when an explanation is wanted.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "egraph/saturation.h"
#include "facts/value_facts.h"
#include "ir/graph.h"
#include "rule_language/substitution_use.h"

namespace lemma {

class Derivation {
 public:
  struct Use {
    bool backward = false;
    bool refinement = false;  // the left side need not be defined
    /// The use of the rule as it is written, at values of terms(). No rule: the two values that are its inputs are
    /// copies of the same elements (facts/copied_elements.h).
    SubstitutionUse use;
    bool is_of_copies() const { return use.substitution == nullptr; }
  };
  using InputTerms = std::map<std::string, ValueId, std::less<>>;  // by name of a graph's input

  /// A graph of all terms spoken of. Its inputs stand for those of the original graph, for what
  /// opaque operators give, and for constants too large to be shown.
  const Graph& terms() const { return terms_; }
  const std::vector<Use>& uses() const { return uses_; }

  /// Terms of a graph's values, by value; none for what is not needed and for values of unknown
  /// type. Inputs that `inputs` does not name are those of the original graph.
  Result<std::vector<ValueId>> add_graph(const Graph& graph, const InputTerms& inputs = {});
  void add_use(const Substitution& rule, bool backward, bool refinement, RuleBindings bindings,
               std::vector<ValueId> inputs);
  /// Two terms are copies of the same elements.
  void add_copies(ValueId a, ValueId b) { uses_.push_back({false, false, {nullptr, {a, b}, {}}}); }
  /// Gives what is known of an input of the graph that is derived from, before its terms are added.
  void give_facts(const std::string& input, const ValueFacts& facts) { given_[input] = facts; }
  /// What is known of an input of terms(), where it is not an input of a model.
  const std::map<ValueId, ValueFacts>& input_facts() const { return input_facts_; }
  const std::map<ValueId, Constant>& large_constants() const { return large_constants_; }

  /// What is to be shown equal: the outputs of two graphs by name, and what they feed to each
  /// opaque operator.
  struct Pair {
    std::string name;
    ValueId before, after;
  };
  Result<std::vector<Pair>> pairs(const Graph& before, const Graph& after);
  /// The uses (by number) from which it follows that the second values of the pairs refine the first
  /// ones, and those from which the obligations of these uses follow. An error if it does not.
  Result<std::set<std::uint32_t>> reasons(std::span<const Pair> pairs);
  /// Numbers of terms by value; terms that the equations among the uses make equal have one number.
  std::vector<std::uint32_t> classes();
  /// Some uses of the derivation of a part, of whose inputs these are the terms here.
  Result<void> adopt(const Derivation& part, const std::set<std::uint32_t>& uses,
                     const InputTerms& inputs);

 private:
  friend Result<Derivation> derivation_of(Derivation, const EGraph&, std::span<const Substitution>,
                                          std::span<const CompiledRule>,
                                          std::span<const Application>);
  Result<ValueId> constant(const Constant& contents);
  Result<ValueId> input(const std::string& name, const TensorType& type);
  Result<void> add_operation(const Node& node, std::vector<ValueId>& values);
  Result<std::vector<ValueId>> opaque_outputs(const OpaqueOperator& op,
                                              const std::vector<TensorType>& types);
  Result<void> collect(std::span<const Pair> pairs, std::set<std::uint32_t>& uses);
  void add_obligations(std::set<std::uint32_t>& uses);
  Result<void> add_founding_terms(const EGraph& egraph, std::vector<ValueId>& values);

  Graph terms_;
  std::vector<Use> uses_;
  InputTerms inputs_;  // of the original graph, and of its form that is cut at opaque operators
  std::map<ValueId, std::string> input_names_;
  std::map<ValueId, Constant> large_constants_;
  std::map<std::size_t, std::vector<ValueId>> large_constants_by_hash_;
  std::map<std::string, ValueFacts, std::less<>> given_;  // by name of an input
  std::map<ValueId, ValueFacts> input_facts_;
};

/// All that a saturation did, on the inputs of the graph that was added, of which `start` knows the
/// facts. `log` is of `compiled`, which was made from `rules`.
Result<Derivation> derivation_of(Derivation start, const EGraph& egraph,
                                 std::span<const Substitution> rules,
                                 std::span<const CompiledRule> compiled,
                                 std::span<const Application> log);

}  // namespace lemma
