#include "facts/value_facts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/quoted.h"
#include "facts/expression_facts.h"
#include "facts/facts_arithmetic.h"
#include "facts/observation.h"
#include "facts/opaque_facts.h"

namespace lemma {

// ---- Facts as values --------------------------------------------------------------------------

ValueFacts both(const ValueFacts& a, const ValueFacts& b) {
  ValueFacts result;
  result.defined = a.defined || b.defined;
  result.lower = std::max(a.lower, b.lower);
  result.upper = std::min(a.upper, b.upper);
  // No element is defined then, and bounds say nothing of it.
  if (result.lower > result.upper) {
    result.lower = a.lower;
    result.upper = a.upper;
  }
  result.nonzero = a.nonzero || b.nonzero || result.lower > 0 || result.upper < 0;
  result.plus_infinity = a.plus_infinity && b.plus_infinity && result.upper == HUGE_VAL;
  result.minus_infinity = a.minus_infinity && b.minus_infinity && result.lower == -HUGE_VAL;
  return result;
}

ValueFacts either(const ValueFacts& a, const ValueFacts& b) {
  ValueFacts result;
  result.defined = a.defined && b.defined;
  result.nonzero = a.nonzero && b.nonzero;
  result.plus_infinity = a.plus_infinity || b.plus_infinity;
  result.minus_infinity = a.minus_infinity || b.minus_infinity;
  result.lower = std::min(a.lower, b.lower);
  result.upper = std::max(a.upper, b.upper);
  return result;
}

bool implies(const ValueFacts& facts, const ValueFacts& wanted) {
  return (facts.defined || !wanted.defined) && (facts.nonzero || !wanted.nonzero) &&
         (!facts.plus_infinity || wanted.plus_infinity) &&
         (!facts.minus_infinity || wanted.minus_infinity) && facts.lower >= wanted.lower &&
         facts.upper <= wanted.upper;
}

std::string text(const ValueFacts& facts) {
  return fmt::format("{}{}{}{}{}[{}, {}]", facts.defined ? "defined " : "",
                     facts.finite() ? "finite " : "", facts.nonzero ? "nonzero " : "",
                     facts.plus_infinity ? "inf " : "", facts.minus_infinity ? "-inf " : "",
                     facts.lower, facts.upper);
}

Result<ValueFacts> parse_facts(std::string_view text) {
  ValueFacts facts;
  facts.plus_infinity = facts.minus_infinity = false;
  const std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || !text.ends_with("]"))
    return bad_input(fmt::format("'{}' does not say what is known of a value", text));
  for (const std::string_view word : words(text.substr(0, bracket))) {
    if (word == "defined") facts.defined = true;
    if (word == "nonzero") facts.nonzero = true;
    if (word == "inf") facts.plus_infinity = true;
    if (word == "-inf") facts.minus_infinity = true;
  }
  std::string_view bounds = text.substr(bracket + 1, text.size() - bracket - 2);
  facts.lower = take_number<double>(bounds).value_or(0);
  if (bounds.starts_with(", ")) facts.upper = number_of<double>(bounds.substr(2)).value_or(0);
  // Only its own text is a text of facts.
  if (lemma::text(facts) != text)
    return bad_input(fmt::format("'{}' does not say what is known of a value", text));
  return facts;
}

ValueFacts unknown_facts(DataType type) {
  ValueFacts result;
  if (is_computable(type)) enter_type_range(type, result);
  return result;
}

ValueFacts facts_of_input(DataType type) {
  ValueFacts result = facts::range(-HUGE_VAL, HUGE_VAL);
  if (is_computable(type)) enter_type_range(type, result);
  return result;
}

// ---- Constants --------------------------------------------------------------------------------

namespace {

/// Least and greatest element, NaN left out.
struct Extent {
  double least = HUGE_VAL, greatest = -HUGE_VAL;
  bool has_nan = false, has_zero = false;

