#pragma once
// Conditions on sizes and indices: comparisons of polynomials, joined by and and or. Symbols stand
// for sizes and for index variables alike; all of them are at least 0. Conditions on elements of
// tensors (elements.h) are propositions here, of which only the text is known.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/dimension.h"

namespace lemma::verifier::index {

struct FormulaNode;
struct Polynomial;
/// Immutable; never null.
using Formula = std::shared_ptr<const FormulaNode>;

struct FormulaNode {
  enum class Kind { truth, falsity, nonnegative, zero, element, conjunction, disjunction };
  Kind kind = Kind::truth;
  Dimension value;             // nonnegative, zero
  std::vector<Formula> parts;  // conjunction, disjunction; sorted by text, without duplicates
  std::string text;            // equal texts: equal formulas
  /// element: the value is greater than 0, or equal to 0; or that is not so.
  std::shared_ptr<const Polynomial> element = nullptr;
  bool compares_equal = false, is_negated = false;
  std::string proposition = {};  // element: the text without the negation
};

Formula always();
Formula never();
Formula is_nonnegative(const Dimension& value);
Formula is_zero(const Dimension& value);
Formula less(const Dimension& a, const Dimension& b);        // a < b
Formula less_equal(const Dimension& a, const Dimension& b);  // a <= b
Formula equal(const Dimension& a, const Dimension& b);
/// A part that contradicts another one literally makes the whole false.
Formula conjunction(std::vector<Formula> parts);
Formula disjunction(std::vector<Formula> parts);
Formula both(const Formula& a, const Formula& b);
Formula negation(const Formula& formula);

inline bool is_always(const Formula& f) { return f->kind == FormulaNode::Kind::truth; }
inline bool is_never(const Formula& f) { return f->kind == FormulaNode::Kind::falsity; }

Formula substitute(const Formula& formula, const DimensionBindings& bindings);
/// Counts the symbols; of conditions on elements all names, also of variables that are bound in
/// them.
void collect_symbols(const Formula& formula, std::map<std::string, int>& counts);
/// Whether a condition on elements occurs in it.
bool mentions_elements(const Formula& formula);

/// lemma::substitute and lemma::collect_symbols that also look into indices that depend on elements
/// (elements.h).
Dimension substituted(const Dimension& value, const DimensionBindings& bindings);
void collect_all_symbols(const Dimension& value, std::map<std::string, int>& counts);

/// An index variable that a reduction binds: 0 <= name < extent.
struct Bound {
  std::string name;
  Dimension extent;
};
/// The ranges of the variables as a condition.
Formula ranges(const std::vector<Bound>& bound);

}  // namespace lemma::verifier::index
