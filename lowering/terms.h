#pragma once
// The expression of one output, prepared for evaluation: concrete sizes, index arithmetic in linear
// form, every reduction with variables of its own (a definition may use one variable in several),
// and elements held as lanes of a domain.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "ir/definition.h"
#include "lowering/lanes.h"
#include "lowering/linear.h"

namespace lemma::lowering {

using TermNumber = std::uint32_t;
using LoopVariable = std::uint32_t;  // below first_term_atom
using VariableSet = std::uint64_t;   // a bit for each loop variable
constexpr VariableSet set_of(LoopVariable v) { return VariableSet{1} << v; }

struct Term {
  ExpressionKind kind = ExpressionKind::integer_constant;  // index stands for a linear form
  ScalarFunction function = ScalarFunction::none;
  DataType type = DataType::i64;
  std::vector<TermNumber> operands;
  std::uint64_t bits = 0;           // constants: the lane
  Linear linear;                    // index; floor_divide of i64 by `divisor`
  std::int64_t divisor = 0;         // floor_divide in this form; 0 for the general one
  std::uint32_t input = 0;          // read
  std::vector<Linear> indices;      // read
  std::vector<LoopVariable> bound;  // reductions

  // Derived.
  LaneKind lanes = LaneKind::integer;
  VariableSet depends = 0;        // free variables
  Interval range;                 // of i64 terms
  bool may_be_undefined = false;  // for some lanes
};

/// What an input looks like to reads.
struct InputView {
  DataType type = DataType::undefined;
  Sizes sizes;
  bool as_lanes = false;  // elements are held as lanes of the domain, not as the type's elements
};

class TermGraph {
 public:
  TermGraph(Domain domain, std::vector<InputView> inputs)
      : domain_(domain), inputs_(std::move(inputs)) {}

  Domain domain() const { return domain_; }
  /// The same terms, computed in another domain: constants have other lanes. What may be undefined stays as it is. An error:
  /// a constant that the domain does not have. `this` is of the native domain.
  Result<TermGraph> in_domain(Domain domain) const;
  const std::vector<InputView>& inputs() const { return inputs_; }
  const Term& term(TermNumber id) const { return terms_[id]; }
  std::size_t size() const { return terms_.size(); }
  std::int64_t extent(LoopVariable v) const { return extents_[v]; }
  std::size_t variable_count() const { return extents_.size(); }

  Result<LoopVariable> variable(std::int64_t extent);
  TermNumber linear(const Linear& form);
  /// The same value as a form: the inverse of linear().
  Linear form(TermNumber id) const;
  TermNumber floor_divide(const Linear& dividend, std::int64_t divisor);
  TermNumber add(Term term);
  /// Adds an input, for a value that has been computed already.
  std::uint32_t add_input(InputView view);
  /// Makes a term a read; used once what it stood for has been computed.
  void replace_by_read(TermNumber id, std::uint32_t input, std::vector<Linear> indices);

  Interval range(const Linear& form) const;
  VariableSet depends(const Linear& form) const;
  bool may_be_undefined(const Linear& form) const;
  /// Whether index `axis` of a read lies inside the tensor whatever the variables are.
  bool is_inside(const Term& read, std::size_t axis) const;
  /// Position of the element in row-major order.
  Linear address(const Term& read) const;

 private:
  void derive(Term& term) const;
  Interval derive_range(const Term& term) const;
  Domain domain_;
  std::vector<InputView> inputs_;
  std::vector<std::int64_t> extents_;
  std::vector<Term> terms_;
  absl::flat_hash_map<std::size_t, absl::InlinedVector<TermNumber, 2>> interned_;
};

/// A value for each variable of the definition that is free in an expression; ascending.
using Environment = absl::InlinedVector<std::pair<std::uint32_t, TermNumber>, 6>;
/// Replaces the value if there is one.
void bind(Environment& environment, std::uint32_t variable, TermNumber value);

/// Adds the expression to the graph. Extents must be constant.
Result<TermNumber> translate(TermGraph& graph, const Definition& definition, ExpressionId root,
                             const Environment& environment);

}  // namespace lemma::lowering
