#include "facts/operator_instances.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

using Ranks = std::vector<std::size_t>;
using Shapes = std::vector<Shape>;
using Types = std::vector<DataType>;

constexpr std::size_t highest_rank = 6, highest_elementwise_rank = 8;
/// The rank of input 0 where two attributes vary at once.
constexpr std::size_t pairs_at_rank = 4;

constexpr std::array all_types = {DataType::f32, DataType::f64, DataType::f16, DataType::bf16,
                                  DataType::i32, DataType::i64, DataType::u8,  DataType::boolean,
                                  DataType::i8,  DataType::i16, DataType::u16, DataType::u32,
                                  DataType::u64};

Dimension size(std::string_view letter, std::size_t position) {
  return Dimension::symbol(fmt::format("{}{}", letter, position));
}

// ---- Inputs -----------------------------------------------------------------------------------

std::vector<std::size_t> input_counts(Arity arity) {
  std::vector<std::size_t> result;
  const int most = arity.maximum < 0 ? std::max(arity.minimum, 3) : arity.maximum;
  for (int count = arity.minimum; count <= most; ++count)
    result.push_back(static_cast<std::size_t>(count));
  return result;
}

/// Up to two inputs: all combinations. More: a second one like the first or like the others; of
/// elementwise operators also one that differs from all others.
std::vector<Ranks> rank_lists(std::size_t count, bool is_elementwise) {
  const std::size_t highest = is_elementwise ? highest_elementwise_rank : highest_rank;
  if (count == 0) return {{}};
  std::vector<Ranks> result;
  for (std::size_t first = 0; first <= highest; ++first) {
    if (count == 1) result.push_back({first});
    for (std::size_t other = 0; count > 1 && other <= highest; ++other) {
      Ranks ranks(count, other);
      ranks[0] = first;
      result.push_back(ranks);
      if (count == 2) continue;
      ranks[1] = first;
      result.push_back(ranks);
      for (std::size_t i = 2; is_elementwise && i < count; ++i) {
        ranks.assign(count, first);
        ranks[i] = other;
        result.push_back(ranks);
      }
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Axes are counted from the end, as broadcasting does; `is_one` says which sizes are 1.
template <typename IsOne>
Shapes aligned(const Ranks& ranks, IsOne is_one) {
  Shapes shapes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Shape shape(ranks[i]);
    for (std::size_t k = 0; k < ranks[i]; ++k) {
      const std::size_t from_end = ranks[i] - 1 - k;
      shape[k] = is_one(i, from_end) ? Dimension(1) : size("s", from_end);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Shapes distinct(const Ranks& ranks) {
  Shapes shapes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    shapes.emplace_back(ranks[i]);
    for (std::size_t k = 0; k < ranks[i]; ++k) shapes[i][k] = size(fmt::format("x{}_", i), k);
  }
  return shapes;
}

/// Counted from the beginning; constants, with one size of 0 if `empty` says so.
Shapes constants(const Ranks& ranks, bool empty) {
  constexpr std::array<std::int64_t, 8> sizes = {4, 8, 6, 12, 2, 3, 5, 7};
  Shapes shapes;
  for (const std::size_t rank : ranks) {
    Shape shape(rank);
    for (std::size_t k = 0; k < rank; ++k) shape[k] = sizes[k % sizes.size()];
    if (empty && rank > 0) shape[rank - 1] = 0;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// Matrices over aligned batches: [.., m, k], [.., k, n], and what is added to [.., m, n].
Shapes matrices(const Ranks& ranks, bool transposed) {
  Shapes shapes = aligned(ranks, [](std::size_t, std::size_t) { return false; });
  const Dimension m = Dimension::symbol("m"), k = Dimension::symbol("k"),
                  n = Dimension::symbol("n");
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Shape last = i == 0 ? Shape{m, k} : i == 1 ? Shape{k, n} : Shape{m, n};
    if (transposed && i < 2) std::swap(last[0], last[1]);
    const std::size_t rank = shapes[i].size();
    if (rank >= 2) std::copy(last.begin(), last.end(), shapes[i].end() - 2);
    if (rank == 1) shapes[i][0] = i < 2 ? k : n;
  }
  return shapes;
}

/// An image, kernels over it, and vectors over channels: sizes that are symbols, or channels that can
/// be divided into `groups`.
Shapes image_and_kernels(const Ranks& ranks, std::int64_t groups, bool transposed) {
  Shapes shapes = distinct(ranks);
  const Dimension channels = groups == 0 ? Dimension::symbol("c") : Dimension(8);
  const Dimension kernels = groups == 0 ? Dimension::symbol("m") : Dimension(16);
  const Dimension each_in = groups == 0 ? channels : Dimension(8 / groups);
  const Dimension each_out = groups == 0 ? kernels : Dimension(16 / groups);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::size_t rank = ranks[i];
    if (i > 0 && rank == 1) shapes[i][0] = i == 1 || ranks[1] == 1 ? channels : kernels;
    if (rank < 2) continue;
    if (i == 0) shapes[i][1] = channels;
    if (i == 0) continue;
    shapes[i][0] = transposed ? channels : kernels;
    shapes[i][1] = transposed ? each_out : each_in;
    for (std::size_t k = 2; groups != 0 && k < rank; ++k)
      shapes[i][k] = static_cast<std::int64_t>(k % 2 + 2);
  }
  return shapes;
}

std::vector<Shapes> shape_lists(const Ranks& ranks, bool is_elementwise) {
  const auto odd = [](std::size_t i, std::size_t from_end) { return (i + from_end) % 2 == 1; };
  const auto first = [](std::size_t i, std::size_t) { return i == 0; };
  const auto others = [](std::size_t i, std::size_t) { return i != 0; };
  const auto last_axis = [](std::size_t, std::size_t from_end) { return from_end == 0; };
  std::vector<Shapes> result = {aligned(ranks, [](std::size_t, std::size_t) { return false; })};
  const auto add = [&result](Shapes shapes) {
    if (std::find(result.begin(), result.end(), shapes) == result.end())
      result.push_back(std::move(shapes));
  };
  add(constants(ranks, false));
  add(constants(ranks, true));
  add(aligned(ranks, odd));
  if (ranks.size() <= 1) {
    add(aligned(ranks, first));
    return result;
  }
  add(distinct(ranks));
  if (is_elementwise && ranks.size() > 2) return result;
  add(aligned(ranks, first));
  add(aligned(ranks, others));
  add(aligned(ranks, last_axis));
  if (is_elementwise) return result;
  for (const bool transposed : {false, true}) {
    add(matrices(ranks, transposed));
    if (ranks[0] < 2) continue;
    for (const std::int64_t groups : {0, 1, 2}) add(image_and_kernels(ranks, groups, transposed));
  }
  return result;
}

constexpr std::array<std::int64_t, 3> gate_counts = {1, 3, 4};

/// Types to try for all inputs: the same for all, then one that differs from f32.
std::vector<Types> type_lists(std::size_t count) {
  std::vector<Types> result;
  for (const DataType type : all_types) result.emplace_back(count, type);
  for (std::size_t i = 0; count > 1 && i < count; ++i)
    for (const DataType type : {DataType::i64, DataType::boolean, DataType::u8}) {
      result.emplace_back(count, DataType::f32);
      result.back()[i] = type;
    }
  return result;
}

// ---- Attributes -------------------------------------------------------------------------------

using Values = std::vector<AttributeValue>;

std::vector<std::string> words() {
  return {"none",          "tanh",       "constant",
          "reflect",       "edge",       "wrap",
          "add",           "mul",        "max",
          "min",           "sum",        "mean",
          "LEFT",          "RIGHT",      "DCR",
          "CRD",           "nearest",    "linear",
          "cubic",         "floor",      "ceil",
          "VALID",         "SAME_UPPER", "SAME_LOWER",
          "align_corners", "asymmetric", "tf_crop_and_resize",
          "ij,jk->ik",     "ij->ji",     "...i,...i->...",
          "ii->i"};
}

Values lists_of_axes(std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  std::vector<Integers> result = {{}};
  for (std::int64_t a = 0; a < count; ++a) {
    result.push_back({a});
    for (std::int64_t b = a + 1; b < count; ++b) result.push_back({a, b});
  }
  Integers all(rank);
  std::iota(all.begin(), all.end(), 0);
  result.push_back(all);
  if (rank > 1) result.emplace_back(all.begin() + 1, all.end());
  if (rank > 3) result.push_back({1, 2, 3});
  return {result.begin(), result.end()};
}

Values integer_lists(std::size_t rank) {
  Values result = lists_of_axes(rank);
  Integers order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 1; i < rank; ++i) {  // permutations
    std::rotate(order.begin(), order.begin() + 1, order.end());
    result.emplace_back(order);
    Integers swapped(rank);
    std::iota(swapped.begin(), swapped.end(), 0);
    std::swap(swapped[i - 1], swapped[i]);
    result.emplace_back(std::move(swapped));
  }
  result.emplace_back(Integers(order.rbegin(), order.rend()));
  for (const std::int64_t value : {1, 2, -1}) result.emplace_back(Integers(rank, value));
  return result;
}

Shape symbols(std::string_view letter, std::size_t count) {
  Shape result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = size(letter, i);
  return result;
}

/// The shape with two neighboring axes as one, and with an axis of size 1 more.
void add_reshapes(const Shape& shape, std::vector<Shape>& result) {
  result.push_back({element_count(shape)});
  result.emplace_back(shape.rbegin(), shape.rend());
  for (std::size_t k = 0; k + 1 < shape.size(); ++k) {
    Shape merged = shape;
    merged[k] = shape[k] * shape[k + 1];
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    result.push_back(std::move(merged));
  }
  Shape longer = shape;
  longer.insert(longer.begin(), 1);
  result.push_back(longer);
  longer[0] = Dimension::symbol("more");
  result.push_back(std::move(longer));
}

Values size_lists(const Shape& shape) {
  const std::size_t rank = shape.size();
  std::vector<Shape> result = {shape};
  add_reshapes(shape, result);
  // One for each spatial axis, for each axis, for both ends of these; for one axis alone.
  std::vector<std::size_t> lengths = {rank, 2 * rank, 1, 2};
  if (rank > 2) lengths.insert(lengths.end(), {rank - 2, 2 * (rank - 2)});
  for (const std::size_t length : lengths) {
    for (const std::int64_t value : {1, 2}) result.emplace_back(length, value);
    if (length == rank || length == 1)
      for (const std::int64_t value : {0, -1}) result.emplace_back(length, value);
    result.push_back(symbols("p", length));
    Shape growing(length);
    for (std::size_t i = 0; i < length; ++i) growing[i] = static_cast<std::int64_t>(i + 1);
    result.push_back(std::move(growing));
  }
  for (const Dimension& axis : shape) {  // parts of it
    result.push_back({Dimension::symbol("p"), axis - Dimension::symbol("p")});
    result.push_back({1, axis - 1});
    result.push_back({1, 2, axis - 3});
  }
  Values values;
  for (Shape& shape_value : result)
    if (std::find(values.begin(), values.end(), AttributeValue(shape_value)) == values.end())
      values.emplace_back(std::move(shape_value));
  return values;
}

/// Values to try, whatever the operator makes of them.
Values values_of(const AttributeSpecification& specification, const Shapes& shapes) {
  const Shape first = shapes.empty() ? Shape{size("s", 1), size("s", 0)} : shapes[0];
  const std::size_t rank = first.size();
  Values result;
  switch (specification.kind) {
    case AttributeKind::integer: {
      const bool axis = specification.role == AttributeRole::axis;
      const auto last = axis ? static_cast<std::int64_t>(rank) - 1 : INT64_C(5);
      for (std::int64_t i = axis ? 0 : -3; i <= last; ++i) result.emplace_back(i);
      break;
    }
    case AttributeKind::real:
      for (const double value : {-1.0, 0.0, 0.5, 2.0}) result.emplace_back(value);
      break;
    case AttributeKind::string:
      for (const std::string_view choice : specification.choices)
        result.emplace_back(std::string(choice));
      if (!specification.choices.empty()) break;
      for (std::string& word : words()) result.emplace_back(std::move(word));
      break;
    case AttributeKind::integers:
      if (specification.role == AttributeRole::axes) return lists_of_axes(rank);
      if (specification.role == AttributeRole::output_axes) return lists_of_axes(rank + 2);
      return integer_lists(rank);
    case AttributeKind::reals:
      for (const double value : {0.5, 1.0, 2.0}) result.emplace_back(Reals(rank, value));
      break;
    case AttributeKind::dimensions: return size_lists(first);
    case AttributeKind::data_type:
      for (const DataType type : all_types) result.emplace_back(type);
      break;
    case AttributeKind::dimension:
      for (const std::int64_t value : {1, 2, 4}) result.emplace_back(Dimension(value));
      result.emplace_back(Dimension::symbol("p"));
      break;
  }
  return result;
}

/// Combinations of values for the attributes that must be given: each value of the first with a few
/// of the others; or a few of all.
std::vector<Attributes> required_attributes(const OperatorRecord& record, const Shapes& shapes,
                                            bool is_first) {
  constexpr std::size_t few = 3;
  std::vector<Attributes> result(1);
  for (const AttributeSpecification& specification : record.attributes) {
    if (specification.default_text != "required") continue;
    const Values values = values_of(specification, shapes);
    std::vector<Attributes> longer;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const bool all = result.size() == 1 && is_first;
      const std::size_t count = all ? values.size() : std::min(few, values.size());
      for (std::size_t k = 0; k < count; ++k) {
        longer.push_back(result[i]);
        // Where a few are taken they are spread over all, and others for each combination before.
        const std::size_t chosen = all ? k : (i + k * values.size() / count) % values.size();
        longer.back().set(std::string(specification.name), values[chosen]);
      }
    }
    result = std::move(longer);
  }
  return result;
}

// ---- The family -------------------------------------------------------------------------------

class Family {
 public:
  Family(const OperatorRecord& record, const InstanceVisitor& visit)
      : record_(record), visit_(visit) {}

  void run() {
    std::vector<OperatorInstance> examples;
    for (const OperatorExample& example : record_.examples) {
      auto instance = read_example(record_, example);
      if (!instance) return;
      examples.push_back(std::move(*instance));
    }
    for (const OperatorInstance& example : examples)
      if (visit_(example)) vary(example);
    if (record_.has(recurrent)) {
      visit_recurrences();
      return;
    }
    for (const std::size_t count : input_counts(record_.inputs)) {
      const auto lists = rank_lists(count, record_.has(elementwise));
      anchors_.clear();
      for (const Types& types : type_lists(count)) {
        if (!anchors_.empty()) break;  // the first types that are accepted at all
        for (const Ranks& ranks : lists) visit_ranks(ranks, types);
      }
      for (const auto& [rank, anchor] : anchors_) vary(anchor);
    }
  }

 private:
  void visit_recurrences() {
    const Dimension n = Dimension::symbol("n");
    for (const std::size_t count : input_counts(record_.inputs))
      for (const std::int64_t gates : gate_counts)
        for (const Dimension& steps : {Dimension(0), Dimension(1), Dimension(3), n, n + 1, n + 2}) {
          OperatorInstance instance;
          for (Shape& shape : recurrence_shapes(count, gates, steps))
            instance.inputs.push_back({DataType::f32, std::move(shape)});
          instance.output_count = static_cast<std::size_t>(record_.outputs.maximum);
          if (visit_(instance)) vary(instance);
        }
  }

  void visit_ranks(const Ranks& ranks, const Types& types) {
    bool is_first = true;
    for (const Shapes& shapes : shape_lists(ranks, record_.has(elementwise)))
      for (Attributes& attributes :
           required_attributes(record_, shapes, std::exchange(is_first, false))) {
        OperatorInstance instance;
        for (std::size_t i = 0; i < ranks.size(); ++i)
          instance.inputs.push_back({types[i], shapes[i]});
        instance.attributes = std::move(attributes);
        instance.output_count = static_cast<std::size_t>(record_.outputs.minimum);
        if (!visit_(instance)) continue;
        const bool with_symbols = std::none_of(shapes.begin(), shapes.end(),
                                               [](const Shape& s) { return is_constant(s); });
        anchors_.emplace(std::pair(ranks.empty() ? 0 : ranks[0], with_symbols), instance);
      }
  }

  void vary(const OperatorInstance& anchor) {
    vary_types(anchor);
    vary_outputs(anchor);
    vary_presence(anchor);
    Shapes shapes;
    for (const TensorType& type : anchor.inputs) shapes.push_back(*type.shape);
    for (const std::size_t outputs : output_counts()) {
      OperatorInstance instance = anchor;
      instance.output_count = outputs;
      vary_attributes(instance, shapes);
    }
  }

  void vary_attributes(const OperatorInstance& anchor, const Shapes& shapes) {
    std::vector<Accepted> accepted;
    for (const AttributeSpecification& specification : record_.attributes) {
      accepted.push_back({&specification, {}});
      OperatorInstance instance = anchor;
      for (AttributeValue& value : values_of(specification, shapes)) {
        instance.attributes.set(std::string(specification.name), value);
        if (visit_(instance)) accepted.back().values.push_back(std::move(value));
      }
    }
    const bool chooses =
        std::any_of(record_.attributes.begin(), record_.attributes.end(),
                    [](const AttributeSpecification& s) { return !s.choices.empty(); });
    if (chooses || anchor.inputs.empty() || anchor.inputs[0].rank() == pairs_at_rank)
      vary_pairs(anchor, accepted);
  }

  struct Accepted {
    const AttributeSpecification* specification = nullptr;
    Values values;
    /// A few, but every choice: what another attribute means may depend on it.
    std::size_t in_pairs() const {
      return specification->choices.empty() ? std::min<std::size_t>(2, values.size())
                                            : values.size();
    }
  };

  /// A few values of any two attributes at once.
  void vary_pairs(const OperatorInstance& anchor, const std::vector<Accepted>& accepted) {
    for (std::size_t a = 0; a < accepted.size(); ++a)
      for (std::size_t b = a + 1; b < accepted.size(); ++b)
        for (std::size_t i = 0; i < accepted[a].in_pairs(); ++i)
          for (std::size_t k = 0; k < accepted[b].in_pairs(); ++k) {
            OperatorInstance instance = anchor;
            for (const auto& [accepted_values, at] :
                 {std::pair(&accepted[a], i), std::pair(&accepted[b], k)})
              instance.attributes.set(
                  std::string(accepted_values->specification->name),
                  accepted_values->values.rbegin()[static_cast<std::ptrdiff_t>(at)]);
            visit_(instance);
          }
  }

  void vary_types(const OperatorInstance& anchor) {
    for (const DataType type : all_types) {
      OperatorInstance all = anchor;
      for (TensorType& input : all.inputs) input.data_type = type;
      visit_(all);
      for (std::size_t i = 0; i < anchor.inputs.size() && anchor.inputs.size() > 1; ++i) {
        OperatorInstance varied = anchor;
        varied.inputs[i].data_type = type;
        visit_(varied);
      }
    }
  }

  std::vector<std::size_t> output_counts() const {
    const int most = record_.outputs.maximum < 0 ? 3 : record_.outputs.maximum;
    std::vector<std::size_t> result;
    for (int count = record_.outputs.minimum; count <= most; ++count)
      result.push_back(static_cast<std::size_t>(count));
    return result;
  }

  void vary_outputs(const OperatorInstance& anchor) {
    OperatorInstance instance = anchor;
    for (const std::size_t count : output_counts()) {
      instance.output_count = count;
      visit_(instance);
    }
  }

  /// An optional input that is absent although later ones are there.
  void vary_presence(const OperatorInstance& anchor) {
    for (auto i = static_cast<std::size_t>(record_.inputs.minimum); i + 1 < anchor.inputs.size();
         ++i) {
      if (record_.inputs.maximum < 0) return;
      OperatorInstance instance = anchor;
      instance.inputs[i] = {};
      visit_(instance);
    }
  }

  const OperatorRecord& record_;
  const InstanceVisitor& visit_;
  /// The first accepted instance for each rank of input 0, with and without symbols.
  std::map<std::pair<std::size_t, bool>, OperatorInstance> anchors_;
};

}  // namespace

std::vector<Shape> recurrence_shapes(std::size_t inputs, std::int64_t gates,
                                     const Dimension& steps) {
  const Dimension batch = Dimension::symbol("B"), features = Dimension::symbol("I"),
                  size = Dimension::symbol("H");
  std::vector<Shape> shapes = {{steps, batch, features},
                               {1, Dimension(gates) * size, features},
                               {1, Dimension(gates) * size, size},
                               {1, Dimension(2 * gates) * size}};
  shapes.resize(inputs, {1, batch, size});
  return shapes;
}

namespace {

/// The parts between "; ".
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t end = text.find("; ");
    result.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 2);
  }
  return result;
}