  void enter(double value) {
    has_nan = has_nan || std::isnan(value);
    has_zero = has_zero || value == 0;
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  }
};

template <typename T, typename Convert>
Extent scan(const Constant& constant, Convert convert) {
  Extent result;
  const std::byte* bytes = constant.bytes().data();
  for (std::size_t i = 0; i < constant.element_count(); ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    result.enter(convert(element));
  }
  return result;
}

Extent extent_of(const Constant& constant) {
  const auto same = [](auto value) { return static_cast<double>(value); };
  switch (constant.type().data_type) {
    case DataType::f32: return scan<float>(constant, same);
    case DataType::f64: return scan<double>(constant, same);
    case DataType::f16: return scan<std::uint16_t>(constant, f16_to_f32);
    case DataType::bf16: return scan<std::uint16_t>(constant, bf16_to_f32);
    default: break;
  }
  Extent result;
  for (const double value : constant.reals()) result.enter(value);
  return result;
}

ValueFacts read_constant(const Constant& constant) {
  const DataType type = constant.type().data_type;
  if (!is_computable(type)) return unknown_facts(type);
  if (constant.element_count() == 0) return facts::number(0);  // there is none to speak of
  const Extent extent = extent_of(constant);
  ValueFacts result;
  result.defined = !extent.has_nan;
  result.nonzero = !extent.has_zero;
  if (extent.least <= extent.greatest) {
    result.lower = extent.least + 0.0;
    result.upper = extent.greatest + 0.0;
    // 64-bit integers may have been rounded.
    const bool rounded = !is_real(type);
    if (rounded && result.lower <= -0x1p53) result.lower = std::nextafter(result.lower, -HUGE_VAL);
    if (rounded && result.upper >= 0x1p53) result.upper = std::nextafter(result.upper, HUGE_VAL);
  }
  result.plus_infinity = extent.greatest == HUGE_VAL;
  result.minus_infinity = extent.least == -HUGE_VAL;
  return result;
}

/// Facts of large constants that somebody still holds, so that weights are read once.
class KnownConstants {
 public:
  ValueFacts of(const Constant& constant) {
    const Key key{constant.bytes().data(), constant.bytes().size(), constant.type().data_type};
    {
      const std::lock_guard lock(mutex_);
      const auto remembered = entries_.find(key);
      if (remembered != entries_.end() && remembered->second.owner.lock() == constant.owner())
        return remembered->second.facts;
    }
    const ValueFacts facts = read_constant(constant);
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= most)
      std::erase_if(entries_, [](const auto& entry) { return entry.second.owner.expired(); });
    if (entries_.size() < most) entries_[key] = {constant.owner(), facts};
    return facts;
  }

 private:
  static constexpr std::size_t most = 10'000;
  using Key = std::tuple<const void*, std::size_t, DataType>;
  struct Entry {
    std::weak_ptr<const void> owner;
    ValueFacts facts;
  };
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace

ValueFacts facts_of_constant(const Constant& constant) {
  constexpr std::size_t large = 4096;
  if (constant.is_symbolic()) return unknown_facts(constant.type().data_type);
  if (constant.bytes().size() < large || constant.owner() == nullptr)
    return read_constant(constant);
  static KnownConstants known;
  return known.of(constant);
}

// ---- Operators --------------------------------------------------------------------------------

struct OperatorFacts::Parts {
  std::vector<DataType> types;  // of the outputs
  std::vector<Shape> shapes;    // of the operands
  std::vector<Shape> output_shapes;
  // One of the two.
  std::optional<Definition> definition;
  Graph composition;
  std::vector<OperatorFacts> nodes;       // of the composition; by operation, in order
  std::vector<std::uint32_t> operations;  // by value of the composition: which operation makes it
  std::vector<ValueId> inputs, outputs;
  bool observes_otherwise = false;  // where nothing could be composed

  std::vector<ValueFacts> evaluate(std::span<const ValueFacts> operands,
                                   OperandIdentities identities, Reads reads,
                                   const DimensionBindings& sizes) const;
  ValueFacts composed(std::size_t output, std::span<const ValueFacts> operands,
                      OperandIdentities identities, Reads reads, DimensionBindings sizes) const;
  const ExpressionNode* step(const Node& node) const;
  const Node* producer(ValueId value, ExpressionKind kind) const;
  bool exceeds_nothing(const Node& difference) const;
  bool sums_powers_of_differences(const Node& sum, const DimensionBindings& sizes) const;
};

OperatorFacts::~OperatorFacts() = default;
OperatorFacts::OperatorFacts(OperatorFacts&&) noexcept = default;
OperatorFacts& OperatorFacts::operator=(OperatorFacts&&) noexcept = default;

OperatorFacts::OperatorFacts(const OperatorRecord& record, const Instance& instance) {
  auto parts = std::make_unique<Parts>();
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    parts->shapes.push_back(instance.has(i) ? instance.shape(i) : Shape());
  if (const auto types = record.infer(instance)) {
    for (const TensorType& type : *types) {
      parts->types.push_back(type.data_type);
      parts->output_shapes.push_back(type.shape.value_or(Shape()));
    }
  }
  if (record.define != nullptr) {
    parts->definition = record.define(instance);
  } else {
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      auto value = instance.has(i) ? parts->composition.add_input(fmt::format("input {}", i),
                                                                  instance.inputs[i])
                                   : Result<ValueId>(ValueId::none());
      parts->inputs.push_back(value ? *value : ValueId::none());
    }
    if (auto outputs = record.compose(parts->composition, instance, parts->inputs))
      parts->outputs = std::move(*outputs);
    else
      parts->observes_otherwise = observes_undefined(record, instance);
    for (const Node& node : parts->composition.nodes()) {
      if (node.kind != NodeKind::operation) continue;
      const std::vector<TensorType> types = parts->composition.input_types(node);
      parts->operations.resize(parts->composition.value_count());
      for (std::uint32_t k = 0; k < node.output_count; ++k)
        parts->operations[node.output(k).v] = static_cast<std::uint32_t>(parts->nodes.size());
      parts->nodes.emplace_back(parts->composition.op(node),
                                Instance{types, node.attributes, node.output_count});
    }
  }
  parts_ = std::move(parts);
}

