// The checker against a replay with numbers, on schedules that were changed at random.

#include "plans/collectives/checker.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "plans/collectives/patterns.h"

namespace lemma::collectives {
namespace {

/// Replays a schedule with random numbers as operands, all different sums of which differ: whether all results are right, each
/// send brings something new, and links carry what they can.
class Numbers {
 public:
  Numbers(const Topology& topology, const Schedule& schedule)
      : topology_(topology), schedule_(schedule) {}

  bool are_right() {
    fill();
    return std::all_of(schedule_.steps.begin(), schedule_.steps.end(),
                       [&](const Step& step) { return is_run(step); }) &&
           is_done();
  }

 private:
  using Place = std::pair<Node, std::uint32_t>;

  bool is_sum() const {
    return schedule_.collective == Collective::all_reduce ||
           schedule_.collective == Collective::reduce_scatter;
  }
  bool is_owner(Node node, std::uint32_t chunk) const {
    return chunk / (schedule_.chunks / schedule_.nodes) == node;
  }

  void fill() {
    std::mt19937_64 draw(7);
    for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
      for (Node node = 0; node < schedule_.nodes; ++node) {
        const bool has =
            is_sum() || (schedule_.collective == Collective::broadcast ? node == schedule_.root
                                                                       : is_owner(node, chunk));
        if (!has) continue;
        own_[{node, chunk}] = draw();
        wanted_[chunk] += own_[{node, chunk}];
      }
    }
    now_ = own_;
  }

  bool is_run(const Step& step) {
    std::map<std::pair<Node, Node>, std::uint32_t> loads;
    const auto before = now_;
    for (const Send& send : step.sends) {
      if (send.to >= schedule_.nodes || send.chunk >= schedule_.chunks) return false;
      const auto link = topology_.link(send.from, send.to);
      if (!link || ++loads[{send.from, send.to}] > topology_.links[*link].capacity * step.rounds)
        return false;
      const auto sent = before.find({send.from, send.chunk});
      if (sent == before.end()) return false;
      std::uint64_t& there = now_[{send.to, send.chunk}];
      if (there == wanted_[send.chunk]) return false;
      if (send.action == Action::copy && sent->second != wanted_[send.chunk]) return false;
      if (send.action != Action::copy && !is_sum()) return false;
      there = send.action == Action::copy  ? sent->second
              : send.action == Action::add ? there + sent->second
                                           : there + own_.at({send.from, send.chunk});
    }
    return true;
  }

  bool is_done() {
    for (Node node = 0; node < schedule_.nodes; ++node)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if ((schedule_.collective != Collective::reduce_scatter || is_owner(node, chunk)) &&
            now_[{node, chunk}] != wanted_[chunk])
          return false;
    return true;
  }

  const Topology& topology_;
  const Schedule& schedule_;
  std::map<Place, std::uint64_t> own_, now_;
  std::map<std::uint32_t, std::uint64_t> wanted_;
};

constexpr const char* changes[] = {"drop", "duplicate", "swap", "reroute", "reorder", "chunk"};

/// One change at random. Nothing where the schedule is not another one then.
bool change(Schedule& schedule, int kind, std::mt19937_64& draw) {
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(draw() % end); };
  const Schedule before = schedule;
  Step& step = schedule.steps[below(schedule.steps.size())];
  Step& other = schedule.steps[below(schedule.steps.size())];
  Send& send = step.sends[below(step.sends.size())];
  switch (kind) {
    case 0: step.sends.erase(step.sends.begin() + (&send - step.sends.data())); break;
    case 1: {
      const Send same = send;
      other.sends.push_back(same);
      return true;
    }
    case 2: std::swap(send, other.sends[below(other.sends.size())]); break;
    case 3: send.to = static_cast<Node>(below(schedule.nodes)); break;
    case 4: std::swap(step, other); break;
    case 5: send.chunk = static_cast<std::uint32_t>(below(schedule.chunks)); break;
    default: break;
  }
  for (std::size_t number = 0; number < schedule.steps.size(); ++number)
    if (schedule.steps[number].sends != before.steps[number].sends) return true;
  return false;
}

std::vector<Schedule> originals() {
  std::vector<Schedule> schedules;
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_reduce, Collective::broadcast}) {
    for (int number = 0; number < clusters::algorithm_count; ++number)
      if (auto schedule = pattern(collective, static_cast<Algorithm>(number), 6))
        schedules.push_back(std::move(*schedule));
    schedules.push_back(hierarchical(collective, 6, 3));
  }
  return schedules;
}

