// Index proofs of tensors with many axes rest on this: operators that broadcast or permute treat
// every axis by itself. Here that is seen of all numbers of axes, ways to broadcast and permutations
// that axioms range over.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "ir/graph.h"

namespace lemma {
namespace {

Dimension axis_size(std::size_t from_end) {
  return Dimension::symbol("n" + std::to_string(from_end));
}

/// Calls visit for every shape of up to `maximum` axes, each 1 or the common size of its place.
template <typename Visit>
void for_each_shape(std::size_t maximum, Visit visit) {
  for (std::size_t rank = 0; rank <= maximum; ++rank)
    for (std::uint32_t mask = 0; mask < (1U << rank); ++mask) {
      Shape shape;
      for (std::size_t i = 0; i < rank; ++i)
        shape.push_back((mask >> i & 1U) != 0 ? axis_size(rank - 1 - i) : Dimension(1));
      visit(shape);
    }
}

/// The size that broadcasting gives each place: the common one if an operand has it.
Shape broadcast_of(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), Dimension(1));
  for (const Shape* shape : {&a, &b})
    for (std::size_t i = 1; i <= shape->size(); ++i) {
      const Dimension& size = (*shape)[shape->size() - i];
      if (!size.is(1)) result[result.size() - i] = size;
    }
  return result;
}

/// Whether the first axes of a read are those of the output at the same place, counted from the end
/// of `count` axes, or 0 where the size is 1.
bool projects(const Definition& definition, const ExpressionNode& read, const Shape& shape,
              std::size_t count) {
  const DefinedOutput& output = definition.outputs()[0];
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const ExpressionNode& index = definition.node(read.operands[i]);
    const bool is_zero = index.kind == ExpressionKind::integer_constant && index.integer == 0;
    const bool is_axis = index.kind == ExpressionKind::index &&
                         index.variable == output.axes[count - shape.size() + i];
    if (shape[i].is(1) ? !is_zero : !is_axis) return false;
  }
  return true;
}

std::vector<const ExpressionNode*> reads_of(const Definition& definition) {
  std::vector<const ExpressionNode*> result;
  for (const ExpressionNode& node : definition.nodes())
    if (node.kind == ExpressionKind::read) result.push_back(&node);
  return result;
}

Shape output_extents(const Definition& definition) {
  Shape result;
  for (const VariableId axis : definition.outputs()[0].axes)
    result.push_back(definition.extent(axis));
  return result;
}

Definition define(std::string_view name, const std::vector<TensorType>& types,
                  const Attributes& given = {}) {
  const OperatorRecord& op = record(operator_named(name));
  const auto attributes = complete_attributes(op, types, given, 1);
  EXPECT_TRUE(attributes) << attributes.error().message;
  return op.define({types, *attributes});
}

class Broadcasting : public testing::TestWithParam<const char*> {};

TEST_P(Broadcasting, TreatsEveryAxisByItself) {
  constexpr std::size_t most = 8;
  std::size_t failures = 0, count = 0;
  for_each_shape(most, [&](const Shape& a) {
    for_each_shape(most, [&](const Shape& b) {
      const Definition definition = define(GetParam(), {{DataType::f32, a}, {DataType::f32, b}});
      const Shape expected = broadcast_of(a, b);
      bool fits = output_extents(definition) == expected && reads_of(definition).size() == 2;
      for (const ExpressionNode* read : reads_of(definition))
        fits = fits && projects(definition, *read, read->input == 0 ? a : b, expected.size());
      failures += fits ? 0 : 1;
      ++count;
    });
  });
  EXPECT_EQ(failures, 0U);
  EXPECT_EQ(count, 511U * 511U);
}

