// The functions and predicates that rules may call on attribute values.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "ir/attribute_conversion.h"
#include "rule_language/real_arithmetic.h"
#include "rule_language/substitution.h"

namespace lemma {
namespace {

using Arguments = std::span<const AttributeValue>;
using Value = Result<AttributeValue>;

constexpr std::int64_t list_limit = 1000;  // no attribute of a real model is longer

// ---- Reading arguments ------------------------------------------------------------------------

Result<Dimension> dimension(Arguments arguments, std::size_t i) {
  if (auto value = to_dimension(arguments[i])) return *value;
  return bad_input(fmt::format("argument {} is {}, not a dimension", i, text(arguments[i])));
}

Result<std::int64_t> integer(Arguments arguments, std::size_t i) {
  if (auto value = to_integer(arguments[i])) return *value;
  return bad_input(fmt::format("argument {} is {}, not an integer", i, text(arguments[i])));
}

Result<Shape> list(Arguments arguments, std::size_t i) {
  if (auto value = to_dimensions(arguments[i])) return *value;
  return bad_input(fmt::format("argument {} is {}, not a list", i, text(arguments[i])));
}

Result<Integers> integers(Arguments arguments, std::size_t i) {
  if (auto value = to_integers(arguments[i])) return *value;
  return bad_input(fmt::format("argument {} is {}, not a list of integers", i, text(arguments[i])));
}

/// A position 0 <= p < limit; negative ones count from the end.
Result<std::size_t> position(Arguments arguments, std::size_t i, std::size_t limit) {
  LEMMA_ASSIGN_OR_RETURN(std::int64_t p, integer(arguments, i));
  if (p < 0) p += static_cast<std::int64_t>(limit);
  if (p < 0 || p >= static_cast<std::int64_t>(limit))
    return bad_input(fmt::format("position {} is outside a list of {}", text(arguments[i]), limit));
  return static_cast<std::size_t>(p);
}

/// A number of elements 0 <= n <= limit.
Result<std::size_t> count(Arguments arguments, std::size_t i, std::size_t limit) {
  LEMMA_ASSIGN_OR_RETURN(const std::int64_t n, integer(arguments, i));
  if (n < 0 || n > static_cast<std::int64_t>(limit))
    return bad_input(fmt::format("{} is not a number of elements from 0 to {}", n, limit));
  return static_cast<std::size_t>(n);
}

bool is_permutation_of_axes(Integers values) {
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

Result<Integers> permutation(Arguments arguments, std::size_t i) {
  LEMMA_ASSIGN_OR_RETURN(Integers values, integers(arguments, i));
  if (!is_permutation_of_axes(values))
    return bad_input(fmt::format("argument {} is {}, not a permutation", i, text(arguments[i])));
  return values;
}

Integers axes_in_order(std::size_t n) {
  Integers result(n);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

// ---- Permutations -----------------------------------------------------------------------------

/// permute(l, p)[i] = l[p[i]]: the shape l after Transpose{perm=p}.
Value permute(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Integers order, permutation(arguments, 1));
  if (values.size() != order.size()) return bad_input("list and permutation differ in length");
  Shape result;
  for (const std::int64_t i : order) result.push_back(values[static_cast<std::size_t>(i)]);
  return result;
}

/// Transpose{perm=q}(Transpose{perm=p}(x)) = Transpose{perm=compose(p, q)}(x).
Value compose(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Integers first, permutation(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Integers second, permutation(arguments, 1));
  if (first.size() != second.size()) return bad_input("the permutations differ in length");
  Integers result;
  for (const std::int64_t i : second) result.push_back(first[static_cast<std::size_t>(i)]);
  return result;
}

Value inverse(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Integers values, permutation(arguments, 0));
  Integers result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    result[static_cast<std::size_t>(values[i])] = static_cast<std::int64_t>(i);
  return result;
}

Value identity(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t n, count(arguments, 0, list_limit));
  return axes_in_order(n);
}

Value swap_last_two(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t n, count(arguments, 0, list_limit));
  if (n < 2) return bad_input("there are no two axes to swap");
  Integers result = axes_in_order(n);
  std::swap(result[n - 1], result[n - 2]);
  return result;
}

bool is_permutation(Arguments arguments) { return permutation(arguments, 0).has_value(); }

bool is_identity(Arguments arguments) {
  const auto values = integers(arguments, 0);
  return values && *values == axes_in_order(values->size());
}

