#include "differentiate/gradient_records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "differentiate/backward.h"
#include "differentiate/conventions.h"
#include "differentiate/derive.h"
#include "facts/operator_example.h"
#include "facts/operator_instances.h"
#include "ir/derived_operator.h"
#include "ir/rebuild.h"

namespace lemma {

namespace differentiate {

namespace {

constexpr std::string_view infix = "Gradient";

/// Names of higher derivatives, and of operands behind these, mean nothing: what a file names is not made without a bound.
constexpr std::size_t most_derivatives = 3;
constexpr std::uint32_t most_operands = 64;

/// Of all that makes a gradient of a definition: another one wherever any gradient changes. Proofs record it.
constexpr int derivation_version = 1;
/// The attributes that a gradient has beside those of its operator: the operator and the operand, for each of which the
/// record has one value only, so that its functions know what they are asked about; the number of its outputs, and of the
/// gradients of these that are given. Those of second and further derivatives have numbers.
struct OwnAttributes {
  std::string op, operand, outputs, gradients;
  explicit OwnAttributes(std::size_t level)
      : op(numbered("gradient_of", level)),
        operand(numbered("gradient_operand", level)),
        outputs(numbered("gradient_outputs", level)),
        gradients(numbered("gradients", level)) {}

  std::array<std::string, 4> all() const { return {op, operand, outputs, gradients}; }

 private:
  static std::string numbered(std::string_view name, std::size_t level) {
    return level == 1 ? std::string(name) : fmt::format("{}_{}", name, level);
  }
};

/// How often what has these attributes was derived.
std::size_t level_of(const Attributes& attributes) {
  std::size_t level = 0;
  while (attributes.has(OwnAttributes(level + 1).op)) ++level;
  return level;
}
std::size_t level_of(const OperatorRecord& op) {
  std::size_t level = 0;
  for (const AttributeSpecification& attribute : op.attributes)
    if (attribute.name == OwnAttributes(level + 1).op) ++level;
  return level;
}

/// How often a name says that something was derived.
std::size_t derivatives_of(std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = name.find(infix); at != std::string_view::npos;
       at = name.find(infix, at + infix.size()))
    ++count;
  return count;
}

/// "ConvGradient1" as Conv and 1.
struct GradientName {
  std::string_view op;
  std::uint32_t operand = 0;
};

std::optional<GradientName> read_name(std::string_view name) {
  const std::size_t at = name.rfind(infix);
  if (at == std::string_view::npos || at == 0 || derivatives_of(name) > most_derivatives)
    return std::nullopt;
  const std::string_view digits = name.substr(at + infix.size());
  GradientName result{name.substr(0, at), 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), result.operand);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (fmt::format("{}", result.operand) != digits || result.operand >= most_operands)
    return std::nullopt;
  return result;
}

/// The application of the operator that an application of its gradient belongs to.
struct Forward {
  const OperatorRecord* record = nullptr;
  std::uint32_t operand = 0;
  std::size_t operand_count = 0;
  std::vector<TensorType> types;  // of the operands
  Attributes attributes;
  std::size_t output_count = 1;

