#pragma once
// Substitutions: equalities between tensor programs, as text. Axioms and rules share this form; the
// verifier proves rules from axioms, and the e-graph applies proved rules.
//
//   rule merge_matmul_shared_left
//     x : [B.., m, k]
//     weight a : [k, n]
//     weight b : [k, p]
//     let both = Split{axis=-1, split=[n, p]}(MatMul(x, Concat{axis=-1}(a, b)))
//     MatMul(x, a) & MatMul(x, b) => both#0 & both#1
//
// Meaning (docs/semantics.md, "Relations"). Elements are real numbers or undefined, and inputs range
// over both. For all values of the variables for which the left side is well typed, the inputs have
// the declared shapes and the conditions hold, the right side is well typed and has the same types.
// `=>`: wherever an element of the left side is defined, that of the right side is defined and equal.
// `=`: the same in both directions.
//
// Lines of a rule, in this order (a rule ends at an empty line or the next `rule`/`axiom`):
//   role NAME, ...                  what a search uses the rule for (rule_language/rule_roles.h; no part
//                                   of the claim, and not in its canonical text)
//   [defined] [weight] NAME : [TYPE][SHAPE]
//                                   an input. TYPE is a data type, or absent: one real type that
//                                   all such inputs share. SHAPE items: a dimension expression over
//                                   dimension variables, or a group `B..` that stands for any number
//                                   of axes. `defined`: the claim is about values without undefined
//                                   elements only. `weight`: the rule is applied only where the
//                                   value does not depend on the graph's inputs (steers; not needed
//                                   for truth).
//   group B : 0..3                  the numbers of axes that a group may have; 0..3 if not stated.
//                                   Proofs hold for these, and the rule is applied for these only.
//   param S : dimensions[len(H)]    an attribute variable, and the values it ranges over in proofs:
//   param p : permutation[EXPR]       all lists of EXPR dimensions, all permutations of EXPR axes,
//   param i : integer[EXPR, EXPR)     integers in a range, any one dimension, real number,
//   param g : dimension               or string among those listed (string["linear", "cubic"]).
//   param r : real
//   param t : type                  the real type that inputs without a TYPE share, so that numbers
//                                   may be of it: ConstantOfShape{data_type=t, shape=[], value=2.0}()
//   free k : 2, 4, 8                a dimension or an integer that the matched side need not bind, such as
//   free k : divisors of EXPR         a degree of parallelism, and the values that matching tries for it
//   free k : at most 3 divisors of EXPR  (rule_language/free_parameters.h; steers; not needed for truth:
//   free k : target                   proofs hold for all values). If nothing else declares k it is a
//                                     `param k : dimension`. `any`: each integer of the range of a
//   free len(A) : any                 parameter, or each length that a group may have.
//   where CONDITION, ...            comparisons (== != < <=) of dimension expressions, or named
//                                   predicates (see attribute_functions())
//   search forward                  an equation that proofs try from left to right only (steers; not
//                                   needed for truth)
//   let NAME = TERM
//   TERM & TERM ... => TERM & TERM ...
//
// A term is an input, a `let` name, OP{attribute=EXPRESSION, ...}(TERM, ...) or TERM#k for output k;
// `_` as an operand is an absent optional one. Attributes that are not written have their record's
// default on both sides. Axes may be negative.
// EXPRESSIONs: literals, variables, + - *, lists [n, B.., p], len(B), and attribute functions such
// as compose(p, q).
//
// A line goes on in the next one while a bracket is open, and where the next one begins with `=>`,
// `=` or `&`. From a `#` at the beginning of a line or after a blank to its end is a comment.
//
// A side binds a variable if it stands alone in a declared shape or attribute, or can be solved for
// by + - * and exact division once all others beside it are known (`g*i`, `n + 1`, `len(B) + 1`).
// Where several groups stand in one shape, `where len(D) == len(C)` gives the length of one.

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/attributes.h"
#include "ir/graph.h"

