#pragma once
// A task graph of ranks while it is made: what each computes and sends, and what is in its memory.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/on_ranks/communicator.h"
#include "plans/simulator/task_graph.h"

namespace lemma::plans {

class RankTasks {
 public:
  /// Each rank has a device, a port out and a port in, and a memory. Unless computing overlaps with what is sent, an exchange has
  /// the devices of its group as well; of a message the sender writes what the receiver then reads, each half of the time.
  RankTasks(std::size_t ranks, bool overlaps);

  /// What a rank has from the beginning on.
  void add_source(std::size_t rank, ValueId value, double bytes);
  /// The error: the time is none (simulator::picoseconds).
  Result<void> add_computing(std::size_t rank, const std::string& name, double seconds,
                             const std::vector<ValueId>& reads);
  /// The value is on another rank when the message has arrived. The ports are in use as long as the bytes take, and the latency
  /// comes behind that.
  Result<void> add_message(std::size_t from, std::size_t to, ValueId value, const std::string& name,
                           double wire_seconds, double latency_seconds);
  /// All ranks of the group have come to it when it begins. It has the ports of all of them. Where nothing is sent (`is_sent`), each
  /// rank takes the time on its device, and none waits for another. By place in the group, what a rank gives.
  Result<void> add_exchange(const Group& group, const std::string& name, double seconds,
                            const std::vector<ValueId>& operands, bool is_sent);
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

  std::size_t ranks_;
  bool overlaps_;
  simulator::TaskGraph graph_;
  std::vector<simulator::TaskNumber> last_;  // by rank
  std::map<Place, simulator::TaskNumber> makers_;
  std::map<Place, std::size_t> buffers_;
  std::set<Place> kept_, sources_;
};

}  // namespace lemma::plans
