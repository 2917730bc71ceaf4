#pragma once
// The costs of operators on one target, as the search and the reports ask for them.

#include <memory>
#include <span>
#include <vector>

#include "costmodel/assumed_sizes.h"
#include "costmodel/cost_provider.h"
#include "costmodel/priced_device.h"

namespace lemma {

/// A chain of providers that ends with the target's device, which prices every operator. A copy shares the providers.
class OperatorCosts {
 public:
  /// The costs of the providers. What none of them knows is priced from the target's device
  /// description, so that every operator has a cost.
  explicit OperatorCosts(PricedDevice target,
                         std::vector<std::shared_ptr<const CostProvider>> providers = {},
                         AssumedSizes sizes = {})
      : OperatorCosts(std::move(target), std::move(providers), std::move(sizes),
                      std::make_shared<CostObjections>()) {}
  /// The same providers, asked about other sizes; misses are collected apart. Those that do not cover all sizes
  /// are left out.
  OperatorCosts with_sizes(AssumedSizes sizes) const;
  /// The same providers, all of them, at other sizes.
  OperatorCosts at_sizes(AssumedSizes sizes) const;
  /// The same target and sizes, with other providers that are asked first.
  OperatorCosts behind(std::vector<std::shared_ptr<const CostProvider>> providers) const;

  const PricedDevice& priced_device() const { return target_; }  // what prices the rest
  /// The key of an application; symbolic sizes are replaced by the assumed ones. `constant`: by input,
  /// whether it is known when the model is built; missing entries are not.
  CostKey key(const OperatorRecord& record, const Instance& instance,
              std::span<const TensorType> outputs, std::vector<bool> constant = {}) const;
  /// Finite and not negative.
  Cost find(const CostKey& key) const;
  /// What a provider has answered so far, here or in what was made of this, that is no cost; empty: nothing.
  std::string objection() const { return objections_->text(); }
  /// The cost of an operator without a record: the same before and after.
  double opaque_seconds() const { return target_.device.launch_overhead; }
  /// Keys that the first provider did not know.
  std::vector<ProviderChain::Miss> misses() const { return chain_->misses(); }

 private:
  OperatorCosts(PricedDevice target, std::vector<std::shared_ptr<const CostProvider>> providers,
                AssumedSizes sizes, std::shared_ptr<CostObjections> objections);

  PricedDevice target_;
  std::vector<std::shared_ptr<const CostProvider>> providers_;  // but for the last one
  std::shared_ptr<CostObjections> objections_;
  std::shared_ptr<const ProviderChain> chain_;
  AssumedSizes sizes_;
};

}  // namespace lemma
