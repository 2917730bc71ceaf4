// Recorded operations of ranks.

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "plans/timetables/rank_tasks.h"
#include "plans/timetables/task_graphs.h"

namespace lemma::plans {

namespace {

using traces::Operation;
using traces::OperationKind;

/// An operation by its rank and its place there.
struct Place {
  std::size_t rank = 0, index = 0;
};

class TraceTasks {
 public:
  TraceTasks(const traces::Traces& traces, const Paths& paths)
      : traces_(traces),
        paths_(paths),
        tasks_(traces.ranks.size(), paths.overlaps()),
        state_(traces.ranks.size()) {}

  Result<simulator::TaskGraph> operator()() && {
    for (std::size_t rank = 0; rank < traces_.ranks.size(); ++rank) {
      State& state = state_[rank];
      const std::vector<Operation>& operations = traces_.ranks[rank];
      state.open.resize(operations.size());
      state.readers.resize(operations.size());
      for (std::size_t i = 0; i < operations.size(); ++i) state.index[operations[i].number] = i;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        state.open[i] = operations[i].waits_for.size();
        for (const std::uint64_t number : operations[i].waits_for)
          state.readers[state.index.at(number)].push_back(i);
        LEMMA_RETURN_IF_ERROR(number_communication({rank, i}));
      }
    }
    LEMMA_RETURN_IF_ERROR(check_communications());
    for (std::size_t rank = 0; rank < traces_.ranks.size(); ++rank)
      for (std::size_t i = 0; i < traces_.ranks[rank].size(); ++i)
        if (state_[rank].open[i] == 0) make_ready({rank, i});
    while (!ready_.empty()) {
      const auto [number, rank, index] = *ready_.begin();
      ready_.erase(ready_.begin());
      LEMMA_RETURN_IF_ERROR(begin({rank, index}));
    }
    std::size_t all = 0;
    for (const auto& operations : traces_.ranks) all += operations.size();
    if (ended_ < all) return wait_without_end();
    return std::move(tasks_).task_graph();
  }

 private:
  struct State {
    std::map<std::uint64_t, std::size_t> index;  // by number
    std::vector<std::size_t> open;               // how many operations each one still waits for
    std::vector<std::vector<std::size_t>> readers;
  };
  /// The two ends of a message, or all ends of a collective, and which of them are ready.
  struct Communication {
    std::vector<Place> ends;
    std::size_t ready = 0;
  };
  // What ranks agree on: the n-th message of two ranks with a tag, or the n-th collective of a group.
  using Key = std::tuple<std::string, std::size_t, std::size_t, std::uint64_t, std::size_t>;

  void make_ready(Place place) { ready_.emplace(at(place).number, place.rank, place.index); }

  const Operation& at(Place place) const { return traces_.ranks[place.rank][place.index]; }

  std::string text(Place place) const {
    return fmt::format("rank {}: node {} '{}'", place.rank, at(place).number, at(place).name);
  }

  Result<Group> group_of(Place place) const {
    const Operation& operation = at(place);
    Group group;
    if (operation.group.empty()) {
      for (std::size_t rank = 0; rank < traces_.ranks.size(); ++rank) group.push_back(rank);
      return group;
    }
    const auto known = traces_.groups.find(operation.group);
    if (known == traces_.groups.end())
      return bad_input(
          fmt::format("{}: there is no group '{}' (--groups)", text(place), operation.group));
    if (std::find(known->second.begin(), known->second.end(), place.rank) == known->second.end())
      return bad_input(
          fmt::format("{}: the rank is not of group '{}'", text(place), operation.group));
    return known->second;
  }

  Result<void> number_communication(Place place) {
    const Operation& operation = at(place);
    Key key;
    if (operation.kind == OperationKind::collective) {
      LEMMA_RETURN_IF_ERROR(group_of(place));
      key = {"group " + operation.group, 0, 0, 0, 0};
    } else if (operation.kind == OperationKind::send || operation.kind == OperationKind::receive) {
      if (operation.peer >= traces_.ranks.size() || operation.peer == place.rank)
        return bad_input(fmt::format("{}: there is no other rank {}", text(place), operation.peer));
      const bool sends = operation.kind == OperationKind::send;
      key = {"", sends ? place.rank : operation.peer, sends ? operation.peer : place.rank,
             operation.tag, 0};
    } else {
      return {};
    }
    std::get<4>(key) = counts_[{key, place.rank}]++;
    communications_[key].ends.push_back(place);
    keys_[{place.rank, place.index}] = key;
    return {};
  }

  Result<void> check_communications() const {
    for (const auto& [key, communication] : communications_) {
      const Place first = communication.ends.front();
      const Operation& operation = at(first);
      if (operation.kind == OperationKind::collective) {
        LEMMA_ASSIGN_OR_RETURN(const Group group, group_of(first));
        if (communication.ends.size() != group.size())
          return bad_input(fmt::format("{}: {} of the {} ranks of its group have this collective",
                                       text(first), communication.ends.size(), group.size()));
        for (const Place end : communication.ends)
          if (at(end).collective != operation.collective || at(end).bytes != operation.bytes)
            return bad_input(
                fmt::format("{} is another collective than {}", text(end), text(first)));
      } else if (communication.ends.size() != 2) {
        return bad_input(fmt::format("{}: rank {} has not the other end of this message",
                                     text(first), operation.peer));
      } else if (at(communication.ends[1]).bytes != operation.bytes) {
        return bad_input(
            fmt::format("{} and {} have other sizes", text(first), text(communication.ends[1])));
      }
    }
    return {};
  }

