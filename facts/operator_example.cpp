#include "facts/operator_example.h"

#include <algorithm>

#include "facts/operator_instances.h"
#include "ir/runtime_layout.h"

namespace lemma {

namespace {

/// Shapes to try, those that read best first. The last two are for positional operands.
std::vector<Shape> example_shapes() {
  auto size = [](const char* name) { return Dimension::symbol(name); };
  return {{size("M"), size("K")},
          {size("K"), size("N")},
          {size("N")},
          {},
          {size("N"), 4, size("H"), size("W")},
          {8, 4, 3, 3},
          {size("N"), 4, size("L")},
          {4},
          {1},
          {2, 2},
          {8},
          {size("M")}};
}

using Types = std::vector<DataType>;

std::vector<Types> example_types(std::size_t count) {
  std::vector<Types> result;
  for (const DataType type : {DataType::f32, DataType::i64, DataType::boolean, DataType::u8})
    result.emplace_back(count, type);
  if (count == 8)  // quantized: each matrix with its scale and zero point
    result.push_back({DataType::u8, DataType::f32, DataType::u8, DataType::u8, DataType::f32,
                      DataType::u8, DataType::f32, DataType::u8});
  if (count < 2) return result;
  // One operand of another type: indices, conditions.
  for (const DataType other : {DataType::i64, DataType::boolean})
    for (std::size_t i = count; i-- > 0;) {
      result.emplace_back(count, DataType::f32);
      result.back()[i] = other;
    }
  return result;
}

/// Sizes that only few operators relate to each other: last, so that other examples stay what they are.
void add_related_shapes(std::size_t count, std::vector<std::vector<Shape>>& result) {
  const auto size = [](std::string_view name) { return Dimension::symbol(std::string(name)); };
  const Dimension n = size("N"), length = size("L");
  if (count == 1) {
    result.push_back({{n, 2, 3}});  // maps of the plane
    result.push_back({{n, 8, 1}});  // one window of four elements
  }
  if (count == 2) result.push_back({{n, 4, size("H"), size("W")}, {n, 6, 6, 2}});  // positions
  if (count == 2) result.push_back({{n, 4, length}, {4, 1, 3}});  // kernels of single channels
  if (count == 3) result.push_back({{n, 4, length, 6}, {n, length, 3}, {n, length, 3}});  // angles
  if (count == 3)
    for (const std::int64_t gates : {1, 3, 4}) result.push_back(recurrence_shapes(3, gates, 1));
  if (count == 3)
    result.push_back({{n, length, 4}, {n, size("M"), 4}, {n, size("M"), 4}});  // query, key, value
  if (count == 3) result.push_back({{n, 2, 4}, {n, 2, 4}, {n, 2, 4}});  // the same of two positions
  if (count == 3)
    result.push_back({{n, 4, 6, 6}, {8, 4, 3, 3}, {n, 18, 4, 4}});  // image, kernel, distances
}

/// All the same; the first and then the others; for up to three operands, all combinations.
std::vector<std::vector<Shape>> example_shape_lists(std::size_t count) {
  const std::vector<Shape> shapes = example_shapes();
  std::vector<std::vector<Shape>> result;
  if (count == 0) return {{}};
  for (const Shape& shape : shapes) result.emplace_back(count, shape);
  for (const Shape& first : shapes)
    for (const Shape& others : shapes) {
      result.emplace_back(count, others);
      result.back().front() = first;
    }
  if (count == 8) {
    result.push_back({shapes[0], {}, {}, shapes[1], {}, {}, {}, {}});
    result.push_back({shapes[4], {}, {}, shapes[5], {}, {}, {}, {}});
  }
  if (count == 3)
    for (const Shape& a : shapes)
      for (const Shape& b : shapes)
        for (const Shape& c : shapes) result.push_back({a, b, c});
  add_related_shapes(count, result);
  return result;
}

std::vector<AttributeValue> example_values(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: return {INT64_C(0), INT64_C(1)};
    case AttributeKind::real: return {1.0};
    case AttributeKind::string: return {std::string("ij,jk->ik"), std::string("LEFT")};
    case AttributeKind::integers:
      return {Integers{1, 0}, Integers{0}, Integers{2, 2}, Integers{0, 2, 3, 1}, Integers{}};
    case AttributeKind::reals: return {Reals{1.0, 1.0, 2.0, 2.0}, Reals{1.0}, Reals{1.0, 2.0}};
    case AttributeKind::dimensions:
      return {Shape{Dimension::symbol("K"), Dimension::symbol("M")},
              Shape{1},
              Shape{2, 2},
              Shape{0, 0, 1, 1},
              Shape{0, 0, 1, 1, 0, 0, 1, 1},
              Shape{Dimension::symbol("N")},
              Shape{Dimension::symbol("N"), 4, 5, 6}};
    case AttributeKind::data_type: return {DataType::f32, DataType::i64, DataType::f8e5m2};
    case AttributeKind::dimension: return {Dimension(2), Dimension(1)};
  }
  return {};
}

std::vector<AttributeValue> example_values(const AttributeSpecification& specification) {
  if (specification.choices.empty()) return example_values(specification.kind);
  std::vector<AttributeValue> result;
  for (const std::string_view choice : specification.choices)
    result.emplace_back(std::string(choice));
  return result;
}

/// All combinations of values for the required attributes, and `given` if it is not null.
std::vector<Attributes> example_attributes(const OperatorRecord& op,
                                           const AttributeSpecification* given) {
  std::vector<Attributes> result(1);
  for (const AttributeSpecification& specification : op.attributes) {
    if (specification.default_text != "required" && &specification != given) continue;
    std::vector<Attributes> longer;
    for (const Attributes& attributes : result)
      for (AttributeValue& value : example_values(specification)) {
        longer.push_back(attributes);
        longer.back().set(std::string(specification.name), std::move(value));
      }
    result = std::move(longer);
  }
  return result;
}

/// Named inputs, to which one operation is added.
struct Application {
  Graph graph;
  std::vector<ValueId> inputs;
};

std::optional<Application> operands_of(OperatorId op, const Types& types,
                                       const std::vector<Shape>& shapes) {
  Application result;
  result.graph.set_name(std::string(record(op).name));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto input = result.graph.add_input(example_input_name(i), {types[i], shapes[i]});
    if (!input) return std::nullopt;
    result.inputs.push_back(*input);
  }
  return result;
}