const ExpressionNode* OperatorFacts::Parts::step(const Node& node) const {
  if (node.kind != NodeKind::operation) return nullptr;
  const auto& its_definition = nodes[operations[node.output().v]].parts_->definition;
  return its_definition ? single_step(*its_definition) : nullptr;
}

const Node* OperatorFacts::Parts::producer(ValueId value, ExpressionKind kind) const {
  const Node& node = composition.node(composition.producer(value));
  const ExpressionNode* its_step = step(node);
  return its_step != nullptr && its_step->kind == kind ? &node : nullptr;
}

/// x - max x, which is nowhere above 0.
bool OperatorFacts::Parts::exceeds_nothing(const Node& difference) const {
  const ExpressionNode* subtracts = step(difference);
  if (subtracts == nullptr || subtracts->kind != ExpressionKind::subtract) return false;
  const Node* largest = producer(difference.inputs[1], ExpressionKind::maximum_over);
  return largest != nullptr && largest->inputs[0] == difference.inputs[0] &&
         largest->attributes.has("keepdims") && largest->attributes.integer("keepdims") != 0;
}

/// The sum of exp(x - max x) over the axes of the maximum: one term is 1.
bool OperatorFacts::Parts::sums_powers_of_differences(const Node& sum,
                                                      const DimensionBindings& sizes) const {
  const ExpressionNode* sums = step(sum);
  if (sums == nullptr || sums->kind != ExpressionKind::sum || !sum.attributes.has("axes"))
    return false;
  const Node* powers = producer(sum.inputs[0], ExpressionKind::function);
  if (powers == nullptr || step(*powers)->function != ScalarFunction::exp) return false;
  const Node& difference = composition.node(composition.producer(powers->inputs[0]));
  if (!exceeds_nothing(difference)) return false;
  const Node& largest = *producer(difference.inputs[1], ExpressionKind::maximum_over);
  const Integers& axes = sum.attributes.integers("axes");
  if (largest.attributes.integers("axes") != axes) return false;
  for (const std::int64_t axis : axes) {
    const Dimension& size =
        (*composition.type(sum.inputs[0]).shape)[static_cast<std::size_t>(axis)];
    const auto low = lower_bound(substitute(size, sizes));
    if (!low || *low < 1) return false;
  }
  return true;
}

ValueFacts OperatorFacts::Parts::composed(std::size_t output, std::span<const ValueFacts> operands,
                                          OperandIdentities identities, Reads reads,
                                          DimensionBindings sizes) const {
  if (output >= outputs.size()) return unknown_facts(types[output]);
  assume_elements(output_shapes[output], sizes);
  std::vector<ValueFacts> facts(composition.value_count());
  std::vector<std::uint32_t> identity(composition.value_count());
  for (std::uint32_t i = 0; i < identity.size(); ++i) identity[i] = i;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_none() || i >= operands.size()) continue;
    facts[inputs[i].v] = operands[i];
    for (std::size_t j = 0; j < i && i < identities.size(); ++j)
      if (identities[i] == identities[j] && !inputs[j].is_none())
        identity[inputs[i].v] = identity[inputs[j].v];
  }
  std::size_t next = 0;
  for (const Node& node : composition.nodes()) {
    if (node.kind == NodeKind::constant)
      facts[node.output().v] = facts_of_constant(composition.constant(node));
    if (node.kind != NodeKind::operation) continue;
    std::vector<ValueFacts> given;
    std::vector<std::uint32_t> same;
    for (const ValueId input : node.inputs) {
      given.push_back(input.is_none() ? ValueFacts() : facts[input.v]);
      same.push_back(input.is_none() ? ~0U : identity[input.v]);
    }
    std::vector<ValueFacts> results = nodes[next++].parts_->evaluate(given, same, reads, sizes);
    if (exceeds_nothing(node)) {
      ValueFacts not_positive;
      not_positive.upper = 0;
      results[0] = both(results[0], not_positive);
    }
    if (sums_powers_of_differences(node, sizes)) {
      results[0].lower = std::max(results[0].lower, 1.0);
      results[0].nonzero = true;
    }
    for (std::uint32_t k = 0; k < node.output_count && k < results.size(); ++k)
      facts[node.output(k).v] = results[k];
  }
  return outputs[output].is_none() ? unknown_facts(types[output]) : facts[outputs[output].v];
}