TEST(Checker, AcceptsNoneOfTheBrokenSchedules) {
  const Topology full = named_topology("full:6").value();
  const std::vector<Schedule> schedules = originals();
  std::mt19937_64 draw(1);
  std::map<std::string, int> broken;
  int same = 0;
  for (std::size_t number = 0; number < 900; ++number) {
    const int kind = static_cast<int>(number % std::size(changes));
    Schedule schedule =
        fitted(schedules[number / std::size(changes) % schedules.size()], full).value();
    ASSERT_EQ(fault_of(full, schedule), std::nullopt);
    if (!change(schedule, kind, draw)) continue;
    const bool is_right = Numbers(full, schedule).are_right();
    const auto fault = fault_of(full, schedule);
    if (is_right) {
      // Two sends that do not depend on each other may change places.
      ++same;
      continue;
    }
    EXPECT_TRUE(fault) << changes[kind] << " of " << schedule.method << ", "
                       << name(schedule.collective);
    ++broken[changes[kind]];
  }
  int all = 0;
  for (const char* kind : changes) {
    EXPECT_GE(broken[kind], 40) << kind;
    all += broken[kind];
  }
  EXPECT_GE(all, 500);
  EXPECT_LT(same, 250);
}

Schedule two_steps() {
  Schedule schedule;
  schedule.nodes = 3;
  schedule.chunks = 3;
  schedule.steps = {{1, {{0, 1, 0}, {1, 2, 1}, {2, 0, 2}}}, {1, {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}}}};
  return schedule;
}

std::string fault(const Schedule& schedule, const char* topology = "one-way-ring:3") {
  return fault_of(named_topology(topology).value(), schedule).value_or("none");
}

TEST(Checker, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(fault(two_steps()), "none");
  EXPECT_EQ(fault(two_steps(), "ring:4"), "the schedule is for 3 nodes, and 'ring:4' has 4");
  Schedule schedule = two_steps();
  schedule.steps[0].sends[1].chunk = 2;
  EXPECT_EQ(fault(schedule), "step 1, send 2 (chunk 2 from 1 to 2): node 1 does not have chunk 2");
  schedule = two_steps();
  schedule.steps[0].sends[1].to = 0;
  EXPECT_EQ(fault(schedule), "step 1, send 2 (chunk 1 from 1 to 0): no link leads from 1 to 0");
  schedule = two_steps();
  schedule.steps[1].sends.pop_back();
  EXPECT_EQ(fault(schedule), "the end: node 0 does not have chunk 1");
  schedule.steps.pop_back();
  schedule.steps[0].sends = {{0, 1, 0}, {0, 1, 0}};
  EXPECT_EQ(fault(schedule), "step 1: the link from 0 to 1 carries 2 chunks; 1 rounds allow 1");
  schedule.steps[0].rounds = 2;
  EXPECT_EQ(fault(schedule), "step 1, send 2 (chunk 0 from 0 to 1): node 1 has chunk 0");
  schedule = two_steps();
  schedule.chunks = 4;
  EXPECT_EQ(fault(schedule), "there are 4 chunks; a multiple of 3 nodes is needed");
}

TEST(Checker, OperandsAreAddedOnce) {
  Schedule schedule;
  schedule.collective = Collective::all_reduce;
  schedule.nodes = 3;
  schedule.steps = {
      {1, {{0, 1, 0, Action::add}}}, {1, {{1, 2, 0, Action::add}}}, {1, {{2, 0, 0}, {2, 1, 0}}}};
  EXPECT_EQ(fault(schedule, "full:3"), "none");
  Schedule twice = schedule;
  twice.steps[1].sends.push_back({0, 2, 0, Action::add});
  EXPECT_EQ(fault(twice, "full:3"),
            "step 2, send 2 (chunk 0 from 0 to 2): the operand of node 0 is in the sum of node 2 "
            "already");
  Schedule early = schedule;
  std::swap(early.steps[1], early.steps[2]);
  EXPECT_EQ(fault(early, "full:3"),
            "step 2, send 1 (chunk 0 from 2 to 0): it is copied with the operands of 1 of 3 nodes");
  schedule.steps.erase(schedule.steps.begin());
  schedule.steps.pop_back();
  EXPECT_EQ(fault(schedule, "full:3"),
            "the end: in chunk 0 of node 0 the operand of node 1 is missing");
}

TEST(Checker, PortsCarryNoMoreThanTheyDo) {
  Topology topology = named_topology("full:3").value();
  topology.ports = {{0, false, {*topology.link(0, 1), *topology.link(0, 2)}, 1}};
  Schedule schedule;
  schedule.collective = Collective::broadcast;
  schedule.nodes = 3;
  schedule.steps = {{1, {{0, 1, 0}, {0, 2, 0}}}};
  EXPECT_EQ(fault_of(topology, schedule).value_or("none"),
            "step 1: the port with the link from 0 to 1 carries 2 chunks; 1 rounds allow 1");
  EXPECT_EQ(fitted(schedule, topology)->steps[0].rounds, 2U);
  EXPECT_EQ(fault_of(topology, *fitted(schedule, topology)), std::nullopt);
}

}  // namespace
}  // namespace lemma::collectives