Result<void> read_attribute(const OperatorRecord& record, std::string_view text,
                            Attributes& attributes) {
  const std::size_t equals = text.find('=');
  const auto specification =
      std::find_if(record.attributes.begin(), record.attributes.end(),
                   [&](const auto& attribute) { return attribute.name == text.substr(0, equals); });
  if (equals == std::string_view::npos || specification == record.attributes.end())
    return bad_input(fmt::format("'{}' is no attribute of {}", text, record.name));
  LEMMA_ASSIGN_OR_RETURN(AttributeValue value,
                         parse_attribute_value(specification->kind, text.substr(equals + 1)));
  attributes.set(std::string(specification->name), std::move(value));
  return {};
}

}  // namespace

Result<OperatorInstance> read_example(const OperatorRecord& record,
                                      const OperatorExample& example) {
  OperatorInstance result;
  for (const std::string_view part : parts_of(example.operands)) {
    result.inputs.emplace_back();
    if (part == "-") continue;
    LEMMA_ASSIGN_OR_RETURN(result.inputs.back(), parse_tensor_type(part));
  }
  for (const std::string_view part : parts_of(example.attributes))
    LEMMA_RETURN_IF_ERROR(read_attribute(record, part, result.attributes));
  result.output_count = static_cast<std::size_t>(example.outputs);
  return result;
}

void visit_instances(const OperatorRecord& record, const InstanceVisitor& visit) {
  Family(record, visit).run();
}

}  // namespace lemma
