#include "costmodel/operator_costs.h"

#include <algorithm>

#include "costmodel/roofline.h"

namespace lemma {

namespace {

bool is_constant(std::span<const TensorType> types) {
  return std::all_of(types.begin(), types.end(), [](const TensorType& type) {
    return !type.shape || lemma::is_constant(*type.shape);
  });
}

bool is_constant(const Attributes& attributes) {
  return std::all_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
    const AttributeValue& value = attribute.second;
    if (const auto* shape = std::get_if<Shape>(&value)) return lemma::is_constant(*shape);
    const auto* dimension = std::get_if<Dimension>(&value);
    return dimension == nullptr || dimension->is_constant();
  });
}

std::vector<TensorType> bound(std::span<const TensorType> types, const AssumedSizes& sizes) {
  std::vector<TensorType> result;
  for (const TensorType& type : types) result.push_back(sizes.bind(type));
  return result;
}

}  // namespace

OperatorCosts::OperatorCosts(PricedDevice target,
                             std::vector<std::shared_ptr<const CostProvider>> providers,
                             AssumedSizes sizes, std::shared_ptr<CostObjections> objections)
    : target_(std::move(target)),
      providers_(providers),
      objections_(std::move(objections)),
      sizes_(std::move(sizes)) {
  providers.push_back(std::make_shared<const Roofline>(target_.device));
  chain_ = std::make_shared<const ProviderChain>(std::move(providers), objections_);
}

OperatorCosts OperatorCosts::with_sizes(AssumedSizes sizes) const {
  auto providers = providers_;
  std::erase_if(providers, [](const auto& provider) { return !provider->covers_all_sizes(); });
  return OperatorCosts(target_, std::move(providers), std::move(sizes), objections_);
}

OperatorCosts OperatorCosts::at_sizes(AssumedSizes sizes) const {
  return OperatorCosts(target_, providers_, std::move(sizes), objections_);
}

OperatorCosts OperatorCosts::behind(
    std::vector<std::shared_ptr<const CostProvider>> providers) const {
  providers.insert(providers.end(), providers_.begin(), providers_.end());
  return OperatorCosts(target_, std::move(providers), sizes_, objections_);
}

CostKey OperatorCosts::key(const OperatorRecord& record, const Instance& instance,
                           std::span<const TensorType> outputs, std::vector<bool> constant) const {
  constant.resize(instance.inputs.size());
  CostKey key{&record,          instance.attributes, {}, {}, std::move(constant),
              target_.identity, target_.threads};
  if (is_constant(instance.inputs) && is_constant(outputs) && is_constant(instance.attributes)) {
    key.inputs.assign(instance.inputs.begin(), instance.inputs.end());
    key.outputs.assign(outputs.begin(), outputs.end());
    return key;
  }
  key.attributes = sizes_.bind(instance.attributes);
  key.inputs = bound(instance.inputs, sizes_);
  auto inferred = infer_types(record, {key.inputs, key.attributes, instance.output_count});
  key.sizes_fit = inferred.has_value() && is_constant(*inferred);
  key.outputs = key.sizes_fit ? std::move(*inferred) : bound(outputs, sizes_);
  return key;
}

Cost OperatorCosts::find(const CostKey& key) const { return *chain_->find(key); }

}  // namespace lemma
