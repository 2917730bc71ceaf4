#include "training/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/half_precision.h"
#include "ir/constant.h"
#include "ir/rebuild.h"
#include "training/terms.h"

namespace lemma::training {

namespace {

/// The greatest numbers of the types, and what makes bits of a number.
struct HalfType {
  double greatest;
  std::uint16_t (*bits_of)(float);
};

HalfType half_type(DataType type) {
  if (type == DataType::bf16) return {0x1.fep127, half_precision::f32_to_bf16};
  return {65504, half_precision::f32_to_f16};
}

Result<Constant> narrowed(const Constant& constant, DataType type) {
  const HalfType half = half_type(type);
  auto bits = std::make_shared<std::vector<std::uint16_t>>();
  for (const double value : constant.reals()) {
    const bool is_finite = std::isfinite(value);
    const double kept = is_finite ? std::clamp(value, -half.greatest, half.greatest) : value;
    bits->push_back(half.bits_of(static_cast<float>(kept)));
  }
  const auto bytes = std::as_bytes(std::span(*bits));
  return Constant::create({type, constant.type().shape}, bits, bytes);
}

class HalfModel {
 public:
  HalfModel(const Graph& model, DataType half, const IsTrained& is_trained)
      : model_(model),
        half_(half),
        is_trained_(is_trained),
        c_(target_),
        values_(model.value_count(), ValueId::none()) {}

  Result<Graph> run() {
    target_.set_name(model_.name());
    for (const NodeId id : model_.live_nodes()) LEMMA_RETURN_IF_ERROR(add(model_.node(id)));
    for (const GraphOutput& output : model_.outputs()) {
      ValueId value = values_[output.value.v];
      if (model_.type(output.value).data_type == DataType::f32)
        value = c_("Cast", {value}, {{"to", DataType::f32}});
      LEMMA_ASSIGN_OR_RETURN(value, c_.result(value));
      LEMMA_RETURN_IF_ERROR(target_.add_output(output.name, value));
    }
    return std::move(target_);
  }

 private:
  Result<void> add(const Node& node) {
    if (node.kind == NodeKind::operation) return add_operation(node);
    const bool is_wide =
        node.kind != NodeKind::opaque && model_.type(node.output()).data_type == DataType::f32;
    if (is_wide && node.kind == NodeKind::constant &&
        !is_trained_(model_.suggested_name(node.output()), model_.type(node.output()))) {
      LEMMA_ASSIGN_OR_RETURN(Constant constant, narrowed(model_.constant(node), half_));
      values_[node.output().v] = target_.add_constant(std::move(constant));
      return {};
    }
    LEMMA_RETURN_IF_ERROR(copy_node(model_, node, target_, values_));
    if (!is_wide) return {};
    ValueId& value = values_[node.output().v];
    LEMMA_ASSIGN_OR_RETURN(value, c_.result(c_("Cast", {value}, {{"to", half_}})));
    return {};
  }

  /// A type that an attribute names is that of what is computed.
  Result<void> add_operation(const Node& node) {
    Attributes attributes;
    for (const auto& [name, value] : node.attributes) {
      const auto* type = std::get_if<DataType>(&value);
      attributes.set(name,
                     type != nullptr && *type == DataType::f32 ? AttributeValue(half_) : value);
    }
    auto outputs = add_copy(target_, node, std::move(attributes), operands_in(node, values_));
    if (!outputs) return with_context(target_.op(node).name, std::move(outputs.error()));
    for (std::uint32_t k = 0; k < node.output_count; ++k) values_[node.output(k).v] = (*outputs)[k];
    return {};
  }

  const Graph& model_;
  DataType half_;
  const IsTrained& is_trained_;
  Graph target_;
  Terms c_;
  std::vector<ValueId> values_;  // of the target, by value of the model
};

}  // namespace

Result<Graph> in_half_precision(const Graph& model, DataType half, const IsTrained& is_trained) {
  return HalfModel(model, half, is_trained).run();
}

}  // namespace lemma::training
