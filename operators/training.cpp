#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/helpers.h"

// Steps of training (ONNX, domain ai.onnx.preview.training). Operands are the learning rate, the number of updates done
// before, and then lists of equal length: the tensors, their gradients, and what is kept of each from step to step.
// Results are the same lists without the gradients.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

constexpr std::string_view training_domain = "ai.onnx.preview.training";
constexpr std::size_t rate_operand = 0, count_operand = 1, first_tensor = 2;

/// `kept`: tensors that are kept of each.
Types infer_training(const Instance& in, std::size_t kept) {
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    if (!in.has(i)) return bad_input(fmt::format("input {} is missing", i));
  LEMMA_RETURN_IF_ERROR(require_type(in, rate_operand, TypeSet::real));
  if (in.type(count_operand) != DataType::i64)
    return bad_input(fmt::format("the number of updates is {}, not i64", name(in.type(1))));
  for (const std::size_t i : {rate_operand, count_operand})
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 0, 0));
  const std::size_t lists = 2 + kept, operands = in.inputs.size() - first_tensor;
  const std::size_t count = operands / lists;
  if (operands % lists != 0 || in.output_count != count * (1 + kept))
    return bad_input(fmt::format("{} inputs and {} outputs are no lists of equal length",
                                 in.inputs.size(), in.output_count));
  std::vector<TensorType> types;
  for (std::size_t list = 0; list < lists; ++list)
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = first_tensor + list * count + k, tensor = first_tensor + k;
      LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
      if (in.type(i) != in.type(tensor))
        return bad_input(
            fmt::format("input {} is {}, not {}", i, name(in.type(i)), name(in.type(tensor))));
      LEMMA_RETURN_IF_ERROR(require_rank(in, i, in.rank(tensor), in.rank(tensor)));
      for (std::size_t axis = 0; axis < in.rank(i); ++axis)
        LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(i)[axis], in.shape(tensor)[axis],
                                                "sizes of a tensor and what belongs to it"));
      if (list != 1) types.push_back(in.inputs[tensor]);
    }
  return types;
}

/// One tensor with what belongs to it, and the numbers of the step in its type.
struct TrainedTensor {
  DataType type;
  ValueId rate, count;
  ValueId tensor, gradient;
  std::vector<ValueId> kept;
};

class TrainingStep {
 public:
  TrainingStep(Composer& c, const Instance& in, DataType type) : c_(c), in_(in), type_(type) {}

  ValueId number(double value) { return c_.scalar(value, type_); }
  ValueId attribute(std::string_view name) { return c_.scalar(in_.attributes.real(name), type_); }
  /// a where there was an update before, b at the first one.
  ValueId after_first(ValueId count, ValueId a, ValueId b) {
    return c_("Where", {c_("Greater", {count, number(0)}), a, b});
  }
  /// The gradient of the loss with a penalty for large elements.
  ValueId gradient(const TrainedTensor& given) {
    return c_.add(c_.multiply(attribute("norm_coefficient"), given.tensor), given.gradient);
  }

 private:
  Composer& c_;
  const Instance& in_;
  DataType type_;
};

/// The new tensor and what is kept of it.
using TrainOne = std::vector<ValueId> (*)(Composer&, const Instance&, const TrainedTensor&);

Compose compose_training(Graph& graph, const Instance& in, std::span<const ValueId> inputs,
                         std::size_t kept, TrainOne train) {
  Composer c(graph);
  const std::size_t count = (in.inputs.size() - first_tensor) / (2 + kept);
  std::vector<ValueId> outputs(count * (1 + kept));
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t tensor = first_tensor + k;
    const DataType type = in.type(tensor);
    TrainedTensor given{type,
                        c.cast(inputs[rate_operand], type),
                        c.cast(inputs[count_operand], type),
                        inputs[tensor],
                        inputs[tensor + count],
                        {}};
    for (std::size_t i = 0; i < kept; ++i) given.kept.push_back(inputs[tensor + (2 + i) * count]);
    const std::vector<ValueId> results = train(c, in, given);
    for (std::size_t i = 0; i < results.size(); ++i) outputs[i * count + k] = results[i];
  }
  return c.outputs(std::move(outputs));
}

/// Duchi, Hazan, Singer, 2011.
std::vector<ValueId> train_adagrad(Composer& c, const Instance& in, const TrainedTensor& given) {
  TrainingStep step(c, in, given.type);
  const ValueId rate = c.divide(
      given.rate, c.add(step.number(1), c.multiply(given.count, step.attribute("decay_factor"))));
  const ValueId gradient = step.gradient(given);
  const ValueId squares = c.add(given.kept[0], c.multiply(gradient, gradient));
  const ValueId scale = c.add(c.sqrt(squares), step.attribute("epsilon"));
  return {c.subtract(given.tensor, c.divide(c.multiply(rate, gradient), scale)), squares};
}

