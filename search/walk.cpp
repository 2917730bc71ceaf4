#include "search/walk.h"

#include <algorithm>
#include <map>

#include "facts/cut.h"
#include "search/term_facts.h"

namespace lemma {
namespace {

class Walker {
 public:
  /// `states_equations`: where they are. Finding out takes longer than the steps themselves.
  Walker(const WalkRules& rules, Walk& walk, bool states_equations)
      : rules_(rules),
        walk_(walk),
        states_equations_(states_equations),
        facts_(walk.derivation->terms(), walk.derivation->input_facts(), Reads::must_be_shown) {
    for (const Substitution& rule : rules.as_written) as_written_.emplace(rule.name, &rule);
  }

  /// Whether the use is a refinement only.
  Result<bool> add(const BacktrackingResult::Step& step) {
    const CompiledRule& rule = rules_.compiled[step.rewrite.rule];
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> terms,
                           walk_.derivation->add_graph(*step.graph));
    const bool refinement = !rule.rule.bidirectional && !is_equation(rule, step.rewrite, terms);
    std::vector<ValueId> inputs;
    for (const ValueId input : step.rewrite.inputs) inputs.push_back(terms[input.v]);
    walk_.derivation->add_use(*as_written_.at(rule.rule.name), rule.backward, refinement,
                              *step.rewrite.bindings, std::move(inputs));
    return refinement;
  }

 private:
  /// Other rules ask that their operands are finite, so that what the checker knows of them is not less than this.
  bool is_equation(const CompiledRule& rule, const Rewrite& rewrite,
                   const std::vector<ValueId>& terms) {
    if (!states_equations_ || rules_.bitwise.contains(rule.rule.name)) return false;
    return std::all_of(rewrite.left.begin(), rewrite.left.end(), [&](ValueId left) {
      return !terms[left.v].is_none() && facts_.of(terms[left.v]).defined;
    });
  }

  const WalkRules& rules_;
  Walk& walk_;
  bool states_equations_;
  TermFacts facts_;
  std::map<std::string_view, const Substitution*> as_written_;
};

}  // namespace

Result<Walk> walked(const std::vector<BacktrackingResult::Step>& path, const Graph& end,
                    const WalkRules& rules) {
  Walk walk;
  for (const BacktrackingResult::Step& step : path)
    ++walk.rules_used[rules.compiled[step.rewrite.rule].rule.name];
  if (!rules.explain || path.empty()) return walk;
  walk.derivation.emplace();
  Walker walker(rules, walk, has_opaque_nodes(*path.front().graph));
  for (std::size_t i = 0; i < path.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const bool refinement, walker.add(path[i]));
    if (!refinement) continue;
    walk.stages.push_back(*path[i].graph);
    walk.stages.push_back(i + 1 < path.size() ? *path[i + 1].graph : end);
  }
  return walk;
}

}  // namespace lemma
