#include <array>

#include "ir/operators/elementwise.h"
#include "ir/operators/families.h"

namespace lemma::operators {
namespace {

using Kind = ExpressionKind;
using Operands = std::vector<Expression>;

template <Kind kind>
Expression binary(DefinitionBuilder& d, const Instance&, Operands x) {
  return d.binary(kind, x[0], x[1]);
}

constexpr std::array records = {
    binary_record<"Add", TypeSet::numeric, binary<Kind::add>>("a + b", commutative | associative),
    binary_record<"Div", TypeSet::numeric, binary<Kind::divide>>(
        "a / b; integers truncate toward zero"),
    binary_record<"Mul", TypeSet::numeric, binary<Kind::multiply>>(
        "a * b", commutative | associative | linear),
    binary_record<"Sub", TypeSet::numeric, binary<Kind::subtract>>("a - b"),
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> arithmetic() { return records; }

}  // namespace lemma::operators
