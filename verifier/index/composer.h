#pragma once
// Substitutes definitions into each other; what compose() does (composition.h). The parts are in
// composition.cpp (tensors, indices, conditions), composition_elements.cpp (arithmetic),
// composition_reductions.cpp and composition_bits.cpp (what a run computes).

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verifier/index/composition.h"
#include "verifier/index/ranges.h"

namespace lemma::verifier::index {

/// One side of a claim. Axioms and definitions are a few operators deep: recursion is safe here.
class Composer {
 public:
  /// `kernels`: composes what a run computes (composition.h); null: real numbers.
  Composer(const Graph& graph, const std::vector<Formula>& facts, const IndexSplits& splits,
           const Kernels* kernels = nullptr)
      : graph_(graph), facts_(facts), splits_(splits), kernels_(kernels) {
    definitions_.resize(graph.node_count());
  }
  std::vector<ComposedOutput> run(std::span<const ValueId> values);

 private:
  using Kind = ExpressionKind;

  struct Scope {
    const Definition& definition;
    const Node& node;
    std::vector<Dimension> variables;  // by VariableId
  };
  /// The index, below its extent, or what it is split into.
  Dimension output_index(const std::string& name, const Dimension& extent);
  /// What is known of the variables where the path is taken.
  Ranges ranges_of(const Formula& path) const;
  ReadElement in_normal_variables(ReadElement read) const;
  const Definition& definition_of(NodeId id);
  /// An element of a value. Of integers, if `width` is not 0, a number that is congruent to it
  /// modulo 2^width.
  Pieces element(ValueId value, const std::vector<Dimension>& indices, const Formula& path,
                 int width = 0);
  InputTypes input_types() const;
  /// An index that is an element is inside the tensor wherever the result is defined.
  void note_index(const Dimension& index, const Dimension& extent, const Formula& path);
  /// The value of an output. A minimum or maximum of nothing is not defined as such a value; inside of
  /// a definition it is the neutral element.
  Pieces result_of(const Scope& scope, ExpressionId id, const Formula& path, int width);
  /// The number that a definition means, not the one that an element type has of it.
  Pieces constant(const Node& node, const Formula& path);
  static Polynomial parameter(const ExpressionNode& node);
  /// Whether it reads nothing and is a number: then each function in it is applied within its domain.
  static bool is_number(const Definition& definition, ExpressionId id);

  // ---- Index

  Dimension position(const Scope& scope, ExpressionId id, const Formula& path);
  static Dimension valid(Dimension value);
  Dimension floor_of(const Dimension& a, const Dimension& b, const Formula& path);

  // ---- Conditions

  Formula condition(const Scope& scope, ExpressionId id, const Formula& path);
  /// Index arithmetic without elements.
  static bool is_position(const Scope& scope, ExpressionId id);
  /// The condition where the second operand of And is read: And is strict in booleans that are
  /// elements. A condition on indices guards what is read, and so does any condition where an
  /// element is an index.
  static Formula where_second_is_read(const Scope& scope, const ExpressionNode& node,
                                      const Formula& first, const Formula& path);
  static bool has_index_of_elements(const Definition& definition, ExpressionId id);
  template <typename F>
  static Formula any_piece(const Pieces& pieces, F f) {
    std::vector<Formula> ways;
    for (const Piece& piece : pieces) ways.push_back(both(piece.guard, f(piece.value)));
    return disjunction(std::move(ways));
  }
  /// The condition that a value, which is 0 or 1, is 1.
  static Formula holds(const Pieces& pieces);
  static Pieces truth(const Formula& formula);
  Formula comparison(const Scope& scope, const ExpressionNode& node, const Formula& path);

  // ---- Elements

  template <typename F>
  static Pieces combine(const Pieces& a, const Pieces& b, F f) {
    Pieces result;
    for (const Piece& x : a)
      for (const Piece& y : b) {
        const Formula guard = both(x.guard, y.guard);
        if (!is_never(guard)) result.push_back({guard, f(x.value, y.value)});
      }
    constexpr std::size_t limit = 64;
    if (result.size() > limit) throw Unsupported("too many cases of conditions");
    return result;
  }
  template <typename F>
  static Pieces map(Pieces a, F f) {
    for (Piece& piece : a) piece.value = f(piece.value);
    return a;
  }
  /// The value of an expression. Of one of integers, if `width` is not 0, a number that is congruent
  /// to it modulo 2^width: sums and products wrap around when they are stored. Otherwise the integer
  /// itself, as 64 bits have it.
  Pieces real(const Scope& scope, ExpressionId id, const Formula& path, int width = 0);
  /// The element at indices. Where these are elements, one piece for each condition on sizes that they
  /// depend on.
  Pieces read_at(const Scope& scope, const ExpressionNode& node, const Formula& path, int width);
  /// The index, by conditions on sizes.
  std::vector<std::pair<Formula, Dimension>> positions(const Scope& scope, ExpressionId id,
                                                       const Formula& path);
  Pieces exactly(const Scope& scope, const ExpressionNode& node, std::size_t i,
                 const Formula& path);