std::vector<ValueFacts> OperatorFacts::Parts::evaluate(std::span<const ValueFacts> operands,
                                                       OperandIdentities identities, Reads reads,
                                                       const DimensionBindings& sizes) const {
  std::vector<ValueFacts> result;
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (!definition) {
      result.push_back(composed(k, operands, identities, reads, sizes));
      continue;
    }
    if (k >= definition->outputs().size()) {
      result.push_back(unknown_facts(types[k]));
      continue;
    }
    const DefinitionFactsInput input{operands, identities, shapes, reads, &sizes};
    result.push_back(facts_of_output(*definition, definition->outputs()[k], input));
  }
  return result;
}

std::vector<ValueFacts> OperatorFacts::outputs(std::span<const ValueFacts> operands,
                                               OperandIdentities identities, Reads reads) const {
  return parts_->evaluate(operands, identities, reads, {});
}

bool OperatorFacts::may_read_outside() const {
  if (parts_->definition) return has_computed_reads(*parts_->definition);
  return std::any_of(parts_->nodes.begin(), parts_->nodes.end(),
                     [](const OperatorFacts& node) { return node.may_read_outside(); });
}

bool OperatorFacts::observes() const {
  if (parts_->definition) return observes_undefined(*parts_->definition);
  return parts_->observes_otherwise ||
         std::any_of(parts_->nodes.begin(), parts_->nodes.end(),
                     [](const OperatorFacts& node) { return node.observes(); });
}

std::vector<ValueFacts> facts_of_outputs(const OperatorRecord& record, const Instance& instance,
                                         std::span<const ValueFacts> operands,
                                         OperandIdentities identities, Reads reads) {
  return OperatorFacts(record, instance).outputs(operands, identities, reads);
}

bool is_total(const OperatorRecord& record, const Instance& instance) {
  std::vector<ValueFacts> operands;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    operands.push_back(facts_of_input(instance.type(i)));
  const std::vector<ValueFacts> results = facts_of_outputs(record, instance, operands);
  return !results.empty() && std::all_of(results.begin(), results.end(),
                                         [](const ValueFacts& facts) { return facts.defined; });
}

// ---- Graphs -----------------------------------------------------------------------------------

std::vector<ValueFacts> facts_of_values(const Graph& graph, std::span<const ValueFacts> inputs,
                                        Reads reads) {
  std::vector<ValueFacts> facts(graph.value_count());
  std::size_t next_input = 0;
  for (const Node& node : graph.nodes()) {
    std::vector<ValueFacts> operands;
    std::vector<std::uint32_t> identities;
    bool finite = true;
    for (const ValueId input : node.inputs) {
      operands.push_back(input.is_none() ? ValueFacts() : facts[input.v]);
      identities.push_back(input.v);
      finite = finite && (input.is_none() || operands.back().finite());
    }
    std::vector<ValueFacts> results;
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      const DataType type = graph.type(node.output(k)).data_type;
      results.push_back(node.kind == NodeKind::opaque
                            ? facts_of_opaque_output(graph.opaque(node).name, type, finite)
                            : facts_of_input(type));
    }
    if (node.kind == NodeKind::input) {
      if (next_input < inputs.size()) results[0] = inputs[next_input];
      ++next_input;
    } else if (node.kind == NodeKind::constant) {
      results[0] = facts_of_constant(graph.constant(node));
    } else if (node.kind == NodeKind::operation) {
      const std::vector<TensorType> types = graph.input_types(node);
      results = facts_of_outputs(graph.op(node), {types, node.attributes, node.output_count},
                                 operands, identities, reads);
    }
    for (std::uint32_t k = 0; k < node.output_count && k < results.size(); ++k)
      facts[node.output(k).v] = results[k];
  }
  return facts;
}

std::vector<char> observed_values(const Graph& graph, std::span<const ValueFacts> facts,
                                  std::span<const char> roots) {
  std::vector<char> observed(graph.value_count(), 0);
  const auto look_at = [&](ValueId value) {
    if (!value.is_none() && !(facts[value.v].defined && facts[value.v].finite()))
      observed[value.v] = 1;
  };
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (roots[i] != 0) look_at(graph.outputs()[i].value);
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool looks = node.kind == NodeKind::opaque;
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      looks = looks || observed[node.output(k).v] != 0;
    if (!looks && node.kind == NodeKind::operation) {
      const std::vector<TensorType> types = graph.input_types(node);
      looks = observes_undefined(graph.op(node), {types, node.attributes, node.output_count});
    }
    if (!looks) continue;
    for (const ValueId input : node.inputs) look_at(input);
  }
  return observed;
}

}  // namespace lemma
