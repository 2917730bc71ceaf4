#pragma once
// Patterns over any language, made ready for matching.
//
// A pattern is a conjunction over e-nodes, joined by the classes they share. A match is found by
// starting at some node and walking to the others: down into a class that is known, or up through
// the parents of one. Only what is new is looked for: for each pattern node there is a plan that
// starts at the nodes that have changed; nodes before it in the pattern must then be unchanged, so
// that no match is found twice.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/ids.h"
#include "engine/language.h"
#include "engine/terms.h"

namespace lemma::engine {

struct PatternNode {
  FormId form;
  std::uint32_t symbol = 0;
  std::uint32_t result = 0;             // variable of the class that the node is in
  std::vector<std::uint32_t> operands;  // variables
};

/// Finding a node for one pattern node, once those of earlier steps are there.
struct MatchStep {
  std::uint32_t node = 0;  // in Pattern::nodes
  enum class Source : std::uint8_t { all, nodes, parents };
  Source source = Source::all;
  std::uint32_t variable = 0;  // of the class whose nodes, or parents, are walked
};

struct Pattern {
  std::vector<PatternNode> nodes;
  /// The variables of the text, then the classes of the nodes; the last one is the root's.
  std::uint32_t variable_count = 0;
  std::vector<std::string> names;             // of the variables of the text
  std::vector<std::vector<MatchStep>> plans;  // by pattern node to start from

  std::uint32_t root() const { return nodes.back().result; }
  std::optional<std::uint32_t> variable(std::string_view name) const;
};

/// A term to be added for a match. Slots number the variables of the pattern, then the nodes.
struct Template {
  struct Node {
    FormId form;
    std::vector<std::uint32_t> operands;  // slots
  };
  std::vector<Node> nodes;
  std::uint32_t root = 0;  // slot
};

/// The numbers of a term's words in a language.
struct TermForms {
  std::vector<FormId> forms;           // by node of the term; of variables without meaning
  std::vector<std::uint32_t> symbols;  // likewise
};
template <typename Graph>
TermForms forms_of(Graph& egraph, const Term& term) {
  TermForms result;
  for (const Term::Node& node : term.nodes) {
    const FormId form = node.is_variable() ? FormId() : egraph.language().form_of(node.word);
    result.forms.push_back(form);
    result.symbols.push_back(
        node.is_variable() ? no_symbol
                           : Graph::Language::symbol_of(egraph.language().label_of(egraph, form)));
  }
  return result;
}

/// Errors: a bare variable would match everything.
Result<Pattern> compile_pattern(const Term& term, const TermForms& forms);
/// Errors: a variable that the pattern lacks.
Result<Template> compile_template(const Term& term, const TermForms& forms, const Pattern& pattern);

}  // namespace lemma::engine
