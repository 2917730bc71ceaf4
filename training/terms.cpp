#include "training/terms.h"

#include "ir/constant.h"

namespace lemma::training {

ValueId Terms::operator()(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
  if (error_) return ValueId::none();
  auto added = graph_.add(op, std::move(inputs), std::move(attributes));
  if (added) return *added;
  error_ = Error{added.error().kind, std::string(op) + ": " + added.error().message};
  return ValueId::none();
}

ValueId Terms::number(double value, DataType type) {
  const std::vector<double> elements = {value};
  const ValueId exact = graph_.add_constant(Constant::of(DataType::f64, {}, elements));
  if (type == DataType::f64) return exact;
  if (type == DataType::f32)
    return graph_.add_constant(
        Constant::of(type, {}, std::vector<float>{static_cast<float>(value)}));
  return (*this)("Cast", {exact}, {{"to", type}});
}

ValueId Terms::times(double factor, ValueId value) {
  if (error_) return ValueId::none();
  return (*this)("Mul", {number(factor, graph_.type(value).data_type), value});
}

Result<ValueId> Terms::result(ValueId value) const {
  if (error_) return tl::unexpected<Error>(*error_);
  return value;
}

}  // namespace lemma::training