/// Whether inference accepts the operation; where it does not, the graph stays as it is.
bool complete(Application& application, OperatorId op, const Attributes& attributes,
              std::size_t output_count) {
  Graph& graph = application.graph;
  const auto node = graph.add_operation(op, application.inputs, attributes, output_count);
  if (!node) return false;
  for (std::uint32_t k = 0; k < output_count; ++k)
    if (!graph.add_output("y" + std::to_string(k), graph.node(*node).output(k))) return false;
  return true;
}

/// Shapes of the operands to try. Where the operator slides a kernel over its input: an image and a kernel. Channels
/// are in blocks of 16 where it is for a layout.
std::vector<std::vector<Shape>> shape_lists_of(const OperatorRecord& op, std::size_t operands) {
  std::vector<std::vector<Shape>> result = example_shape_lists(operands);
  if (is_of_layout(op)) {
    std::vector<Shape> shapes(operands, Shape{32, 32, 3, 3});
    shapes[0] = {Dimension::symbol("N"), 2, 6, 7, 16};
    result.push_back(std::move(shapes));
  }
  const bool kernel =
      operands == 2 && std::any_of(op.attributes.begin(), op.attributes.end(),
                                   [](const auto& s) { return s.name == "dilations"; });
  if (!kernel) return result;
  const Shape image = example_shapes()[4];
  result.insert(result.begin(), {{image, {8, 4, 3, 3}}, {image, {4, 8, 3, 3}}});
  return result;
}

/// One step, so that the composition shows what it does.
std::optional<Graph> accepted_recurrence(OperatorId op, std::size_t operands) {
  const auto outputs = static_cast<std::size_t>(record(op).outputs.maximum);
  for (const std::int64_t gates : {1, 3, 4}) {
    auto application =
        operands_of(op, Types(operands, DataType::f32), recurrence_shapes(operands, gates, 1));
    if (application && complete(*application, op, {}, outputs))
      return std::move(application->graph);
  }
  return std::nullopt;
}

std::optional<Graph> accepted_application(OperatorId op, std::size_t operands,
                                          const std::vector<Attributes>& attributes) {
  const Arity outputs = record(op).outputs;
  const std::vector<std::vector<Shape>> shape_lists = shape_lists_of(record(op), operands);
  for (const int count : {outputs.maximum < 0 ? 2 : outputs.minimum, outputs.minimum})
    for (const Types& types : example_types(operands))
      for (const std::vector<Shape>& shapes : shape_lists) {
        auto application = operands_of(op, types, shapes);
        if (!application) continue;
        for (const Attributes& values : attributes)
          if (complete(*application, op, values, static_cast<std::size_t>(count)))
            return std::move(application->graph);
      }
  return std::nullopt;
}

/// The first example of the record, if it has one.
std::optional<Graph> recorded_application(OperatorId op) {
  if (record(op).examples.empty()) return std::nullopt;
  const auto instance = read_example(record(op), record(op).examples.front());
  if (!instance) return std::nullopt;
  Types types;
  std::vector<Shape> shapes;
  for (const TensorType& type : instance->inputs) {
    if (!type.shape) return std::nullopt;
    types.push_back(type.data_type);
    shapes.push_back(*type.shape);
  }
  auto application = operands_of(op, types, shapes);
  if (!application || !complete(*application, op, instance->attributes, instance->output_count))
    return std::nullopt;
  return std::move(application->graph);
}

}  // namespace

std::optional<OperatorInstance> example_instance(const OperatorRecord& op) {
  if (!op.examples.empty()) {
    auto example = read_example(op, op.examples.front());
    return example ? std::optional(std::move(*example)) : std::nullopt;
  }
  const auto graph = example_application(operator_named(op.name));
  if (!graph || graph->nodes().back().kind != NodeKind::operation) return std::nullopt;
  const Node& node = graph->nodes().back();
  return OperatorInstance{graph->input_types(node), node.attributes, node.output_count};
}

std::string example_input_name(std::size_t i) { return std::string(1, static_cast<char>('a' + i)); }

std::optional<Graph> example_application(OperatorId op) {
  const OperatorRecord& chosen = record(op);
  const int fewest = chosen.inputs.minimum, most = chosen.inputs.maximum;
  // Any number of operands is best shown by two.
  const auto operands = static_cast<std::size_t>(most < 0 ? std::max(fewest, 2)
                                                          : std::max(fewest, std::min(1, most)));
  if (chosen.has(recurrent)) return accepted_recurrence(op, operands);
  if (auto graph = accepted_application(op, operands, example_attributes(chosen, nullptr)))
    return graph;
  for (const AttributeSpecification& specification : chosen.attributes)
    if (specification.default_text == "optional" || !specification.choices.empty())
      if (auto graph =
              accepted_application(op, operands, example_attributes(chosen, &specification)))
        return graph;
  return recorded_application(op);
}

}  // namespace lemma