bool swaps_last_two(Arguments arguments) {
  const auto values = integers(arguments, 0);
  const std::array<AttributeValue, 1> length = {
      static_cast<std::int64_t>(values ? values->size() : 0)};
  const auto wanted = swap_last_two(length);
  return values && wanted && std::get<Integers>(*wanted) == *values;
}

/// fixes_last(p, k): the last k axes stay where they are.
bool fixes_last(Arguments arguments) {
  const auto values = permutation(arguments, 0);
  if (!values) return false;
  const auto k = count(arguments, 1, values->size());
  if (!k) return false;
  for (std::size_t i = values->size() - *k; i < values->size(); ++i)
    if ((*values)[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// fixes_first(p, k): the first k axes stay where they are.
bool fixes_first(Arguments arguments) {
  const auto values = permutation(arguments, 0);
  if (!values) return false;
  const auto k = count(arguments, 1, values->size());
  if (!k) return false;
  for (std::size_t i = 0; i < *k; ++i)
    if ((*values)[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// ---- Lists ------------------------------------------------------------------------------------

Value length(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  return static_cast<std::int64_t>(values.size());
}

Value concat(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Shape more, list(arguments, 1));
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Value reverse(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  std::reverse(values.begin(), values.end());
  return values;
}

Value take(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t n, count(arguments, 1, values.size()));
  values.resize(n);
  return values;
}

Value drop(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t n, count(arguments, 1, values.size()));
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
  return values;
}

Value slice(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t begin, count(arguments, 1, values.size()));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t end, count(arguments, 2, values.size()));
  if (begin > end) return bad_input(fmt::format("the range {} to {} is reversed", begin, end));
  return Shape(values.begin() + static_cast<std::ptrdiff_t>(begin),
               values.begin() + static_cast<std::ptrdiff_t>(end));
}

Value at(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t i, position(arguments, 1, values.size()));
  return values[i];
}

Value insert(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t i, position(arguments, 1, values.size() + 1));
  LEMMA_ASSIGN_OR_RETURN(const Dimension value, dimension(arguments, 2));
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(i), value);
  return values;
}

Value remove(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t i, position(arguments, 1, values.size()));
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
  return values;
}

Value replace(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t i, position(arguments, 1, values.size()));
  LEMMA_ASSIGN_OR_RETURN(values[i], dimension(arguments, 2));
  return values;
}

Value repeat(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Dimension value, dimension(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t n, count(arguments, 1, list_limit));
  return Shape(n, value);
}

Value range(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t begin, count(arguments, 0, list_limit));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t end, count(arguments, 1, list_limit));
  Integers result;
  for (std::size_t i = begin; i < end; ++i) result.push_back(static_cast<std::int64_t>(i));
  return result;
}

Value index_of(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Dimension value, dimension(arguments, 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == value) return static_cast<std::int64_t>(i);
    // Symbols may turn out equal: then this would not be the first position.
    if (!(values[i] - value).is_constant())
      return bad_input(fmt::format("{} and {} may be equal", values[i].text(), value.text()));
  }
  return bad_input(fmt::format("{} is not in the list", value.text()));
}

Value sum(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  return std::accumulate(values.begin(), values.end(), Dimension(0));
}

Value product(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  return element_count(values);
}

/// prefix_sums([a, b, c]) = [0, a, a + b]: where the parts of a Split or Concat begin.
Value prefix_sums(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  Shape result;
  Dimension total(0);
  for (const Dimension& value : values) {
    result.push_back(total);
    total = total + value;
  }
  return result;
}

/// Elementwise over two lists of one length, or over two dimensions.
template <Dimension (*combine)(const Dimension&, const Dimension&)>
Value elementwise(Arguments arguments) {
  if (to_dimension(arguments[0])) {
    LEMMA_ASSIGN_OR_RETURN(const Dimension a, dimension(arguments, 0));
    LEMMA_ASSIGN_OR_RETURN(const Dimension b, dimension(arguments, 1));
    return combine(a, b);
  }
  LEMMA_ASSIGN_OR_RETURN(Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Shape others, list(arguments, 1));
  if (values.size() != others.size()) return bad_input("the lists differ in length");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = combine(values[i], others[i]);
  return values;
}

