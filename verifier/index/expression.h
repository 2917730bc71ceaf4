#pragma once
// Elements of tensors as polynomials over the reals: a sum of terms
//
//   coefficient * sum(bound variables where domain: factor * factor * ...)
//
// A term without bound variables whose domain does not hold is 0. Factors are elements of inputs,
// named constants and scalar functions of further polynomials. Names of bound variables are unique
// within a proof; texts do not show them, so that equal texts are equal up to these names.

#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/data_type.h"
#include "ir/definition.h"
#include "verifier/index/formula.h"

namespace lemma::verifier::index {

struct Factor;
using FactorPointer = std::shared_ptr<const Factor>;

struct Term {
  std::int64_t coefficient = 1;
  std::vector<Bound> bound;
  Formula domain = always();
  std::vector<FactorPointer> factors;  // sorted by text
  std::string text;                    // without the coefficient

  bool is_plain() const { return bound.empty() && is_always(domain); }
};

/// Sorted by text; no two terms have one text, no coefficient is 0.
struct Polynomial {
  std::vector<Term> terms;
  std::string text;
};

struct Factor {
  enum class Kind {
    read,       // element of an input
    constant,   // a real number that is not a small integer
    parameter,  // a real parameter of the axiom: one that stands for all of its order
    size,       // a size or index as a real number
    inverse,    // 1 / argument
    function,   // a scalar function of the argument
    power,      // first argument to the power of the second
    maximum,    // greatest of the arguments
    greatest,   // maximum of the argument over bound variables
    product,    // product of the argument over bound variables
    opaque,     // a named function of the arguments of which nothing else is known
    infinity,   // neutral element of a reduction; no arithmetic with it is done
  };
  Kind kind = Kind::read;
  std::uint32_t input = 0;
  std::vector<Dimension> indices;  // read; size: the one value
  double number = 0;               // constant; parameter: a value of its order
  ScalarFunction function = ScalarFunction::none;
  std::vector<Polynomial> arguments;
  std::vector<Bound> bound;             // greatest, product
  Formula domain = always();            // greatest, product
  bool inhabited = false;               // greatest: the domain is surely not empty
  std::string name;                     // opaque
  DataType type = DataType::undefined;  // opaque: of its values, if these are integers of one
  std::string text;
};

/// What the normalizer cannot do: the proof ends as unknown. Does not leave this folder.
class Unsupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

FactorPointer finished(Factor factor);  // with its text
Term finished(Term term);
Polynomial polynomial(std::vector<Term> terms);

Polynomial whole(std::int64_t value);
Polynomial number(double value);
Polynomial of_factor(Factor factor);
Polynomial read(std::uint32_t input, std::vector<Dimension> indices);
Polynomial size(const Dimension& value);
Dimension of_atom(const Dimension::Atom& atom);

Polynomial add(const Polynomial& a, const Polynomial& b);
Polynomial scale(const Polynomial& a, std::int64_t factor);
/// Makes names of bound variables that no other variable of the side has.
class Names {
 public:
  /// Padded, so that they are ordered as they were made.
  std::string fresh() { return fmt::format("_k{:04}", next_++); }

 private:
  int next_ = 0;
};
Polynomial multiply(const Polynomial& a, const Polynomial& b);
Polynomial inverse(const Polynomial& a);
Polynomial apply(ScalarFunction function, const Polynomial& a);
Polynomial maximum(const Polynomial& a, const Polynomial& b);
Polynomial power(const Polynomial& a, const Polynomial& b);

/// The only factor of a polynomial that is one factor and nothing else; null otherwise.
const Factor* only_factor(const Polynomial& a);
bool is_infinite(const Polynomial& a);
/// Whether it applies a function that is not defined everywhere.
bool is_partial(const Factor& factor);
/// What does not depend on the variables of a sum, taken out of it: both parts multiplied are the
/// term. What is not defined everywhere leaves only a sum that is `inhabited`: an empty one does not
/// say that it is defined.
std::pair<std::vector<FactorPointer>, Term> without_free_factors(const Term& term, bool inhabited);
/// Whether it depends on one of the variables.
bool depends_on(const Term& term, const std::vector<Bound>& variables);
bool depends_on(const Factor& factor, const std::vector<Bound>& variables);
/// All names in it: of variables that are bound at any depth, and free ones.
void collect_names(const Term& term, std::set<std::string>& names);
void collect_names(const Factor& factor, std::set<std::string>& names);
/// The same with other names for the variables that it binds, at any depth, under a name that is
/// taken. No operation below has to tell a variable from another one of its name.
Term renamed_apart(const Term& term, const std::set<std::string>& taken);
Factor renamed_apart(const Factor& factor, const std::set<std::string>& taken);

Polynomial substitute(const Polynomial& a, const DimensionBindings& bindings);
Term substitute(const Term& term, const DimensionBindings& bindings);
FactorPointer substitute(const FactorPointer& factor, const DimensionBindings& bindings);

}  // namespace lemma::verifier::index