namespace lemma {

/// An expression over the variables of a rule: of a size, or of the value of an attribute.
struct RuleExpression {
  /// `splice`: the sizes of a group, `B..`.
  enum class Kind { literal, variable, splice, add, subtract, multiply, list, call };
  Kind kind = Kind::literal;              // says which of the fields below count
  AttributeValue literal;                 // literal
  std::string name;                       // variable, splice (group), call (function)
  std::vector<RuleExpression> arguments;  // operands, list elements
  /// As written, whatever the values.
  friend bool operator==(const RuleExpression&, const RuleExpression&) = default;
};

/// One condition behind `where`.
struct RuleCondition {
  enum class Kind { equal, not_equal, less, less_equal, predicate };  // comparisons are of sizes
  Kind kind = Kind::predicate;            // all but `predicate` have two arguments
  std::string predicate;                  // its name in attribute_functions()
  std::vector<RuleExpression> arguments;  // in the order of the text
  /// As written, whatever the values.
  friend bool operator==(const RuleCondition&, const RuleCondition&) = default;
};

/// A variable that stands for any tensor of the declared type and shape.
struct RuleInput {
  std::string name;                          // unique in the rule
  DataType data_type = DataType::undefined;  // undefined: the rule's shared real type
  std::vector<RuleExpression> shape;         // dimension expressions and splices
  bool weight = false;   // the rule is applied only where it depends on no graph input
  bool defined = false;  // stands for values without undefined elements
  friend bool operator==(const RuleInput&, const RuleInput&) = default;  // the name counts, too
};

/// A variable that stands for the sizes of several axes, `B..` in shapes.
struct RuleGroup {
  std::string name;                      // without the dots
  std::size_t minimum = 0, maximum = 3;  // numbers of axes that it may have
  friend bool operator==(const RuleGroup&, const RuleGroup&) = default;  // the name counts, too
};

/// A variable that stands for the value of an attribute, and the values that the claim is about.
struct RuleParameter {
  /// As `param` lines name them.
  enum class Range { dimensions, permutation, integer, dimension, real, type, strings };
  std::string name;                    // unique in the rule
  Range range = Range::dimensions;     // says which of the fields below count
  std::vector<RuleExpression> bounds;  // length; or first and past-the-last integer
  std::vector<std::string> strings;    // those that it may be
  /// The name counts, too.
  friend bool operator==(const RuleParameter&, const RuleParameter&) = default;
};

/// A variable that the matched side need not bind, and where its values come from where the rule is applied.
struct FreeParameter {
  enum class Source { list, divisors, target, any };  // as `free` lines name them
  static constexpr std::size_t usual_divisors = 8;    // where the line gives no number
  RuleExpression expression;  // of one variable, `k` or `k + 1`, or `len(A)`: this takes the values
  Source source = Source::list;      // says which of the fields below count
  std::vector<std::int64_t> values;  // list: positive, different
  RuleExpression size;  // divisors: of this, which matching knows or finds in a declared shape
  std::size_t most = usual_divisors;  // divisors: at most so many
  /// As written, whatever the values.
  friend bool operator==(const FreeParameter&, const FreeParameter&) = default;
};

/// Number of a term of one rule.
struct TermId {
  std::uint32_t v = 0;  // position in Substitution::terms
  /// Stands for an absent optional operand.
  static constexpr TermId none() { return {0xffffffffU}; }
  bool is_none() const { return v == 0xffffffffU; }   // stands for no term
  friend auto operator<=>(TermId, TermId) = default;  // by number: operands before users
};

/// One output of a node of a pattern; equal terms are one. Operands come first.
struct RuleTerm {
  bool is_input = false;    // then only `input` counts
  std::uint32_t input = 0;  // position in Substitution::inputs
  OperatorId op;            // of the node
  /// Those that are written, by name and value; the others have their defaults.
  std::vector<std::pair<std::string, RuleExpression>> attributes;
  std::vector<TermId> operands;    // TermId::none() for absent ones
  std::uint32_t output = 0;        // which output of the node
  std::uint32_t output_count = 1;  // how many it has (greatest #k used + 1, or as the list says)
  friend bool operator==(const RuleTerm&, const RuleTerm&) = default;  // by the numbers of operands
};

/// What a search uses a rule for, beside rewriting with it wherever it fits.
enum class RuleRole : std::uint8_t {
  general,         // nothing else
  simplification,  // `lemma simplify` uses it too
  runtime,         // only for targets that are the runtime whose operators it has
  layout,          // only about the costs of a runtime's layout
  partial,  // only for targets on which regrouping an operator's elements was measured to win
  recurrence_form,     // only to bring steps into the form that the next ones look for
  recurrence,          // also to make recurrent operators, and to join or exchange them
  recurrence_results,  // also to read results off a recurrent operator
};

/// A rule or an axiom: `left` may be replaced by `right`.
struct Substitution {
  std::string name;             // unique in its folder
  bool is_axiom = false;        // declared by `axiom`: a premise of proofs, which no search applies
  bool bidirectional = false;   // `=`; otherwise the right side refines the left one
  bool search_forward = false;  // an equation that proofs try from left to right only
  std::vector<RuleRole> roles;  // in the order of RuleRole; empty: the rule states none
  std::vector<RuleInput> inputs;          // in the order of the text, as all lists here
  std::vector<RuleGroup> groups;          // those of all shapes, declared or not
  std::vector<RuleParameter> parameters;  // of attributes
  std::vector<FreeParameter> free;        // what the left side leaves open
  std::vector<RuleCondition> conditions;  // all of them have to hold
  std::vector<RuleTerm> terms;            // of both sides; operands before users
  std::vector<TermId> left, right;        // outputs, pairwise equal
  int line = 0;                           // where it stands in its file
  /// Names and `line` count, too.
  friend bool operator==(const Substitution&, const Substitution&) = default;
};

using RuleNames = std::set<std::string, std::less<>>;  // of a database

/// Values of a rule's variables. Ordered, so that iteration is deterministic.
struct RuleBindings {
  std::map<std::string, Dimension, std::less<>> dimensions;  // by name of the variable
  std::map<std::string, Shape, std::less<>> groups;          // the sizes that a group stands for
  std::map<std::string, AttributeValue, std::less<>> parameters;  // of `param`
  /// Known before the group itself: from an attribute such as axis=len(B).
  std::map<std::string, std::size_t, std::less<>> group_lengths;
  friend bool operator==(const RuleBindings&, const RuleBindings&) = default;  // the same values
};

/// Errors name file, line and what is wrong: unknown operators, attributes, functions; variables of
/// the right side that the left side does not bind; outputs that do not pair up.
Result<std::vector<Substitution>> parse_substitutions(std::string_view text, std::string_view file);
/// An expression by itself; which names it may use is not checked.
Result<RuleExpression> parse_rule_expression(std::string_view text);
/// A term over the inputs of `rule`, to which it is added. It may have attributes that use other
/// variables than the rule's.
Result<TermId> parse_rule_term(Substitution& rule, std::string_view text);
/// Canonical text: the claim, without roles. parse_substitutions reads it back.
std::string text(const Substitution& substitution);
/// The same with the roles, as a file of rules has it.
std::string text_with_roles(const Substitution& substitution);
std::string text(const RuleExpression& expression);  // parse_rule_expression() reads it back
/// The same claim read from right to left (for `=`).
Substitution reversed(const Substitution& substitution);

/// What a match has found for one operation of the left side.
struct MatchedNode {
  TermId term;                              // one of the outputs of the pattern's node
  const Attributes* attributes = nullptr;   // complete
  std::span<const TensorType> input_types;  // of the matched node's operands
};

/// Finds the values of all variables for a place where the structure of the left side fits: types of
/// the rule's inputs and attributes of the matched nodes. True only if shapes, attributes, parameter ranges and conditions all agree.
bool bind_variables(const Substitution& rule, std::span<const TensorType* const> input_types,
                    std::span<const MatchedNode> nodes, RuleBindings& bindings);

// The parts of bind_variables().

/// Extends `bindings` so that the declared shape equals `shape`; false if that is impossible.
/// What cannot be decided yet (two unknown variables in one dimension) is left out: shapes_agree
/// asks again once all is bound.
bool match_shape(const Substitution& rule, std::uint32_t input, const Shape& shape,
                 RuleBindings& bindings);
/// Binds or compares the attributes of a pattern node with the complete attributes of a real node.
/// What cannot be decided yet is left out: attributes_agree asks again once all is bound.
bool match_attributes(const RuleTerm& term, const Attributes& attributes, RuleBindings& bindings);
/// Gives `type` parameters their value, the type that inputs share; nothing if that is undefined.
void bind_real_type(const Substitution& rule, DataType shared, RuleBindings& bindings);
/// Compares the declared shape expressions of all inputs again, now that all is bound.
bool shapes_agree(const Substitution& rule, std::span<const Shape> input_shapes,
                  const RuleBindings& bindings);
/// Whether the pattern's attributes, evaluated and completed, are exactly those of the real node.
bool attributes_agree(const RuleTerm& term, const Attributes& attributes,
                      std::span<const TensorType> input_types, const RuleBindings& bindings);
/// True only if every condition certainly holds (for all non-negative symbols), groups have an
/// allowed number of axes and parameters lie in their ranges.
bool conditions_hold(const Substitution& rule, const RuleBindings& bindings);

/// An error: a variable has no value, or the value is no size.
Result<Dimension> evaluate_dimension(const RuleExpression& expression,
                                     const RuleBindings& bindings);
/// `kind` is what the attribute's specification wants.
Result<AttributeValue> evaluate_attribute(const RuleExpression& expression, AttributeKind kind,
                                          const RuleBindings& bindings);
/// The attributes that the term has written, without defaults. Errors name the attribute.
Result<Attributes> evaluate_attributes(const RuleTerm& term, const RuleBindings& bindings);

/// Adds the rule's inputs to `graph`, of f32, with the shapes that they have with these bindings. An error: a size has no
/// value.
Result<std::vector<ValueId>> add_rule_inputs(const Substitution& rule, const RuleBindings& bindings,
                                             Graph& graph);

/// Builds the terms in `roots` in `graph` over the given input values.
Result<std::vector<ValueId>> instantiate(const Substitution& rule, std::span<const TermId> roots,
                                         std::span<const ValueId> inputs,
                                         const RuleBindings& bindings, Graph& graph);

/// Functions on attribute values that rules may call, and predicates for `where`.
struct AttributeFunction {
  std::string_view name;  // compose, inverse, identity, insert, remove, concat, reverse, sum, ...
  std::size_t argument_count = 1;  // of each call
  std::string_view summary;        // for docs/rules.md
  /// Functions: the value, or an error where the arguments have none. Null for predicates.
  Result<AttributeValue> (*apply)(std::span<const AttributeValue> arguments) = nullptr;
  bool (*holds)(std::span<const AttributeValue> arguments) = nullptr;  // predicates
};
/// Functions and predicates, as docs/rules.md lists them.
std::span<const AttributeFunction> attribute_functions();
/// Null for an unknown name.
const AttributeFunction* find_attribute_function(std::string_view name);

}  // namespace lemma