/// Kingma, Ba, 2015. The first update is not corrected for the means that begin at 0.
std::vector<ValueId> train_adam(Composer& c, const Instance& in, const TrainedTensor& given) {
  TrainingStep step(c, in, given.type);
  const ValueId one = step.number(1), gradient = step.gradient(given);
  const auto mean = [&](std::string_view name, ValueId before, ValueId now) {
    const ValueId weight = step.attribute(name);
    return c.add(c.multiply(weight, before), c.multiply(c.subtract(one, weight), now));
  };
  const auto correction = [&](std::string_view name) {
    return c.subtract(one, c("Pow", {step.attribute(name), given.count}));
  };
  const ValueId first = mean("alpha", given.kept[0], gradient);
  const ValueId second = mean("beta", given.kept[1], c.multiply(gradient, gradient));
  const ValueId corrected =
      c.divide(c.multiply(given.rate, c.sqrt(correction("beta"))), correction("alpha"));
  const ValueId rate = step.after_first(given.count, corrected, given.rate);
  const ValueId scale = c.add(c.sqrt(second), step.attribute("epsilon"));
  const ValueId trained = c.subtract(given.tensor, c.divide(c.multiply(rate, first), scale));
  return {c.multiply(c.subtract(one, step.attribute("norm_coefficient_post")), trained), first,
          second};
}

/// Gradient descent with momentum, or with that of Nesterov.
std::vector<ValueId> train_momentum(Composer& c, const Instance& in, const TrainedTensor& given) {
  TrainingStep step(c, in, given.type);
  const ValueId alpha = step.attribute("alpha");
  const ValueId gradient = step.gradient(given);
  const ValueId beta = step.after_first(given.count, step.attribute("beta"), step.number(1));
  const ValueId momentum = c.add(c.multiply(alpha, given.kept[0]), c.multiply(beta, gradient));
  const bool is_standard = in.attributes.string("mode") == "standard";
  const ValueId direction = is_standard ? momentum : c.add(gradient, c.multiply(alpha, momentum));
  return {c.subtract(given.tensor, c.multiply(given.rate, direction)), momentum};
}

// ---- Records -----------------------------------------------------------------------------------

constexpr AttributeSpecification norm_attribute = {"norm_coefficient", AttributeKind::real, "0.0"};
constexpr std::array adagrad_attributes = {
    AttributeSpecification{"decay_factor", AttributeKind::real, "0.0"},
    AttributeSpecification{"epsilon", AttributeKind::real, "1e-06"},
    norm_attribute,
};
constexpr std::array adam_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "0.9"},
    AttributeSpecification{"beta", AttributeKind::real, "0.999"},
    AttributeSpecification{"epsilon", AttributeKind::real, "1e-06"},
    norm_attribute,
    AttributeSpecification{"norm_coefficient_post", AttributeKind::real, "0.0"},
};
constexpr std::array momentum_modes = {std::string_view("nesterov"), std::string_view("standard")};
constexpr std::array momentum_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real},
    AttributeSpecification{"beta", AttributeKind::real},
    AttributeSpecification{"mode", AttributeKind::string, "required", AttributeRole::plain,
                           momentum_modes},
    AttributeSpecification{"norm_coefficient", AttributeKind::real},
};

template <std::size_t kept>
Types infer_training_of(const Instance& in) {
  return infer_training(in, kept);
}

template <std::size_t kept, TrainOne train>
Compose compose_training_of(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  return compose_training(graph, in, inputs, kept, train);
}

template <StaticName name>
inline constexpr std::array training_onnx = {
    OnnxMapping{.name = name.view(), .since = 1, .domain = training_domain}};

template <StaticName name, std::size_t kept, TrainOne train>
constexpr OperatorRecord training_record(std::string_view summary,
                                         std::span<const AttributeSpecification> attributes) {
  return {.name = name.view(),
          .summary = summary,
          .inputs = {4 + static_cast<int>(kept), -1},
          .outputs = {1 + static_cast<int>(kept), -1},
          .attributes = attributes,
          .infer = infer_training_of<kept>,
          .compose = compose_training_of<kept, train>,
          .onnx = training_onnx<name>};
}

constexpr std::array training_records = {
    training_record<"Adagrad", 1, train_adagrad>(
        "a step of training whose rate falls with the squares of gradients", adagrad_attributes),
    training_record<"Adam", 2, train_adam>(
        "a step of training along a mean of the gradients, divided by the root of that of squares",
        adam_attributes),
    training_record<"Momentum", 1, train_momentum>(
        "a step of training along a mean of the gradients", momentum_attributes),
};
static_assert(is_complete(training_records));

}  // namespace

std::span<const OperatorRecord> training() { return training_records; }

}  // namespace lemma::operators