  Instance instance(Constraints* constraints = nullptr) const {
    return {types, attributes, output_count, constraints};
  }
};

Result<Forward> forward_of(const Instance& in) {
  const OwnAttributes own(level_of(in.attributes));
  const auto op = find_operator(in.attributes.string(own.op));
  if (!op) return internal_error("a gradient of an unknown operator");
  Forward result;
  result.record = &record(*op);
  result.operand = static_cast<std::uint32_t>(in.attributes.integer(own.operand));
  const std::int64_t outputs = in.attributes.integer(own.outputs),
                     gradients = in.attributes.integer(own.gradients);
  if (gradients < 1 || gradients > outputs ||
      static_cast<std::size_t>(gradients) > in.inputs.size())
    return bad_input(fmt::format("{} gradients for {} outputs and operands", gradients, outputs));
  result.output_count = static_cast<std::size_t>(outputs);
  result.operand_count = in.inputs.size() - static_cast<std::size_t>(gradients);
  result.types.assign(in.inputs.begin(),
                      in.inputs.begin() + static_cast<long>(result.operand_count));
  result.attributes = in.attributes;
  for (const std::string& name : own.all()) result.attributes.erase(name);
  if (result.operand >= result.operand_count ||
      result.types[result.operand].data_type == DataType::undefined)
    return bad_input(fmt::format("there is no operand {}", result.operand));
  if (!is_real(result.types[result.operand].data_type))
    return unsupported(fmt::format("operand {} is not of real numbers", result.operand));
  return result;
}

Result<Attributes> normalize_gradient(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const Forward forward, forward_of(in));
  LEMMA_ASSIGN_OR_RETURN(Attributes result,
                         complete_attributes(*forward.record, forward.types, forward.attributes,
                                             forward.output_count));
  const OwnAttributes own(level_of(in.attributes));
  for (const std::string& name : own.all()) result.set(name, *in.attributes.find(name));
  return result;
}

Result<std::vector<TensorType>> infer_gradient(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const Forward forward, forward_of(in));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> outputs,
                         infer_types(*forward.record, forward.instance(in.constraints)));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t place = forward.operand_count + i;
    if (!in.has(place)) continue;
    if (!is_real(outputs[i].data_type))
      return unsupported(fmt::format("output {} is not of real numbers", i));
    bool fits =
        in.type(place) == outputs[i].data_type && in.rank(place) == outputs[i].shape->size();
    for (std::size_t axis = 0; fits && axis < in.rank(place); ++axis)
      fits = in.are_equal(in.shape(place)[axis], (*outputs[i].shape)[axis]);
    if (!fits)
      return bad_input(fmt::format("the gradient of output {} has the type {}, not {}", i,
                                   text(in.inputs[place]), text(outputs[i])));
  }
  return std::vector<TensorType>{forward.types[forward.operand]};
}

Definition define_gradient(const Instance& in) {
  const Forward forward = *forward_of(in);
  std::vector<std::optional<std::uint32_t>> gradients;
  for (std::size_t i = 0; i < forward.output_count; ++i) {
    const std::size_t place = forward.operand_count + i;
    gradients.push_back(in.has(place) ? std::optional(static_cast<std::uint32_t>(place))
                                      : std::nullopt);
  }
  const Definition definition = forward.record->define(forward.instance());
  return vector_jacobian_product(definition, forward.instance(), forward.operand, gradients,
                                 conventions_of(forward.record->name));
}

/// What the operator is composed of, by itself: operands that are equal, or parts of the composition, do not meet there.
struct Composition {
  Graph graph;
  std::vector<ValueId> operands, gradients;  // none() for absent ones
  std::vector<ValueId> outputs;
};

Result<Composition> compose_alone(const Instance& in, const Forward& forward) {
  Composition result;
  for (std::size_t i = 0; i < in.inputs.size(); ++i) {
    ValueId value = ValueId::none();
    if (in.has(i)) {
      LEMMA_ASSIGN_OR_RETURN(value, result.graph.add_input(fmt::format("x{}", i), in.inputs[i]));
    }
    (i < forward.operand_count ? result.operands : result.gradients).push_back(value);
  }
  LEMMA_ASSIGN_OR_RETURN(
      result.outputs, forward.record->compose(result.graph, forward.instance(), result.operands));
  return result;
}

