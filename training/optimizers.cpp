#include "training/optimizers.h"

namespace lemma::training {

Result<ValueId> Update::scalar_input(ValueId& known, const char* name) {
  if (known.is_none()) {
    LEMMA_ASSIGN_OR_RETURN(known, graph_.add_input(name, {DataType::f32, Shape{}}));
  }
  return known;
}

Result<ValueId> Update::state(const std::string& name, ValueId parameter) {
  return graph_.add_input(name, graph_.type(parameter));
}

Result<void> Update::output(const std::string& name, ValueId value) {
  LEMMA_ASSIGN_OR_RETURN(const ValueId result, c_.result(value));
  return graph_.add_output(name, result);
}

Result<void> Update::next(const std::string& name, ValueId before, ValueId value) {
  return output(name + ".next", finite_.is_none() ? value : c_("Where", {finite_, value, before}));
}

Result<void> Update::only_if_finite(const std::vector<ValueId>& gradients, ValueId scale) {
  // A sum over elements that are not finite would do, but for what simplifies x * 0.
  ValueId bad = c_.number(0, DataType::f32);
  for (const ValueId gradient : gradients) {
    if (gradient.is_none()) continue;
    const ValueId is_bad = c_("Or", {c_("IsInf", {gradient}), c_("IsNaN", {gradient})});
    const ValueId counted = c_("Cast", {is_bad}, {{"to", DataType::f32}});
    bad = c_("Add", {bad, c_("ReduceSum", {counted}, {{"keepdims", 0}})});
  }
  LEMMA_ASSIGN_OR_RETURN(finite_, c_.result(c_("Equal", {bad, c_.number(0, DataType::f32)})));
  LEMMA_RETURN_IF_ERROR(graph_.add_output("finite", finite_));
  return scale.is_none() ? Result<void>() : find_scale(scale);
}

/// As torch.amp.GradScaler: a half after a step that is left out, twice as much after 2000 that are not.
Result<void> Update::find_scale(ValueId scale) {
  constexpr double steps_to_grow = 2000;
  LEMMA_ASSIGN_OR_RETURN(const ValueId good,
                         graph_.add_input("good_steps", {DataType::f32, Shape{}}));
  const ValueId counted = c_("Add", {good, c_.number(1, DataType::f32)});
  const ValueId grows = c_("Equal", {counted, c_.number(steps_to_grow, DataType::f32)});
  const ValueId kept = c_("Where", {grows, c_.times(2, scale), scale});
  LEMMA_RETURN_IF_ERROR(
      output("loss_scale.next", c_("Where", {finite_, kept, c_.times(0.5, scale)})));
  const ValueId none = c_.number(0, DataType::f32);
  return output("good_steps.next",
                c_("Where", {finite_, c_("Where", {grows, none, counted}), none}));
}

ValueId Update::as(ValueId scalar, ValueId like) {
  const DataType type = graph_.type(like).data_type;
  return type == DataType::f32 ? scalar : c_("Cast", {scalar}, {{"to", type}});
}

Result<void> Update::add(const std::string& name, ValueId parameter, ValueId gradient) {
  if (options_.optimizer == Optimizer::none) return output(name + ".gradient", gradient);
  LEMMA_RETURN_IF_ERROR(scalar_input(rate_, "learning_rate"));
  const ValueId rate = as(rate_, parameter);
  ValueId after;
  if (options_.optimizer == Optimizer::sgd) {
    after = c_("Sub", {parameter, c_("Mul", {rate, gradient})});
  } else if (options_.optimizer == Optimizer::momentum) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId move, moved_by_momentum(name, parameter, gradient));
    after = c_("Sub", {parameter, c_("Mul", {rate, move})});
  } else {
    LEMMA_ASSIGN_OR_RETURN(const ValueId move, moved_by_moments(name, parameter, gradient));
    ValueId kept = parameter;
    if (options_.optimizer == Optimizer::adamw)
      kept = c_("Sub", {parameter, c_("Mul", {c_.times(options_.weight_decay, rate), parameter})});
    after = c_("Sub", {kept, c_("Mul", {rate, move})});
  }
  return next(name, parameter, after);
}

Result<ValueId> Update::moved_by_momentum(const std::string& name, ValueId parameter,
                                          ValueId gradient) {
  LEMMA_ASSIGN_OR_RETURN(const ValueId before, state(name + ".momentum", parameter));
  const ValueId now = c_("Add", {c_.times(options_.momentum, before), gradient});
  LEMMA_RETURN_IF_ERROR(next(name + ".momentum", before, now));
  return now;
}

ValueId Update::correction(double decay) {
  const ValueId power = c_("Pow", {c_.number(decay, DataType::f32), next_steps_});
  return c_("Sub", {c_.number(1, DataType::f32), power});
}

Result<ValueId> Update::moved_by_moments(const std::string& name, ValueId parameter,
                                         ValueId gradient) {
  if (steps_.is_none()) {
    LEMMA_RETURN_IF_ERROR(scalar_input(steps_, "steps"));
    next_steps_ = c_("Add", {steps_, c_.number(1, DataType::f32)});
  }
  LEMMA_ASSIGN_OR_RETURN(const ValueId mean, state(name + ".mean", parameter));
  LEMMA_ASSIGN_OR_RETURN(const ValueId square, state(name + ".square", parameter));
  const double first = options_.first_decay, second = options_.second_decay;
  const ValueId mean_now = c_("Add", {c_.times(first, mean), c_.times(1 - first, gradient)});
  const ValueId square_now =
      c_("Add", {c_.times(second, square), c_.times(1 - second, c_("Mul", {gradient, gradient}))});
  LEMMA_RETURN_IF_ERROR(next(name + ".mean", mean, mean_now));
  LEMMA_RETURN_IF_ERROR(next(name + ".square", square, square_now));
  const ValueId unbiased = c_("Div", {mean_now, as(correction(first), parameter)});
  const ValueId spread = c_("Sqrt", {c_("Div", {square_now, as(correction(second), parameter)})});
  const DataType type = graph_.type(parameter).data_type;
  return c_.result(c_("Div", {unbiased, c_("Add", {spread, c_.number(options_.epsilon, type)})}));
}

Result<void> Update::finish() {
  if (!next_steps_.is_none()) return next("steps", steps_, next_steps_);
  return {};
}

}  // namespace lemma::training