  // ---- Integers

  /// Definitions compute with 64 bits. Sizes and indices are unbounded: what reads no element is as it
  /// is.
  Pieces as_stored(const Scope& scope, ExpressionId id, Pieces value, int width) const;
  /// Division, remainders and operations on bits: of equal numbers they are equal.
  Pieces of_integers(const Scope& scope, const ExpressionNode& node, const Formula& path);
  /// The result for sizes and indices that are not negative. Where the divisor is 0 the result is
  /// not defined.
  std::optional<Dimension> of_naturals(const ExpressionNode& node, const Pieces& a, const Pieces& b,
                                       const Formula& path);
  static bool is_remainder_by(const Polynomial& x, const std::string& function,
                              const Polynomial& divisor);
  static bool divides_wholly(Kind kind);
  /// Commutative; a or b is ~(~a and ~b), and ~a is -1 - a.
  static Polynomial bitwise(const ExpressionNode& node, const Polynomial& a, const Polynomial& b);
  static bool reads(const Definition& definition, ExpressionId id);
  void note_partial(const Pieces& argument, std::string_view function, const Formula& path);
  Pieces divided(const Scope& scope, const ExpressionNode& node, const Pieces& a, const Pieces& b,
                 const Formula& path);
  /// 1 to 4, if the exponent is one of these.
  static std::optional<std::int64_t> natural_exponent(const Pieces& b);
  Pieces powers(const Scope& scope, const ExpressionNode& node, const Formula& path);
  Pieces applied(const Scope& scope, ExpressionId id, const Formula& path, int width);
  Pieces applied_to_integer(const Scope& scope, ExpressionId id, const Formula& path, int width);
  Pieces selected(const Scope& scope, const ExpressionNode& node, const Formula& path, int width,
                  bool is_result);
  Pieces converted(const Scope& scope, const ExpressionNode& node, const Formula& path, int width);
  /// The least of all numbers is neutral.
  static Polynomial greater(const Polynomial& a, const Polynomial& b);

  // ---- Reductions

  struct Body {
    std::vector<Bound> bound;
    std::set<std::string> names;
    Pieces pieces;
    Formula path;
  };
  Body body_of(Scope scope, const ExpressionNode& node, const Formula& path, int width = 0);
  Pieces sum(const Scope& scope, const ExpressionNode& node, const Formula& path, int width);
  Polynomial summed(Term term, const Formula& path) const;
  /// Conditions on elements that do not depend on the variables of a reduction are conditions on the
  /// whole: all ways in which a few of them may hold or not.
  static std::vector<Formula> outer_conditions(const Body& body);
  /// What is left of a guard where the condition holds.
  static Formula under(const Formula& guard, const Formula& condition);
  /// The product of those over the pieces. A product of products is one of each factor.
  Pieces product(const Scope& scope, const ExpressionNode& node, const Formula& path);
  static std::vector<Polynomial> factors_of(const Polynomial& value);
  /// The maximum of sign * body. Pieces that are the neutral element are left out of the domain.
  Pieces greatest(const Scope& scope, const ExpressionNode& node, const Formula& path, int sign,
                  bool is_result);
  void note_inhabited(const Body& body, const Formula& path);
  Polynomial greatest_of(const Body& body, const Piece& piece, const Formula& outer,
                         const Formula& path, int sign);

  // ---- What a run computes (composition_bits.cpp)

  /// The element of an operation that is no mere movement and no single rounding; nothing for others.
  std::optional<Pieces> element_of_kernel(ValueId value, const std::vector<Dimension>& indices,
                                          const Formula& path);
  Pieces element_of_whole(ValueId value, const std::vector<Dimension>& indices) const;
  /// What an elementwise operator applies its function to.
  std::vector<Pieces> broadcast_operands(const Node& node, const Shape& shape,
                                         const std::vector<Dimension>& indices,
                                         const Formula& path);
  /// The elements that a definition reads, in the order of its nodes.
  std::vector<Pieces> elements_read(const Scope& scope, const Formula& path);
  static bool is_rounded(const ExpressionNode& node);
  /// Arithmetic of real numbers in a definition, each operation with its rounding.
  Pieces rounded(const Scope& scope, const ExpressionNode& node, const Formula& path);
  static Formula rounded_comparison(ExpressionKind kind, const Polynomial& a, const Polynomial& b);

  const Graph& graph_;
  const std::vector<Formula>& facts_;
  const IndexSplits& splits_;
  const Kernels* kernels_;
  std::vector<std::unique_ptr<Definition>> definitions_;
  Names names_;
  std::vector<Bound> bound_;  // of the reductions around
  ComposedOutput result_;
};

}  // namespace lemma::verifier::index