Result<std::vector<ValueId>> compose_gradient(Graph& graph, const Instance& in,
                                              std::span<const ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Forward forward, forward_of(in));
  LEMMA_ASSIGN_OR_RETURN(Composition alone, compose_alone(in, forward));
  std::vector<ValueGradient> seeds;
  for (std::size_t i = 0; i < alone.gradients.size(); ++i)
    if (!alone.gradients[i].is_none()) seeds.push_back({alone.outputs[i], alone.gradients[i]});
  std::vector<ValueId> leaves = {alone.operands[forward.operand]};
  std::vector<ValueId> held;
  const std::string_view shift = conventions_of(forward.record->name).shift;
  for (const Node& node : alone.graph.nodes())
    if (node.kind == NodeKind::operation && record(node.op).name == shift)
      held.push_back(node.output());
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                         backward(alone.graph, seeds, leaves, held));
  if (results[0].is_none()) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId zeros, graph.add("ConstantOfShape", {},
                                                          {{"shape", in.shape(forward.operand)},
                                                           {"data_type", in.type(forward.operand)},
                                                           {"value", 0.0}}));
    return std::vector{zeros};
  }
  LEMMA_RETURN_IF_ERROR(alone.graph.add_output("gradient", results[0]));
  std::vector<ValueId> values(alone.graph.value_count(), ValueId::none());
  std::size_t next_input = 0;
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    if (in.has(i))
      values[alone.graph.node(alone.graph.inputs()[next_input++]).output().v] = inputs[i];
  for (const NodeId id : alone.graph.live_nodes())
    if (alone.graph.node(id).kind != NodeKind::input)
      LEMMA_RETURN_IF_ERROR(copy_node(alone.graph, alone.graph.node(id), graph, values));
  return std::vector{values[results[0].v]};
}

/// All that a record points to, for good.
struct Texts {
  std::string name, summary, op, operand;  // the last two as defaults of attributes
  OwnAttributes own;
  std::vector<AttributeSpecification> attributes;
  std::string example_operands, example_attributes;
  std::vector<OperatorExample> examples;
};

Texts& keep(Texts texts) {
  static std::mutex mutex;
  static std::deque<Texts> all;
  const std::lock_guard lock(mutex);
  return all.emplace_back(std::move(texts));
}

bool is_accepted(const OperatorRecord& op, const OperatorInstance& instance) {
  const auto attributes =
      complete_attributes(op, instance.inputs, instance.attributes, instance.output_count);
  return attributes && infer_types(op, {instance.inputs, *attributes, instance.output_count});
}

/// Adds an optional operand, or one of any number: the first of a few types that the operator accepts, or an absent one.
void add_operand(const OperatorRecord& op, OperatorInstance& instance) {
  std::vector<TensorType> types = {instance.inputs.back()};
  for (const TensorType& operand : instance.inputs)
    if (is_real(operand.data_type) && operand.shape)
      for (const Dimension& size : *operand.shape) types.push_back({DataType::f32, Shape{size}});
  types.push_back({DataType::f32, Shape{}});
  for (const TensorType& type : types) {
    instance.inputs.push_back(type);
    if (is_accepted(op, instance)) return;
    instance.inputs.pop_back();
  }
  instance.inputs.push_back({});
}

/// What is tried first for an operator may be integers throughout: the same with real numbers in the operand, and in others
/// as far as it takes, indices left out.
std::optional<OperatorInstance> of_reals(const OperatorRecord& op, const OperatorInstance& given,
                                         std::uint32_t operand) {
  for (std::size_t kept = 0; kept <= given.inputs.size(); ++kept) {
    OperatorInstance result = given;
    for (std::size_t i = 0; i < result.inputs.size(); ++i)
      if (i == operand || (kept < given.inputs.size() && i != kept &&
                           result.inputs[i].data_type != DataType::undefined))
        result.inputs[i].data_type = DataType::f32;
    if (kept != operand && is_accepted(op, result)) return result;
  }
  return std::nullopt;
}

/// An application of the operator that has the operand; nothing if none is seen.
std::optional<OperatorInstance> example_of(const OperatorRecord& forward, std::uint32_t operand) {
  auto example = example_instance(forward);
  if (!example) return std::nullopt;
  OperatorInstance& result = *example;
  while (result.inputs.size() <= operand) add_operand(forward, result);
  if (is_real(result.inputs[operand].data_type)) return result;
  return of_reals(forward, result, operand);
}

