#include "training/training_graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "differentiate/backward.h"
#include "ir/constant.h"
#include "ir/rebuild.h"
#include "training/mixed_precision.h"
#include "training/narrow_joins.h"
#include "training/optimizers.h"
#include "training/terms.h"

namespace lemma::training {

namespace {

class StepBuilder {
 public:
  StepBuilder(const Graph& model, const TrainingOptions& options)
      : model_(model), options_(options), values_(model.value_count(), ValueId::none()) {}

  Result<TrainingStep> run() {
    step_.graph.set_name(model_.name() + ".training");
    LEMMA_RETURN_IF_ERROR(copy_model());
    LEMMA_ASSIGN_OR_RETURN(const ValueId loss, loss_value());
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> gradients, gradients_of(loss));
    LEMMA_RETURN_IF_ERROR(step_.graph.add_output("loss", loss));
    LEMMA_RETURN_IF_ERROR(add_updates(gradients));
    return std::move(step_);
  }

 private:
  struct Parameter {
    std::string name;
    ValueId value;
  };

  /// The model without its outputs; weights that are trained are inputs.
  Result<void> copy_model() {
    for (const NodeId id : model_.live_nodes()) {
      const Node& node = model_.node(id);
      const bool is_weight = node.kind == NodeKind::constant;
      if (is_weight || node.kind == NodeKind::input) {
        const ValueId value = node.output();
        const std::string name = is_weight ? model_.suggested_name(value) : model_.input_name(node);
        const bool trained = is_trained(options_, name, model_.type(value),
                                        is_weight || options_.weights.contains(name));
        if (trained && is_weight) {
          LEMMA_ASSIGN_OR_RETURN(values_[value.v], step_.graph.add_input(name, model_.type(value)));
        } else {
          LEMMA_RETURN_IF_ERROR(copy_node(model_, node, step_.graph, values_));
        }
        if (trained) parameters_.push_back({name, values_[value.v]});
        continue;
      }
      LEMMA_RETURN_IF_ERROR(copy_node(model_, node, step_.graph, values_));
    }
    if (parameters_.empty())
      return bad_input(options_.parameters.empty()
                           ? "the model has no weights to train"
                           : fmt::format("nothing is named like '{}'", options_.parameters));
    return {};
  }

  Result<ValueId> loss_value() {
    if (model_.outputs().empty()) return bad_input("the model has no outputs");
    Terms c(step_.graph);
    const ValueId first = values_[model_.outputs()[0].value.v];
    if (options_.loss == "cross-entropy") return cross_entropy(c, first);
    if (options_.loss == "mse") {
      LEMMA_ASSIGN_OR_RETURN(const ValueId target,
                             step_.graph.add_input("target", step_.graph.type(first)));
      const ValueId difference = c("Sub", {first, target});
      return c.result(c("ReduceMean", {c("Mul", {difference, difference})}, {{"keepdims", 0}}));
    }
    return loss_output(c);
  }

  /// The mean over all positions of -log of the probability of the label; classes are axis 1.
  Result<ValueId> cross_entropy(Terms& c, ValueId scores) {
    const TensorType& type = step_.graph.type(scores);
    if (!type.is_known() || !is_real(type.data_type) || type.rank() < 2)
      return bad_input(
          fmt::format("cross-entropy needs scores with the classes on axis 1, not {}", text(type)));
    Shape shape = *type.shape;
    shape.erase(shape.begin() + 1);
    LEMMA_ASSIGN_OR_RETURN(const ValueId labels,
                           step_.graph.add_input("labels", {DataType::i64, shape}));
    return c.result(c("SoftmaxCrossEntropyLoss", {scores, labels}));
  }