Dimension plus(const Dimension& a, const Dimension& b) { return a + b; }
Dimension minus(const Dimension& a, const Dimension& b) { return a - b; }
Dimension times(const Dimension& a, const Dimension& b) { return a * b; }

/// Sizes at which `axes` (sorted, of the result) are inserted with size 1.
Value insert_axes(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Integers axes, integers(arguments, 1));
  const std::size_t rank = values.size() + axes.size();
  Shape result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end())
      result.emplace_back(1);
    else if (next < values.size())
      result.push_back(values[next++]);
  }
  if (result.size() != rank) return bad_input("an axis is named twice or out of range");
  return result;
}

Value remove_axes(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Shape values, list(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Integers axes, integers(arguments, 1));
  Shape result;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
      result.push_back(values[i]);
  if (result.size() + axes.size() != values.size())
    return bad_input("an axis is named twice or out of range");
  return result;
}

Value sort(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(Integers values, integers(arguments, 0));
  std::sort(values.begin(), values.end());
  return values;
}

bool contains(Arguments arguments) {
  const auto values = list(arguments, 0);
  const auto value = dimension(arguments, 1);
  return values && value && std::find(values->begin(), values->end(), *value) != values->end();
}

/// Certain only for integers: symbolic sizes may coincide.
bool lacks(Arguments arguments) {
  const auto values = integers(arguments, 0);
  const auto value = integer(arguments, 1);
  return values && value && std::find(values->begin(), values->end(), *value) == values->end();
}

bool disjoint(Arguments arguments) {
  const auto a = integers(arguments, 0), b = integers(arguments, 1);
  if (!a || !b) return false;
  return std::none_of(a->begin(), a->end(), [&b](std::int64_t value) {
    return std::find(b->begin(), b->end(), value) != b->end();
  });
}

/// all_equal(l, v): every element is v.
bool all_equal(Arguments arguments) {
  const auto values = list(arguments, 0);
  const auto value = dimension(arguments, 1);
  return values && value &&
         std::all_of(values->begin(), values->end(),
                     [&value](const Dimension& d) { return d == *value; });
}

// ---- Numbers ----------------------------------------------------------------------------------

Value divide(Arguments arguments) {
  const auto a = to_dimension(arguments[0]), b = to_dimension(arguments[1]);
  if (!a || !b) return bad_input("the arguments are not dimensions");
  if (auto quotient = exact_div(*a, *b)) return *quotient;
  return bad_input(fmt::format("{} is not divisible by {}", a->text(), b->text()));
}

template <Dimension (*combine)(const Dimension&, const Dimension&)>
Value dimensions_to_one(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const Dimension a, dimension(arguments, 0));
  LEMMA_ASSIGN_OR_RETURN(const Dimension b, dimension(arguments, 1));
  Dimension result = combine(a, b);
  if (!result.is_valid()) return bad_input("the result is undefined");
  return result;
}

/// The real number, which has to be one of f64.
template <std::optional<double> (*compute)(double, double)>
Value reals_to_one(Arguments arguments) {
  if (is_real_symbol(arguments[0]) || is_real_symbol(arguments[1]))
    return bad_input("nothing can be computed with a real parameter");
  const auto a = to_real(arguments[0]), b = to_real(arguments[1]);
  if (!a || !b) return bad_input("the arguments are not numbers");
  if (!std::isfinite(*a) || !std::isfinite(*b)) return bad_input("an argument is not finite");
  if (const auto result = compute(*a, *b)) return *result;
  return bad_input(fmt::format("the result for {} and {} is not a number of f64", *a, *b));
}

/// The larger or smaller one of two numbers, or of two real parameters or 0 by their order.
template <bool larger>
Value real_extreme(Arguments arguments) {
  LEMMA_ASSIGN_OR_RETURN(const bool ascending, real_order(arguments[0], arguments[1]));
  const AttributeValue& result = arguments[ascending == larger ? 1 : 0];
  if (is_real_symbol(result)) return result;
  return *to_real(result);
}

/// divides(a, b): b is a multiple of a as a polynomial.
bool divides(Arguments arguments) {
  const auto a = to_dimension(arguments[0]), b = to_dimension(arguments[1]);
  return a && b && exact_div(*b, *a).has_value();
}

bool real_less_equal(Arguments arguments) {
  const auto ordered = real_order(arguments[0], arguments[1]);
  return ordered && *ordered;
}

