#pragma once
// How long a program of ranks takes, and what it needs: predicted step by step, with the costs of operators on one device and the
// links of a cluster.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/operator_costs.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/clusters/collectives.h"

namespace lemma::plans {

/// What a message takes between two devices, along the path with the least latency.
class Paths {
 public:
  explicit Paths(const clusters::Cluster& cluster);

  double latency(std::size_t from, std::size_t to) const { return at(from, to).latency; }
  double seconds_per_byte(std::size_t from, std::size_t to) const {
    return at(from, to).seconds_per_byte;
  }
  double seconds(std::size_t from, std::size_t to, double bytes) const {
    if (from == to) return 0;
    if (measured_ != nullptr)
      if (const auto known = measured_->seconds(clusters::message_name, bytes, 2)) return *known;
    return latency(from, to) + bytes * seconds_per_byte(from, to);
  }
  bool overlaps() const { return overlaps_; }
  const clusters::MeasuredTimes* measured() const { return measured_.get(); }

 private:
  struct Path {
    double latency = 0, seconds_per_byte = 0;
  };
  const Path& at(std::size_t from, std::size_t to) const { return paths_[from * devices_ + to]; }

  std::size_t devices_;
  std::vector<Path> paths_;
  bool overlaps_;
  std::shared_ptr<const clusters::MeasuredTimes> measured_;
};

/// Seconds of single operators on one device; equal ones are priced once.
class NodePrices {
 public:
  explicit NodePrices(const OperatorCosts& costs) : costs_(costs) {}

  /// Of an operation with these attributes and types of operands (undefined for absent ones).
  double operator()(const Node& node, const Attributes& attributes,
                    const std::vector<TensorType>& operands);

 private:
  const OperatorCosts& costs_;
  std::map<std::string, double> known_;
};

/// Bytes of a tensor whose sizes are known; 0 of others.
double bytes_of_tensor(const TensorType& type);

/// What an exchange (AllReduce, ...) of so many ranks asks of a network, each with an operand of this type: a collective and the
/// bytes of its whole tensor. Nothing: OwnPart sends nothing. An operator that is no exchange is refused.
struct ExchangeDemand {
  clusters::Collective collective = clusters::Collective::all_reduce;
  double bytes = 0;
};
Result<std::optional<ExchangeDemand>> demand_of(std::string_view op, const TensorType& operand,
                                                std::size_t ranks);
/// What each of so many ranks takes to cut out its part of what all have, where that was measured; otherwise 0.
double own_part_seconds(const TensorType& operand, std::size_t ranks,
                        const clusters::MeasuredTimes* measured);
/// Seconds of an exchange of all ranks along an axis of a cluster's mesh.
Result<double> exchange_seconds(std::string_view op, const TensorType& operand,
                                const clusters::Axis& axis);
/// The best algorithm for an exchange (AllReduce, ...) of so many ranks, by the bytes of the whole tensor or by the type of each
/// rank's operand. OwnPart sends nothing and takes own_part_seconds. An operator that is no exchange is refused.
Result<clusters::BestAlgorithm> best_exchange(std::string_view op, double bytes, std::size_t ranks,
                                              const clusters::Wire& wire);
Result<clusters::BestAlgorithm> best_exchange(std::string_view op, const TensorType& operand,
                                              std::size_t ranks, const clusters::Wire& wire);

/// The slowest path between two of these devices.
clusters::Wire wire_between(const std::vector<std::size_t>& devices, const Paths& paths);

struct Simulation {
  double seconds = 0;
  std::vector<double> busy;        // seconds of computing, by rank
  std::vector<double> sent_bytes;  // by rank
  std::vector<double> peak_bytes;  // inputs, weights and values that are read later, by rank
};

/// A rank does one step after the other. A message leaves when the sender has it and its port is free, and the sender goes on;
/// the port of the receiver takes one message at a time. An exchange begins when all of the group are there.
Result<Simulation> simulate(const RankedProgram& program, const Paths& paths, NodePrices& prices);

}  // namespace lemma::plans