  Result<ValueId> loss_output(Terms& c) {
    const auto output =
        std::find_if(model_.outputs().begin(), model_.outputs().end(),
                     [&](const GraphOutput& candidate) { return candidate.name == options_.loss; });
    if (output == model_.outputs().end())
      return bad_input(fmt::format(
          "there is no output '{}'; a loss is an output of one element, cross-entropy, or mse",
          options_.loss));
    const ValueId value = values_[output->value.v];
    const TensorType& type = step_.graph.type(value);
    if (!type.is_known() || !is_real(type.data_type) || !element_count(*type.shape).is(1))
      return bad_input(fmt::format("the output '{}' has the type {}, not one real element",
                                   options_.loss, text(type)));
    return type.rank() == 0 ? value : c.result(c("Reshape", {value}, {{"shape", Shape{}}}));
  }

  bool finds_scale() const { return options_.half && !options_.loss_scale; }

  /// What the loss is multiplied by, in its type; none() for 1.
  Result<ValueId> loss_scale(Terms& c, DataType type) {
    if (finds_scale()) {
      LEMMA_ASSIGN_OR_RETURN(scale_, step_.graph.add_input("loss_scale", {DataType::f32, Shape{}}));
      return type == DataType::f32 ? scale_ : c.result(c("Cast", {scale_}, {{"to", type}}));
    }
    if (options_.loss_scale.value_or(1) == 1) return ValueId::none();
    return c.result(c.number(*options_.loss_scale, type));
  }

  Result<std::vector<ValueId>> gradients_of(ValueId loss) {
    Terms c(step_.graph);
    const DataType type = step_.graph.type(loss).data_type;
    LEMMA_ASSIGN_OR_RETURN(const ValueId scale, loss_scale(c, type));
    const ValueId seed = scale.is_none() ? c.number(1, type) : scale;
    LEMMA_RETURN_IF_ERROR(c.result(seed));
    std::vector<ValueId> leaves;
    for (const Parameter& parameter : parameters_) leaves.push_back(parameter.value);
    const std::vector<differentiate::ValueGradient> seeds = {{loss, seed}};
    LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> gradients,
                           differentiate::backward(step_.graph, seeds, leaves));
    if (scale.is_none()) return gradients;
    for (ValueId& gradient : gradients) {
      if (gradient.is_none()) continue;
      const DataType own = step_.graph.type(gradient).data_type;
      const ValueId divisor = own == type ? scale : c("Cast", {scale}, {{"to", own}});
      LEMMA_ASSIGN_OR_RETURN(gradient, c.result(c("Div", {gradient, divisor})));
    }
    return gradients;
  }

  Result<void> add_updates(const std::vector<ValueId>& gradients) {
    Update update(step_.graph, options_);
    if (options_.half) LEMMA_RETURN_IF_ERROR(update.only_if_finite(gradients, scale_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto& [name, value] = parameters_[i];
      if (gradients[i].is_none()) {
        step_.without_gradient.push_back(name);
        continue;
      }
      step_.parameters.push_back(name);
      LEMMA_RETURN_IF_ERROR(update.add(name, value, gradients[i]));
    }
    if (step_.parameters.empty())
      return bad_input("the loss depends on nothing that is to be trained");
    return update.finish();
  }

  const Graph& model_;
  const TrainingOptions& options_;
  std::vector<ValueId> values_;  // of the step, by value of the model
  std::vector<Parameter> parameters_;
  ValueId scale_ = ValueId::none();  // the input, where there is one
  TrainingStep step_;
};

}  // namespace

Result<TrainingStep> training_step(const Graph& wide, const TrainingOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const Graph model, with_narrow_joins(wide));
  if (!options.half) return StepBuilder(model, options).run();
  const auto is_weight = [&options](const std::string& name, const TensorType& type) {
    return is_trained(options, name, type, true);
  };
  LEMMA_ASSIGN_OR_RETURN(const Graph half, in_half_precision(model, *options.half, is_weight));
  return StepBuilder(half, options).run();
}

bool is_trained(const TrainingOptions& options, std::string_view name, const TensorType& type,
                bool is_weight) {
  if (name.empty() || !type.is_known() || !is_real(type.data_type)) return false;
  if (options.parameters.empty()) return is_weight && type.rank() > 0;
  return is_like(name, options.parameters);
}

bool is_like(std::string_view name, std::string_view pattern) {
  // Where the last star is, and how much of the name it stands for so far.
  std::size_t n = 0, p = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace lemma::training