/// An example of the gradient, made of one of the operator.
void add_example(Texts& kept, const OperatorRecord& forward, std::uint32_t operand) {
  const auto example = example_of(forward, operand);
  if (!example) return;
  const auto attributes =
      complete_attributes(forward, example->inputs, example->attributes, example->output_count);
  if (!attributes) return;
  const auto outputs = infer_types(forward, {example->inputs, *attributes, example->output_count});
  if (!outputs) return;
  std::vector<std::string> operands;
  for (const TensorType& type : example->inputs)
    operands.push_back(type.data_type == DataType::undefined ? "-" : text(type));
  std::size_t gradients = 0;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const bool has_gradient = is_real((*outputs)[i].data_type);
    operands.push_back(has_gradient ? text((*outputs)[i]) : "-");
    if (has_gradient) gradients = i + 1;
  }
  if (gradients == 0) return;
  operands.resize(example->inputs.size() + gradients);
  std::vector<std::string> values;
  for (const auto& [name, value] :
       gradient_attributes(forward, *attributes, outputs->size(), gradients))
    values.push_back(fmt::format("{}={}", name, text(value)));
  kept.example_operands = fmt::format("{}", fmt::join(operands, "; "));
  kept.example_attributes = fmt::format("{}", fmt::join(values, "; "));
  kept.examples.push_back({kept.example_operands, kept.example_attributes, 1});
}

OperatorRecord record_of(const OperatorRecord& forward, std::uint32_t operand) {
  Texts& kept = keep({gradient_name(forward.name, operand),
                      fmt::format("gradient of {} in operand {}", forward.name, operand),
                      fmt::format("\"{}\"", forward.name),
                      fmt::format("{}", operand),
                      OwnAttributes(level_of(forward) + 1),
                      {},
                      {},
                      {},
                      {}});
  add_example(kept, forward, operand);
  kept.attributes.assign(forward.attributes.begin(), forward.attributes.end());
  kept.attributes.push_back({kept.own.op, AttributeKind::string, kept.op});
  kept.attributes.push_back({kept.own.operand, AttributeKind::integer, kept.operand});
  kept.attributes.push_back({kept.own.outputs, AttributeKind::integer, "1"});
  kept.attributes.push_back({kept.own.gradients, AttributeKind::integer, "1"});
  OperatorRecord result{.name = kept.name, .summary = kept.summary};
  result.inputs = {forward.inputs.minimum, -1};
  result.attributes = kept.attributes;
  result.infer = infer_gradient;
  if (forward.define != nullptr) result.define = define_gradient;
  if (forward.compose != nullptr) result.compose = compose_gradient;
  result.normalize = normalize_gradient;
  result.examples = kept.examples;
  return result;
}

}  // namespace

std::string gradient_name(std::string_view op, std::uint32_t operand) {
  return fmt::format("{}{}{}", op, infix, operand);
}

Attributes gradient_attributes(const OperatorRecord& op, Attributes attributes, std::size_t outputs,
                               std::size_t gradients) {
  const OwnAttributes own(level_of(op) + 1);
  attributes.set(own.outputs, static_cast<std::int64_t>(outputs));
  attributes.set(own.gradients, static_cast<std::int64_t>(gradients));
  return attributes;
}

bool is_gradient(const OperatorRecord& record) { return record.infer == infer_gradient; }

std::optional<DerivedOperator> derived_gradient(const OperatorRecord& record) {
  if (!is_gradient(record)) return std::nullopt;
  const auto name = read_name(record.name);
  return DerivedOperator{operator_named(name->op), fmt::format("gradient in operand {}, version {}",
                                                               name->operand, derivation_version)};
}

std::optional<OperatorRecord> gradient_record(std::string_view name) {
  const auto gradient = read_name(name);
  if (!gradient) return std::nullopt;
  const auto forward = find_operator(gradient->op);
  if (!forward) return std::nullopt;
  const OperatorRecord& op = record(*forward);
  if (op.inputs.maximum >= 0 && gradient->operand >= static_cast<std::uint32_t>(op.inputs.maximum))
    return std::nullopt;
  return record_of(op, gradient->operand);
}

}  // namespace differentiate

}  // namespace lemma