/// All elementwise operators share one function that reads their operands.
INSTANTIATE_TEST_SUITE_P(Elementwise, Broadcasting, testing::Values("Add", "Max"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(MatMul, TreatsEveryBatchAxisByItself) {
  constexpr std::size_t most = 6;
  std::size_t failures = 0;
  for_each_shape(most, [&](const Shape& a) {
    for_each_shape(most, [&](const Shape& b) {
      Shape left = a, right = b;
      for (const char* name : {"m", "k"}) left.push_back(Dimension::symbol(name));
      for (const char* name : {"k", "n"}) right.push_back(Dimension::symbol(name));
      const Definition definition =
          define("MatMul", {{DataType::f32, left}, {DataType::f32, right}});
      Shape expected = broadcast_of(a, b);
      const std::size_t batch = expected.size();
      for (const char* name : {"m", "n"}) expected.push_back(Dimension::symbol(name));
      bool fits = output_extents(definition) == expected && reads_of(definition).size() == 2;
      for (const ExpressionNode* read : reads_of(definition))
        fits = fits && projects(definition, *read, read->input == 0 ? a : b, batch);
      failures += fits ? 0 : 1;
    });
  });
  EXPECT_EQ(failures, 0U);
}

TEST(Expand, TreatsEveryAxisByItself) {
  std::size_t failures = 0;
  for_each_shape(8, [&](const Shape& a) {
    for_each_shape(8, [&](const Shape& b) {
      const Definition definition = define("Expand", {{DataType::f32, a}}, {{"shape", b}});
      const Shape expected = broadcast_of(a, b);
      const auto reads = reads_of(definition);
      const bool fits = output_extents(definition) == expected && reads.size() == 1 &&
                        projects(definition, *reads[0], a, expected.size());
      failures += fits ? 0 : 1;
    });
  });
  EXPECT_EQ(failures, 0U);
}

TEST(Transpose, ReadsEveryAxisWhereThePermutationSays) {
  std::size_t failures = 0, count = 0;
  for (std::size_t rank = 0; rank <= 8; ++rank) {
    Shape shape;
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(axis_size(i));
    Integers order(rank);
    std::iota(order.begin(), order.end(), 0);
    do {
      const Definition definition =
          define("Transpose", {{DataType::f32, shape}}, {{"perm", order}});
      const auto reads = reads_of(definition);
      bool fits = reads.size() == 1;
      for (std::size_t i = 0; i < rank && fits; ++i) {
        const auto from = static_cast<std::size_t>(order[i]);
        const ExpressionNode& index = definition.node(reads[0]->operands[from]);
        fits = index.kind == ExpressionKind::index &&
               index.variable == definition.outputs()[0].axes[i] &&
               output_extents(definition)[i] == shape[from];
      }
      failures += fits ? 0 : 1;
      ++count;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_EQ(failures, 0U);
  EXPECT_EQ(count, 46234U);
}

/// The axes of the output on which an expression depends, by variables or by sizes: symbols are named
/// "what.axis".
void collect_axes(const Definition& definition, ExpressionId id, std::set<std::size_t>& axes) {
  const ExpressionNode& node = definition.node(id);
  if (node.kind == ExpressionKind::index) {
    const auto& variables = definition.outputs()[0].axes;
    for (std::size_t i = 0; i < variables.size(); ++i)
      if (variables[i] == node.variable) axes.insert(i);
  }
  if (node.kind == ExpressionKind::extent) {
    std::map<std::string, int> symbols;
    collect_symbols(node.extent, symbols);
    for (const auto& [name, count] : symbols)
      axes.insert(static_cast<std::size_t>(std::stoi(name.substr(name.find('.') + 1))));
  }
  for (const ExpressionId operand : node.operands) collect_axes(definition, operand, axes);
}

bool depends_on_nothing_but(const Definition& definition, ExpressionId id, std::size_t axis) {
  std::set<std::size_t> axes;
  collect_axes(definition, id, axes);
  return axes.empty() || axes == std::set<std::size_t>{axis};
}

bool compares(const ExpressionNode& node) {
  return node.kind == ExpressionKind::less || node.kind == ExpressionKind::less_equal ||
         node.kind == ExpressionKind::equal;
}

/// Every index by the axis that it is of, and every comparison by one axis.
bool treats_axes_by_themselves(const Definition& definition) {
  for (const ExpressionNode* read : reads_of(definition))
    for (std::size_t i = 0; i < read->operands.size(); ++i)
      if (!depends_on_nothing_but(definition, read->operands[i], i)) return false;
  for (std::uint32_t id = 0; id < definition.nodes().size(); ++id) {
    std::set<std::size_t> axes;
    if (compares(definition.nodes()[id])) collect_axes(definition, {id}, axes);
    if (axes.size() > 1) return false;
  }
  return true;
}

Dimension named(const std::string& what, std::size_t axis) {
  return Dimension::symbol(what + "." + std::to_string(axis));
}

Shape sizes_named(const std::string& what, std::size_t rank) {
  Shape result;
  for (std::size_t i = 0; i < rank; ++i) result.push_back(named(what, i));
  return result;
}

/// Pads of any of the axes, in front, behind or both.
TEST(Pad, TreatsEveryAxisByItself) {
  std::size_t failures = 0, count = 0, guarded = 0;
  for (std::size_t rank = 0; rank <= 8; ++rank)
    for (std::uint32_t front = 0; front < (1U << rank); ++front)
      for (const std::uint32_t behind : {0U, front, (1U << rank) - 1, (1U << rank) - 1 - front}) {
        Shape pads(2 * rank);
        for (std::size_t i = 0; i < rank; ++i) {
          if ((front >> i & 1U) != 0) pads[i] = named("p", i);
          if ((behind >> i & 1U) != 0) pads[rank + i] = named("q", i);
        }
        const Definition definition = define("Pad", {{DataType::f32, sizes_named("n", rank)}},
                                             {{"pads", pads}, {"mode", std::string("constant")}});
        const Shape extents = output_extents(definition);
        bool fits = reads_of(definition).size() == 1 && treats_axes_by_themselves(definition);
        for (std::size_t i = 0; i < rank; ++i)
          fits = fits && extents[i] == pads[i] + named("n", i) + pads[rank + i];
        failures += fits ? 0 : 1;
        guarded += std::any_of(definition.nodes().begin(), definition.nodes().end(), compares);
        ++count;
      }
  EXPECT_EQ(failures, 0U);
  EXPECT_EQ(count, 4U * 511U);
  EXPECT_GT(guarded, 1000U);
}

TEST(ConcatAndSlice, TreatEveryAxisByItself) {
  std::size_t failures = 0;
  for (std::size_t rank = 1; rank <= 13; ++rank)
    for (std::size_t axis = 0; axis < rank; ++axis) {
      Shape first = sizes_named("n", rank), second = first, whole = first;
      second[axis] = named("m", axis);
      const auto position = static_cast<std::int64_t>(axis);
      const Definition joined =
          define("Concat", {{DataType::f32, first}, {DataType::f32, second}}, {{"axis", position}});
      const Dimension begin = named("s", axis), end = begin + named("p", axis);
      whole[axis] = end + named("r", axis);
      const Definition part =
          define("Slice", {{DataType::f32, whole}},
                 {{"starts", Shape{begin}}, {"ends", Shape{end}}, {"axes", Integers{position}}});
      for (const Definition* one : {&joined, &part})
        failures += treats_axes_by_themselves(*one) ? 0 : 1;
    }
  EXPECT_EQ(failures, 0U);
}

}  // namespace
}  // namespace lemma