using F = AttributeFunction;
constexpr std::array functions = {
    F{"permute", 2, "the list l in the order p: permute(l, p)[i] = l[p[i]]", permute},
    F{"compose", 2, "the permutation of a Transpose by p followed by one by q", compose},
    F{"inverse", 1, "the inverse of a permutation", inverse},
    F{"identity", 1, "the permutation of n axes that changes nothing", identity},
    F{"swap_last_two", 1, "the permutation of n axes that swaps the last two", swap_last_two},
    F{"len", 1, "the number of elements of a list, or of axes of a group", length},
    F{"concat", 2, "one list followed by the other", concat},
    F{"reverse", 1, "a list from its end to its beginning", reverse},
    F{"take", 2, "the first n elements of a list", take},
    F{"drop", 2, "a list without its first n elements", drop},
    F{"slice", 3, "the elements of a list from position i up to, without, position j", slice},
    F{"at", 2, "the element of a list at position i; negative i count from the end", at},
    F{"insert", 3, "a list with value v inserted before position i", insert},
    F{"remove", 2, "a list without the element at position i", remove},
    F{"replace", 3, "a list with value v at position i", replace},
    F{"repeat", 2, "a list of n times the value v", repeat},
    F{"range", 2, "the list of the integers from i up to, without, j", range},
    F{"index_of", 2, "the first position of a value in a list", index_of},
    F{"sum", 1, "the sum of a list", sum},
    F{"product", 1, "the product of a list", product},
    F{"prefix_sums", 1, "the sums of what stands before each element of a list", prefix_sums},
    F{"plus", 2, "sum of two dimensions, or of two lists elementwise", elementwise<plus>},
    F{"minus", 2, "difference of two dimensions, or of two lists elementwise", elementwise<minus>},
    F{"times", 2, "product of two dimensions, or of two lists elementwise", elementwise<times>},
    F{"insert_axes", 2, "a shape with size 1 at the given axes of the result", insert_axes},
    F{"remove_axes", 2, "a shape without the given axes", remove_axes},
    F{"sort", 1, "a list of integers in ascending order", sort},
    F{"divide", 2, "a / b where b divides a as a polynomial", divide},
    F{"floordiv", 2, "the floor of a / b", dimensions_to_one<floor_div>},
    F{"floormod", 2, "the remainder of floordiv(a, b)", dimensions_to_one<floor_mod>},
    F{"min", 2, "the smaller of two dimensions", dimensions_to_one<minimum>},
    F{"max", 2, "the larger of two dimensions", dimensions_to_one<maximum>},
    F{"real_add", 2, "the sum of two real numbers, if f64 has it", reals_to_one<exact_sum>},
    F{"real_multiply", 2, "the product of two real numbers, if f64 has it",
      reals_to_one<exact_product>},
    F{"real_divide", 2, "the quotient of two real numbers, if f64 has it",
      reals_to_one<exact_quotient>},
    F{"real_max", 2, "the larger of two real numbers", real_extreme<true>},
    F{"real_min", 2, "the smaller of two real numbers", real_extreme<false>},
    F{"is_permutation", 1, "the list is a permutation", nullptr, is_permutation},
    F{"is_identity", 1, "the permutation changes nothing", nullptr, is_identity},
    F{"swaps_last_two", 1, "the permutation swaps the last two axes only", nullptr, swaps_last_two},
    F{"fixes_first", 2, "the permutation leaves the first k axes in place", nullptr, fixes_first},
    F{"fixes_last", 2, "the permutation leaves the last k axes in place", nullptr, fixes_last},
    F{"contains", 2, "the list contains the value", nullptr, contains},
    F{"lacks", 2, "the list of integers does not contain the integer", nullptr, lacks},
    F{"disjoint", 2, "the two lists of integers share no element", nullptr, disjoint},
    F{"all_equal", 2, "every element of the list is the value", nullptr, all_equal},
    F{"divides", 2, "b is a multiple of a as a polynomial", nullptr, divides},
    F{"real_less_equal", 2, "a <= b for real numbers", nullptr, real_less_equal},
};

}  // namespace

std::span<const AttributeFunction> attribute_functions() { return functions; }

const AttributeFunction* find_attribute_function(std::string_view name) {
  const auto where = std::find_if(functions.begin(), functions.end(),
                                  [name](const AttributeFunction& f) { return f.name == name; });
  return where != functions.end() ? &*where : nullptr;
}

}  // namespace lemma