  /// What an operation gives: a value with the number of its place.
  static ValueId value_of(std::size_t index) { return {static_cast<std::uint32_t>(index)}; }
  std::vector<ValueId> reads_of(Place place) const {
    std::vector<ValueId> result;
    for (const std::uint64_t number : at(place).waits_for)
      result.push_back(value_of(state_[place.rank].index.at(number)));
    return result;
  }

  /// An operation whose predecessors have their tasks.
  Result<void> begin(Place place) {
    const Operation& operation = at(place);
    switch (operation.kind) {
      case OperationKind::wait:
        LEMMA_RETURN_IF_ERROR(tasks_.add_waiting(place.rank, operation.name, reads_of(place)));
        break;
      case OperationKind::compute:
        LEMMA_RETURN_IF_ERROR(tasks_.add_computing(
            place.rank, operation.name, static_cast<double>(operation.picoseconds) * 1e-12,
            reads_of(place)));
        break;
      case OperationKind::send:
      case OperationKind::receive:
      case OperationKind::collective: return begin_communication(place);
    }
    end(place);
    return {};
  }

  Result<void> begin_communication(Place place) {
    // That its end is reached is a task, for which the communication waits.
    const Operation& operation = at(place);
    LEMMA_RETURN_IF_ERROR(
        tasks_.add_waiting(place.rank, operation.name + ", reached", reads_of(place)));
    tasks_.gives(place.rank, value_of(place.index), 0);
    Communication& communication = communications_.at(keys_.at({place.rank, place.index}));
    if (operation.kind == OperationKind::collective) {
      if (++communication.ready < communication.ends.size()) return {};
      return exchange(communication);
    }
    if (operation.kind == OperationKind::receive) {
      if (++communication.ready == 2) return receive(communication);
      return {};
    }
    LEMMA_RETURN_IF_ERROR(send(communication, place));
    end(place);
    if (++communication.ready == 2) return receive(communication);
    return {};
  }

  /// The message leaves when its sender has reached it, whether the receiver has or not.
  Result<void> send(const Communication& communication, Place place) {
    const Operation& operation = at(place);
    const auto bytes = static_cast<double>(operation.bytes);
    const auto arrived = static_cast<std::uint32_t>(traces_.ranks[operation.peer].size() +
                                                    receiving_end(communication).index);
    LEMMA_RETURN_IF_ERROR(
        tasks_.add_message(place.rank, operation.peer, value_of(place.index), operation.name,
                           {bytes, bytes * paths_.seconds_per_byte(place.rank, operation.peer),
                            paths_.latency(place.rank, operation.peer)}));
    tasks_.gives(operation.peer, {arrived}, bytes);
    return {};
  }

  Place receiving_end(const Communication& communication) const {
    const Place first = communication.ends[0];
    return at(first).kind == OperationKind::receive ? first : communication.ends[1];
  }

  Result<void> receive(const Communication& communication) {
    const Place place = receiving_end(communication);
    const auto arrived = static_cast<std::uint32_t>(traces_.ranks[place.rank].size() + place.index);
    LEMMA_RETURN_IF_ERROR(
        tasks_.add_waiting(place.rank, at(place).name, {value_of(place.index), {arrived}}));
    end(place);
    return {};
  }

  Result<void> exchange(const Communication& communication) {
    const Operation& operation = at(communication.ends.front());
    Group group;
    std::vector<ValueId> operands;
    for (const Place end : communication.ends) {  // by rank, as they were numbered
      group.push_back(end.rank);
      operands.push_back(value_of(end.index));
    }
    LEMMA_ASSIGN_OR_RETURN(const clusters::BestAlgorithm best,
                           best_exchange(operation.collective, static_cast<double>(operation.bytes),
                                         group.size(), wire_between(group, paths_)));
    LEMMA_RETURN_IF_ERROR(tasks_.add_exchange(group, operation.name, best.seconds, operands,
                                              static_cast<double>(operation.bytes)));
    for (const Place place : communication.ends) end(place);
    return {};
  }

  /// Those that wait for an operation may begin.
  void end(Place place) {
    ++ended_;
    tasks_.gives(place.rank, value_of(place.index), 0);
    State& state = state_[place.rank];
    for (const std::size_t reader : state.readers[place.index])
      if (--state.open[reader] == 0) make_ready({place.rank, reader});
  }

  Result<simulator::TaskGraph> wait_without_end() const {
    for (std::size_t rank = 0; rank < traces_.ranks.size(); ++rank)
      for (std::size_t i = 0; i < traces_.ranks[rank].size(); ++i)
        if (state_[rank].open[i] > 0)
          return bad_input(
              fmt::format("{} waits for operations that wait for it", text({rank, i})));
    return bad_input("ranks wait for each other");
  }

  const traces::Traces& traces_;
  const Paths& paths_;
  RankTasks tasks_;
  std::vector<State> state_;  // by rank
  std::map<Key, Communication> communications_;
  std::map<std::pair<Key, std::size_t>, std::size_t> counts_;
  std::map<std::pair<std::size_t, std::size_t>, Key> keys_;              // by rank and index
  std::set<std::tuple<std::uint64_t, std::size_t, std::size_t>> ready_;  // number, rank, index
  std::size_t ended_ = 0;
};

}  // namespace

Result<simulator::TaskGraph> task_graph(const traces::Traces& traces, const Paths& paths) {
  return TraceTasks(traces, paths)();
}

}  // namespace lemma::plans
