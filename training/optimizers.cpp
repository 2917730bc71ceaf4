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

ValueId Update::as(ValueId scalar, ValueId like) {
  const DataType type = graph_.type(like).data_type;
  return type == DataType::f32 ? scalar : c_("Cast", {scalar}, {{"to", type}});
}

Result<void> Update::add(const std::string& name, ValueId parameter, ValueId gradient) {
  if (options_.optimizer == Optimizer::none) return output(name + ".gradient", gradient);
  LEMMA_RETURN_IF_ERROR(scalar_input(rate_, "learning_rate"));
  const ValueId rate = as(rate_, parameter);
  ValueId next;
  if (options_.optimizer == Optimizer::sgd) {
    next = c_("Sub", {parameter, c_("Mul", {rate, gradient})});
  } else if (options_.optimizer == Optimizer::momentum) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId move, moved_by_momentum(name, parameter, gradient));
    next = c_("Sub", {parameter, c_("Mul", {rate, move})});
  } else {
    LEMMA_ASSIGN_OR_RETURN(const ValueId move, moved_by_moments(name, parameter, gradient));
    ValueId kept = parameter;
    if (options_.optimizer == Optimizer::adamw)
      kept = c_("Sub", {parameter, c_("Mul", {c_.times(options_.weight_decay, rate), parameter})});
    next = c_("Sub", {kept, c_("Mul", {rate, move})});
  }
  return output(name + ".next", next);
}

Result<ValueId> Update::moved_by_momentum(const std::string& name, ValueId parameter,
                                          ValueId gradient) {
  LEMMA_ASSIGN_OR_RETURN(const ValueId before, state(name + ".momentum", parameter));
  const ValueId now = c_("Add", {c_.times(options_.momentum, before), gradient});
  LEMMA_RETURN_IF_ERROR(output(name + ".momentum.next", now));
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
  LEMMA_RETURN_IF_ERROR(output(name + ".mean.next", mean_now));
  LEMMA_RETURN_IF_ERROR(output(name + ".square.next", square_now));
  const ValueId unbiased = c_("Div", {mean_now, as(correction(first), parameter)});
  const ValueId spread = c_("Sqrt", {c_("Div", {square_now, as(correction(second), parameter)})});
  const DataType type = graph_.type(parameter).data_type;
  return c_.result(c_("Div", {unbiased, c_("Add", {spread, c_.number(options_.epsilon, type)})}));
}

Result<void> Update::finish() {
  if (!next_steps_.is_none()) return output("steps.next", next_steps_);
  return {};
}

}  // namespace lemma::training
