#pragma once
// Where costs come from. A provider knows the costs of some keys; a chain asks one after the other.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/cost_key.h"

namespace lemma {

/// How a cost is known, the best first.
enum class Provenance : std::uint8_t {
  measured,            // on this target
  interpolated,        // between measured sizes
  measured_elsewhere,  // on another machine of this kind
  analytic,            // from a description of the device
};
std::string_view name(Provenance provenance);  // for reports, such as "measured elsewhere"

/// The time of one operator, or of a graph.
struct Cost {
  double seconds = 0;  // of one run; finite and at least 0
  double spread = 0;   // of repeated measurements, in seconds; an estimate of the error otherwise
  Provenance provenance = Provenance::analytic;  // of a sum: the worst of its parts
};

/// A provider of costs. It may be asked from several threads.
class CostProvider {
 public:
  CostProvider() = default;
  CostProvider(const CostProvider&) = delete;
  CostProvider& operator=(const CostProvider&) = delete;
  virtual ~CostProvider() = default;

  /// Nothing: the key is not known here. The same key always gets the same answer while a search runs.
  virtual std::optional<Cost> find(const CostKey& key) const = 0;
  /// Whether it knows operators at any sizes. What does not says nothing about rules in general.
  virtual bool covers_all_sizes() const { return true; }
};

/// Answers of providers that are no costs: seconds that are not finite, or below 0.
class CostObjections {
 public:
  void add(const CostKey& key, const Cost& cost);  // `cost` is what was answered for `key`
  /// One line about the first of them, in the order of the texts of their keys; empty if there is none.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::string key_, text_;
};

/// Asks its providers in order and takes the first answer. Keys that the first one does not know are
/// collected, so that they can be measured. An answer that is no cost counts as none, and goes to `objections`.
class ProviderChain : public CostProvider {
 public:
  /// Asked in this order. `objections` may be shared with other chains; null: answers are not examined.
  explicit ProviderChain(std::vector<std::shared_ptr<const CostProvider>> providers,
                         std::shared_ptr<CostObjections> objections = nullptr)
      : providers_(std::move(providers)), objections_(std::move(objections)) {}

  std::optional<Cost> find(const CostKey& key) const override;

  struct Miss {          // a key that the first provider does not know
    CostKey key;         // as it was asked for
    double seconds = 0;  // as another provider says; 0 if none knows
  };
  /// Each key once; the most expensive first, equal ones by their text.
  std::vector<Miss> misses() const;

 private:
  std::vector<std::shared_ptr<const CostProvider>> providers_;
  std::shared_ptr<CostObjections> objections_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Miss> misses_;  // by text of the key
};

}  // namespace lemma
