#pragma once
// Conditions on sizes and indices: comparisons of polynomials, joined by and and or. Symbols stand
// for sizes and for index variables alike; all of them are at least 0.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/dimension.h"

namespace lemma::verifier::index {

struct FormulaNode;
/// Immutable; never null.
using Formula = std::shared_ptr<const FormulaNode>;

struct FormulaNode {
  enum class Kind { truth, falsity, nonnegative, zero, conjunction, disjunction };
  Kind kind = Kind::truth;
  Dimension value;             // nonnegative, zero
  std::vector<Formula> parts;  // conjunction, disjunction; sorted by text, without duplicates
  std::string text;            // equal texts: equal formulas
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
void collect_symbols(const Formula& formula, std::map<std::string, int>& counts);

/// An index variable that a reduction binds: 0 <= name < extent.
struct Bound {
  std::string name;
  Dimension extent;
};
/// The ranges of the variables as a condition.
Formula ranges(const std::vector<Bound>& bound);

}  // namespace lemma::verifier::index
