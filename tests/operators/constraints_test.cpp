// What records state of sizes is just what makes an application well typed: over a family of applications of
// every operator, sizes put in for symbols, and sizes changed, are accepted where all demands hold.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "facts/operator_instances.h"
#include "interpreter/random.h"
#include "ir/operator.h"

namespace lemma {
namespace {

constexpr std::size_t accepted_limit = 120;  // instances of an operator

AttributeValue substituted(const AttributeValue& value, const DimensionBindings& sizes) {
  if (const auto* one = std::get_if<Dimension>(&value)) return substitute(*one, sizes);
  const auto* list = std::get_if<Shape>(&value);
  if (list == nullptr) return value;
  Shape result;
  for (const Dimension& size : *list) result.push_back(substitute(size, sizes));
  return result;
}

Shape substituted(const Shape& shape, const DimensionBindings& sizes) {
  Shape result;
  for (const Dimension& size : shape) result.push_back(substitute(size, sizes));
  return result;
}

OperatorInstance substituted(OperatorInstance instance, const DimensionBindings& sizes) {
  for (TensorType& type : instance.inputs)
    if (type.shape) type.shape = substituted(*type.shape, sizes);
  Attributes attributes;
  for (const auto& [name, value] : instance.attributes)
    attributes.set(name, substituted(value, sizes));
  instance.attributes = std::move(attributes);
  return instance;
}

std::set<std::string> symbols_of(const OperatorInstance& instance) {
  std::map<std::string, int> counts;
  for (const TensorType& type : instance.inputs)
    for (const Dimension& size : type.shape.value_or(Shape())) collect_symbols(size, counts);
  for (const auto& [name, value] : instance.attributes) {
    if (const auto* one = std::get_if<Dimension>(&value)) collect_symbols(*one, counts);
    if (const auto* list = std::get_if<Shape>(&value))
      for (const Dimension& size : *list) collect_symbols(size, counts);
  }
  std::set<std::string> result;
  for (const auto& [name, count] : counts) result.insert(name);
  return result;
}

std::string text(const OperatorRecord& op, const OperatorInstance& instance) {
  std::string result(op.name);
  result += lemma::text(instance.attributes);
  for (const TensorType& type : instance.inputs) result += " " + lemma::text(type);
  return result;
}

using Types = Result<std::vector<TensorType>>;

Types infer(const OperatorRecord& op, const OperatorInstance& instance,
            Constraints* constraints = nullptr) {
  LEMMA_ASSIGN_OR_RETURN(
      const Attributes complete,
      complete_attributes(op, instance.inputs, instance.attributes, instance.output_count));
  const Instance applied{instance.inputs, complete, instance.output_count, constraints};
  if (constraints != nullptr && constraints->assumes()) return op.infer(applied);
  return infer_types(op, applied);
}

bool are_sizes(const std::vector<TensorType>& types, const DimensionBindings& sizes) {
  for (const TensorType& type : types)
    if (!has_sizes(substituted(*type.shape, sizes))) return false;
  return true;
}

/// What cannot be computed, as a quotient by 0, does not hold.
bool all_hold(const Constraints& constraints, const DimensionBindings& sizes) {
  for (const Constraint& one : constraints.stated())
    if (!truth(substitute(one, sizes)).value_or(false)) return false;
  return true;
}

/// The instances that inference accepts, with complete attributes as nodes have them; an even sample.
std::vector<OperatorInstance> accepted_instances(const OperatorRecord& op) {
  std::vector<OperatorInstance> all;
  visit_instances(op, [&](const OperatorInstance& instance) {
    if (!infer(op, instance)) return false;
    all.push_back(instance);
    all.back().attributes =
        *complete_attributes(op, instance.inputs, instance.attributes, instance.output_count);
    return true;
  });
  std::vector<OperatorInstance> result;
  const std::size_t step = all.size() / accepted_limit + 1;
  for (std::size_t i = 0; i < all.size(); i += step) result.push_back(all[i]);
  return result;
}

/// Whether an attribute that is computed from symbols is negative now: a size of -1 is one that is left open, and
/// positions below 0 count from the end.
bool has_another_meaning(const OperatorInstance& symbolic, const OperatorInstance& fixed) {
  for (const auto& [name, value] : symbolic.attributes) {
    const Shape *before = std::get_if<Shape>(&value),
                *now = fixed.attributes.has(name) ? std::get_if<Shape>(fixed.attributes.find(name))
                                                  : nullptr;
    for (std::size_t i = 0; before != nullptr && now != nullptr && i < now->size(); ++i)
      if (!(*before)[i].is_constant() && (*now)[i].offset() < 0) return true;
  }
  return false;
}

/// What is wrong with one instance under sizes for its symbols; empty if nothing.
std::string check_with_sizes(const OperatorRecord& op, const OperatorInstance& instance,
                             const DimensionBindings& sizes) {
  Constraints constraints;
  const auto symbolic = infer(op, instance, &constraints);
  const OperatorInstance fixed = substituted(instance, sizes);
  const auto types = infer(op, fixed);
  const bool expected = all_hold(constraints, sizes) && are_sizes(*symbolic, sizes);
  if (types.has_value() != expected)
    return text(op, fixed) + (expected ? " is refused: " + types.error().message : " is accepted") +
           ", from " + text(op, instance);
  for (std::size_t i = 0; expected && i < types->size(); ++i)
    if (*(*types)[i].shape != substituted(*(*symbolic)[i].shape, sizes))
      return text(op, fixed) + " has another shape than " + text(op, instance);
  return "";
}

TEST(Constraints, AreWhatSizesForSymbolsHaveToMeet) {
  std::size_t refused = 0, accepted = 0;
  for (const OperatorRecord& op : all_operators()) {
    std::uint64_t counter = 0;
    for (const OperatorInstance& instance : accepted_instances(op)) {
      const std::set<std::string> symbols = symbols_of(instance);
      if (symbols.empty()) continue;
      for (int attempt = 0; attempt < 4; ++attempt) {
        constexpr std::int64_t values[] = {0, 1, 2, 3, 4, 6, 8, 5};
        DimensionBindings sizes;
        for (const std::string& symbol : symbols)
          sizes[symbol] = values[interpreter::random_word(7, 0, counter++) % std::size(values)];
        const OperatorInstance fixed = substituted(instance, sizes);
        if (has_another_meaning(instance, fixed)) continue;
        ASSERT_EQ(check_with_sizes(op, instance, sizes), "");
        ++(infer(op, fixed) ? accepted : refused);
      }
    }
  }
  EXPECT_GT(accepted, 10'000U);
  EXPECT_GT(refused, 500U);
}

/// Instances of fixed sizes with one of them changed.
std::vector<OperatorInstance> changed(const OperatorInstance& instance) {
  std::vector<OperatorInstance> result;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    for (std::size_t axis = 0; axis < instance.inputs[i].shape.value_or(Shape()).size(); ++axis)
      for (const std::int64_t by : {-1, 1}) {
        OperatorInstance one = instance;
        Dimension& size = (*one.inputs[i].shape)[axis];
        size = size + by;
        if (size.offset() >= 0) result.push_back(std::move(one));
      }
  return result;
}

TEST(Constraints, AreWhatChangedSizesHaveToMeet) {
  std::size_t refused = 0, accepted = 0;
  for (const OperatorRecord& op : all_operators())
    for (const OperatorInstance& given : accepted_instances(op)) {
      DimensionBindings sizes;
      for (const std::string& symbol : symbols_of(given)) sizes[symbol] = 4;
      for (const OperatorInstance& one : changed(substituted(given, sizes))) {
        Constraints constraints(Constraints::Mode::assumed);
        // What is refused even so is a matter of ranks, types or values.
        const auto assumed = infer(op, one, &constraints);
        if (!assumed) continue;
        const auto types = infer(op, one);
        const bool expected = all_hold(constraints, {}) && are_sizes(*assumed, {});
        ASSERT_EQ(types.has_value(), expected)
            << text(op, one) << (types ? "" : types.error().message);
        ++(types ? accepted : refused);
      }
    }
  EXPECT_GT(accepted, 1'000U);
  EXPECT_GT(refused, 500U);
}

}  // namespace
}  // namespace lemma
