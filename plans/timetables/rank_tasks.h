#pragma once
// A task graph of ranks while it is made: what each computes and sends, and what is in its memory.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/on_ranks/communicator.h"
#include "plans/simulator/task_graph.h"
#include "plans/traces/rank_trace.h"

namespace lemma::plans {

class RankTasks {
 public:
  /// Each rank has a device, a port out and a port in, and a memory. Unless computing overlaps with what is sent, an exchange has
  /// the devices of its group as well; of a message the sender writes what the receiver then reads, each half of the time. What
  /// ranks do is written into `recorded`, if that is given.
  RankTasks(std::size_t ranks, bool overlaps, traces::Traces* recorded = nullptr);

  /// What a rank has from the beginning on.
  void add_source(std::size_t rank, ValueId value, double bytes);
  /// The error: the time is none (simulator::picoseconds).
  Result<void> add_computing(std::size_t rank, const std::string& name, double seconds,
                             const std::vector<ValueId>& reads);
  /// Takes no time and no device.
  Result<void> add_waiting(std::size_t rank, const std::string& name,
                           const std::vector<ValueId>& reads);
  /// What goes over a wire.
  struct Message {
    double bytes = 0, wire_seconds = 0, latency_seconds = 0;
  };
  /// The value is on another rank when the message has arrived. The ports are in use as long as the bytes take, and the latency
  /// comes behind that.
  Result<void> add_message(std::size_t from, std::size_t to, ValueId value, const std::string& name,
                           const Message& message);
  /// All ranks of the group have come to it when it begins. It has the ports of all of them. `bytes` are those of the whole tensor
  /// (plans/clusters/collectives.h); where nothing is sent, each rank takes the time on its device, and none waits for another. By
  /// place in the group, what a rank gives.
  Result<void> add_exchange(const Group& group, const std::string& name, double seconds,
                            const std::vector<ValueId>& operands, std::optional<double> bytes);
  /// What the last task of the rank gives.
  void gives(std::size_t rank, ValueId value, double bytes);

  /// What is given to the outside is kept until the end.
  void keep(std::size_t rank, ValueId value) { kept_.emplace(rank, value); }

  simulator::TaskGraph task_graph() &&;

 private:
  using Place = std::pair<std::size_t, ValueId>;  // rank, value

  simulator::Resource device(std::size_t rank) const {
    return static_cast<simulator::Resource>(rank);
  }
  simulator::Resource port_out(std::size_t rank) const {
    return static_cast<simulator::Resource>(ranks_ + rank);
  }
  simulator::Resource port_in(std::size_t rank) const {
    return static_cast<simulator::Resource>(2 * ranks_ + rank);
  }
  Result<simulator::TaskNumber> add(std::string name, std::vector<simulator::Resource> resources,
                                    double seconds, const std::vector<Place>& reads);

  /// The task of the sender; last_ of the receiver is that of the arrival.
  Result<simulator::TaskNumber> add_transfer(std::size_t from, std::size_t to, ValueId value,
                                             const std::string& name, const Message& message);
  /// Writes an operation of a rank down, with what it waits for there.
  traces::Operation* record(std::size_t rank, simulator::TaskNumber number,
                            traces::OperationKind kind, const std::vector<ValueId>& reads);

  std::size_t ranks_;
  bool overlaps_;
  traces::Traces* recorded_;
  std::map<std::string, std::uint64_t> tags_;  // by channel
  simulator::TaskGraph graph_;
  std::vector<simulator::TaskNumber> last_;  // by rank
  std::map<Place, simulator::TaskNumber> makers_;
  std::map<Place, std::size_t> buffers_;
  std::set<Place> kept_, sources_;
};

}  // namespace lemma::plans
