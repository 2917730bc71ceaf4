#include "plans/clusters/collectives.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plans/clusters/cluster.h"

namespace lemma::clusters {
namespace {

/// A message of a step: pieces that one device sends to another, which adds them to its own or takes them as they are.
struct Message {
  std::size_t from = 0, to = 0;
  std::vector<std::size_t> pieces;
  bool adds = false;
};
using Step = std::vector<Message>;
using Schedule = std::vector<Step>;

/// Devices that hold pieces, and for each piece whose numbers are in it. Runs schedules and counts.
class Machine {
 public:
  Machine(std::size_t devices, double piece_bytes) : held_(devices), piece_bytes_(piece_bytes) {}

  void give(std::size_t device, std::size_t piece, std::uint32_t parts) {
    held_[device][piece] = parts;
  }
  std::uint32_t parts(std::size_t device, std::size_t piece) const {
    const auto at = held_[device].find(piece);
    return at == held_[device].end() ? 0 : at->second;
  }

  void run(const Schedule& schedule) {
    for (const Step& step : schedule) run(step);
  }

  CollectiveCost cost;

 private:
  void run(const Step& step) {
    const auto before = held_;
    std::vector<double> sent(held_.size()), received(held_.size()), added(held_.size());
    for (const Message& message : step) {
      const double bytes = piece_bytes_ * static_cast<double>(message.pieces.size());
      sent[message.from] += bytes;
      received[message.to] += bytes;
      if (message.adds) added[message.to] += bytes;
      cost.total_bytes += bytes;
      for (const std::size_t piece : message.pieces) {
        ASSERT_TRUE(before[message.from].contains(piece)) << "it does not have what it sends";
        const std::uint32_t parts = before[message.from].at(piece);
        std::uint32_t& own = held_[message.to][piece];
        if (message.adds) {
          EXPECT_EQ(own & parts, 0U) << "a part is added twice";
          own |= parts;
        } else {
          own = parts;
        }
      }
    }
    ++cost.steps;
    double busiest = 0;
    for (std::size_t device = 0; device < held_.size(); ++device)
      busiest = std::max({busiest, sent[device], received[device]});
    cost.path_bytes += busiest;
    cost.path_reduced += *std::max_element(added.begin(), added.end());
  }

  std::vector<std::map<std::size_t, std::uint32_t>> held_;
  double piece_bytes_;
};

std::vector<std::size_t> range(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

/// All devices talk to one.
Schedule to_server(std::size_t p, const std::vector<std::size_t>& pieces, bool adds) {
  Step step;
  for (std::size_t device = 1; device < p; ++device) step.push_back({device, 0, pieces, adds});
  return {step};
}

Schedule from_server(std::size_t p, const std::vector<std::size_t>& pieces) {
  Step step;
  for (std::size_t device = 1; device < p; ++device) step.push_back({0, device, pieces, false});
  return {step};
}

void append(Schedule& schedule, const Schedule& more) {
  schedule.insert(schedule.end(), more.begin(), more.end());
}

/// A ring in which piece d ends at device d with all parts.
Schedule ring_scatter(std::size_t p) {
  Schedule schedule;
  for (std::size_t step = 0; step + 1 < p; ++step) {
    schedule.emplace_back();
    for (std::size_t device = 0; device < p; ++device)
      schedule.back().push_back(
          {device, (device + 1) % p, {(device + 2 * p - 1 - step) % p}, true});
  }
  return schedule;
}

Schedule ring_gather(std::size_t p) {
  Schedule schedule;
  for (std::size_t step = 0; step + 1 < p; ++step) {
    schedule.emplace_back();
    for (std::size_t device = 0; device < p; ++device)
      schedule.back().push_back({device, (device + 1) % p, {(device + p - step) % p}, false});
  }
  return schedule;
}

/// Up a binomial tree: what all have is added (one piece), or pieces of the devices below are collected.
Schedule tree_up(std::size_t p, bool adds, const std::vector<std::size_t>& all_pieces) {
  Schedule schedule;
  for (std::size_t distance = 1; distance < p; distance *= 2) {
    schedule.emplace_back();
    for (std::size_t device = distance; device < p; device += 2 * distance)
      schedule.back().push_back({device, device - distance,
                                 adds ? all_pieces : range(device, std::min(device + distance, p)),
                                 adds});
  }
  return schedule;
}

/// Down the same tree: everything, or pieces of the devices below.
Schedule tree_down(std::size_t p, bool everything, const std::vector<std::size_t>& all_pieces) {
  Schedule schedule = tree_up(p, everything, all_pieces);
  std::reverse(schedule.begin(), schedule.end());
  for (Step& step : schedule)
    for (Message& message : step) {
      std::swap(message.from, message.to);
      message.adds = false;
    }
  return schedule;
}

/// Devices beyond the largest power of two give all pieces to a partner.
Schedule give_to_partners(std::size_t p, std::size_t pieces) {
  Schedule schedule;
  const std::size_t q = std::bit_floor(p);
  if (q < p) schedule.emplace_back();
  for (std::size_t device = q; device < p; ++device)
    schedule.back().push_back({device, device - q, range(0, pieces), true});
  return schedule;
}

Schedule take_from_partners(std::size_t p, std::size_t pieces) {
  Schedule schedule = give_to_partners(p, pieces);
  for (Step& step : schedule)
    for (Message& message : step) message = {message.to, message.from, message.pieces, false};
  return schedule;
}

/// `pieces_of` device of a power of two: what it has to end with. Halves are exchanged.
template <typename PiecesOf>
Schedule halving(std::size_t q, const PiecesOf& pieces_of) {
  Schedule schedule;
  for (std::size_t half = q / 2; half > 0; half /= 2) {
    schedule.emplace_back();
    for (std::size_t device = 0; device < q; ++device) {
      const std::size_t partner = device ^ half, first = partner / half * half;
      std::vector<std::size_t> sent;
      for (std::size_t other = first; other < first + half; ++other)
        for (const std::size_t piece : pieces_of(other)) sent.push_back(piece);
      schedule.back().push_back({device, partner, sent, true});
    }
  }
  return schedule;
}

Schedule doubling_gather(std::size_t q) {
  Schedule schedule;
  for (std::size_t distance = 1; distance < q; distance *= 2) {
    schedule.emplace_back();
    for (std::size_t device = 0; device < q; ++device) {
      const std::size_t first = device / distance * distance;
      schedule.back().push_back({device, device ^ distance, range(first, first + distance), false});
    }
  }
  return schedule;
}

void expect_equal(const CollectiveCost& counted, const CollectiveCost& closed, std::size_t p) {
  EXPECT_EQ(counted.steps, closed.steps) << p;
  EXPECT_NEAR(counted.path_bytes, closed.path_bytes, 1e-6) << p;
  EXPECT_NEAR(counted.path_reduced, closed.path_reduced, 1e-6) << p;
  EXPECT_NEAR(counted.total_bytes, closed.total_bytes, 1e-6) << p;
}

constexpr double tensor_bytes = 5040;

CollectiveCost closed_form(Collective collective, Algorithm algorithm, std::size_t p) {
  return cost_of(collective, algorithm, tensor_bytes, p).value();
}

/// Each device has its own numbers in all pieces; all have to end with all pieces complete.
void expect_all_reduce(Algorithm algorithm, std::size_t p, std::size_t pieces,
                       const Schedule& schedule) {
  Machine machine(p, tensor_bytes / static_cast<double>(pieces));
  for (std::size_t device = 0; device < p; ++device)
    for (std::size_t piece = 0; piece < pieces; ++piece) machine.give(device, piece, 1U << device);
  machine.run(schedule);
  for (std::size_t device = 0; device < p; ++device)
    for (std::size_t piece = 0; piece < pieces; ++piece)
      EXPECT_EQ(machine.parts(device, piece), (1U << p) - 1) << p << " " << device << " " << piece;
  expect_equal(machine.cost, closed_form(Collective::all_reduce, algorithm, p), p);
}

TEST(Collectives, AllReduceCountsAreThoseOfSchedules) {
  for (std::size_t p = 2; p <= 17; ++p) {
    Schedule ring = ring_scatter(p);
    append(ring, ring_gather(p));
    expect_all_reduce(Algorithm::ring, p, p, ring);

    Schedule server = to_server(p, {0}, true);
    append(server, from_server(p, {0}));
    expect_all_reduce(Algorithm::parameter_server, p, 1, server);

    Schedule tree = tree_up(p, true, {0});
    append(tree, tree_down(p, true, {0}));
    expect_all_reduce(Algorithm::tree, p, 1, tree);

    const std::size_t q = std::bit_floor(p);
    Schedule doubling = give_to_partners(p, 1);
    for (std::size_t distance = 1; distance < q; distance *= 2) {
      doubling.emplace_back();
      for (std::size_t device = 0; device < q; ++device)
        doubling.back().push_back({device, device ^ distance, {0}, true});
    }
    append(doubling, take_from_partners(p, 1));
    expect_all_reduce(Algorithm::recursive_doubling, p, 1, doubling);

    Schedule halves = give_to_partners(p, q);
    append(halves, halving(q, [](std::size_t device) { return std::vector<std::size_t>{device}; }));
    append(halves, doubling_gather(q));
    append(halves, take_from_partners(p, q));
    expect_all_reduce(Algorithm::halving_doubling, p, q, halves);
  }
}

TEST(Collectives, NaiveAllReduceSendsAllToAll) {
  for (std::size_t p = 2; p <= 9; ++p) {
    // Device d keeps what comes from device e as piece e, and adds at the end.
    Machine machine(p, tensor_bytes);
    for (std::size_t device = 0; device < p; ++device) machine.give(device, device, 1);
    Schedule schedule;
    for (std::size_t distance = 1; distance < p; ++distance) {
      schedule.emplace_back();
      for (std::size_t device = 0; device < p; ++device)
        schedule.back().push_back({device, (device + distance) % p, {device}, true});
    }
    machine.run(schedule);
    for (std::size_t device = 0; device < p; ++device)
      for (std::size_t other = 0; other < p; ++other) EXPECT_EQ(machine.parts(device, other), 1U);
    expect_equal(machine.cost, closed_form(Collective::all_reduce, Algorithm::naive, p), p);
  }
}

/// Device d has piece d; all have to end with all.
void expect_all_gather(Algorithm algorithm, std::size_t p, const Schedule& schedule) {
  Machine machine(p, tensor_bytes / static_cast<double>(p));
  for (std::size_t device = 0; device < p; ++device) machine.give(device, device, 1);
  machine.run(schedule);
  for (std::size_t device = 0; device < p; ++device)
    for (std::size_t piece = 0; piece < p; ++piece) EXPECT_EQ(machine.parts(device, piece), 1U);
  expect_equal(machine.cost, closed_form(Collective::all_gather, algorithm, p), p);
}

TEST(Collectives, AllGatherCountsAreThoseOfSchedules) {
  for (std::size_t p = 2; p <= 17; ++p) {
    expect_all_gather(Algorithm::ring, p, ring_gather(p));

    Schedule tree = tree_up(p, false, {});
    append(tree, tree_down(p, true, range(0, p)));
    expect_all_gather(Algorithm::tree, p, tree);

    Schedule server(2);
    for (std::size_t device = 1; device < p; ++device) {
      server[0].push_back({device, 0, {device}, false});
      std::vector<std::size_t> others = range(0, p);
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(device));
      server[1].push_back({0, device, others, false});
    }
    expect_all_gather(Algorithm::parameter_server, p, server);

    // Bruck: device d has pieces d, d + 1, ... and gives them to the device `distance` before it.
    Schedule bruck;
    for (std::size_t distance = 1; distance < p; distance *= 2) {
      bruck.emplace_back();
      for (std::size_t device = 0; device < p; ++device) {
        std::vector<std::size_t> sent;
        for (std::size_t at = 0; at < std::min(distance, p - distance); ++at)
          sent.push_back((device + at) % p);
        bruck.back().push_back({device, (device + p - distance) % p, sent, false});
      }
    }
    expect_all_gather(Algorithm::recursive_doubling, p, bruck);
  }
}

void expect_reduce_scatter(Algorithm algorithm, std::size_t p, const Schedule& schedule) {
  Machine machine(p, tensor_bytes / static_cast<double>(p));
  for (std::size_t device = 0; device < p; ++device)
    for (std::size_t piece = 0; piece < p; ++piece) machine.give(device, piece, 1U << device);
  machine.run(schedule);
  for (std::size_t device = 0; device < p; ++device)
    EXPECT_EQ(machine.parts(device, device), (1U << p) - 1) << p << " " << device;
  expect_equal(machine.cost, closed_form(Collective::reduce_scatter, algorithm, p), p);
}

TEST(Collectives, ReduceScatterCountsAreThoseOfSchedules) {
  for (std::size_t p = 2; p <= 17; ++p) {
    expect_reduce_scatter(Algorithm::ring, p, ring_scatter(p));

    Schedule tree = tree_up(p, true, range(0, p));
    append(tree, tree_down(p, false, {}));
    expect_reduce_scatter(Algorithm::tree, p, tree);

    Schedule server = to_server(p, range(0, p), true);
    server.emplace_back();
    for (std::size_t device = 1; device < p; ++device)
      server.back().push_back({0, device, {device}, false});
    expect_reduce_scatter(Algorithm::parameter_server, p, server);

    const std::size_t q = std::bit_floor(p);
    Schedule halves = give_to_partners(p, p);
    append(halves, halving(q, [&](std::size_t device) {
             std::vector<std::size_t> pieces = {device};
             if (device + q < p) pieces.push_back(device + q);
             return pieces;
           }));
    if (q < p) halves.emplace_back();
    for (std::size_t device = q; device < p; ++device)
      halves.back().push_back({device - q, device, {device}, false});
    expect_reduce_scatter(Algorithm::halving_doubling, p, halves);
  }
}

TEST(Collectives, AllToAllCountsAreThoseOfSchedules) {
  for (std::size_t p = 2; p <= 12; ++p) {
    const auto piece = [&](std::size_t from, std::size_t to) { return from * p + to; };
    const auto expect = [&](Algorithm algorithm, const Schedule& schedule) {
      Machine machine(p, tensor_bytes / static_cast<double>(p * p));
      for (std::size_t from = 0; from < p; ++from)
        for (std::size_t to = 0; to < p; ++to) machine.give(from, piece(from, to), 1);
      machine.run(schedule);
      for (std::size_t from = 0; from < p; ++from)
        for (std::size_t to = 0; to < p; ++to) EXPECT_EQ(machine.parts(to, piece(from, to)), 1U);
      expect_equal(machine.cost, closed_form(Collective::all_to_all, algorithm, p), p);
    };
    Schedule pairs, ring, bruck;
    for (std::size_t distance = 1; distance < p; ++distance) {
      pairs.emplace_back(), ring.emplace_back();
      for (std::size_t device = 0; device < p; ++device) {
        pairs.back().push_back(
            {device, (device + distance) % p, {piece(device, (device + distance) % p)}, false});
        // What came from `distance - 1` devices before, and goes further than this device.
        std::vector<std::size_t> sent;
        const std::size_t from = (device + p - (distance - 1)) % p;
        for (std::size_t far = distance; far < p; ++far)
          sent.push_back(piece(from, (from + far) % p));
        ring.back().push_back({device, (device + 1) % p, sent, false});
      }
    }
    // Bruck: a piece that has to go `far` devices on goes on by 2^k in step k where bit k of `far` is set.
    for (std::size_t bit = 1; bit < p; bit *= 2) {
      bruck.emplace_back();
      for (std::size_t device = 0; device < p; ++device) {
        std::vector<std::size_t> sent;
        for (std::size_t far = 0; far < p; ++far) {
          if ((far & bit) == 0) continue;
          const std::size_t from = (device + p - (far & (bit - 1))) % p;
          sent.push_back(piece(from, (from + far) % p));
        }
        bruck.back().push_back({device, (device + bit) % p, sent, false});
      }
    }
    expect(Algorithm::naive, pairs);
    expect(Algorithm::ring, ring);
    expect(Algorithm::recursive_doubling, bruck);
  }
}

TEST(Collectives, BroadcastCountsAreThoseOfSchedules) {
  for (std::size_t p = 2; p <= 17; ++p) {
    const auto expect = [&](Algorithm algorithm, std::size_t pieces, const Schedule& schedule) {
      Machine machine(p, tensor_bytes / static_cast<double>(pieces));
      for (std::size_t piece = 0; piece < pieces; ++piece) machine.give(0, piece, 1);
      machine.run(schedule);
      for (std::size_t device = 0; device < p; ++device)
        for (std::size_t piece = 0; piece < pieces; ++piece)
          EXPECT_EQ(machine.parts(device, piece), 1U);
      expect_equal(machine.cost, closed_form(Collective::broadcast, algorithm, p), p);
    };
    expect(Algorithm::parameter_server, 1, from_server(p, {0}));
    expect(Algorithm::tree, 1, tree_down(p, true, {0}));
    Schedule naive, chain;
    for (std::size_t device = 1; device < p; ++device) naive.push_back({{0, device, {0}, false}});
    expect(Algorithm::naive, 1, naive);
    for (std::size_t step = 0; step < 2 * (p - 1); ++step) {
      chain.emplace_back();
      for (std::size_t device = 0; device + 1 < p; ++device)
        if (step >= device && step - device < p)
          chain.back().push_back({device, device + 1, {step - device}, false});
    }
    expect(Algorithm::ring, p, chain);
  }
}

TEST(Collectives, OneDeviceHasNothingToDo) {
  for (int collective = 0; collective < collective_count; ++collective)
    for (int algorithm = 0; algorithm < algorithm_count; ++algorithm) {
      const auto cost =
          cost_of(static_cast<Collective>(collective), static_cast<Algorithm>(algorithm), 100, 1);
      ASSERT_TRUE(cost);
      EXPECT_EQ(cost->steps, 0);
      EXPECT_EQ(cost->total_bytes, 0);
    }
}

TEST(Collectives, TheBestAlgorithmDependsOnTheSize) {
  const Wire wire{1e-6, 1e-9, 0};
  for (int number = 0; number < collective_count; ++number) {
    const auto collective = static_cast<Collective>(number);
    for (const double bytes : {1.0, 1e3, 1e5, 1e7, 1e9})
      for (const std::size_t p : {2U, 5U, 8U, 13U, 64U}) {
        const BestAlgorithm best = best_algorithm(collective, bytes, p, wire);
        for (int algorithm = 0; algorithm < algorithm_count; ++algorithm) {
          const auto cost = cost_of(collective, static_cast<Algorithm>(algorithm), bytes, p);
          EXPECT_LE(best.seconds, cost ? cost->seconds(wire) : best.seconds);
        }
      }
  }
  EXPECT_EQ(best_algorithm(Collective::all_reduce, 8, 16, wire).algorithm,
            Algorithm::parameter_server);  // 2 steps, as long as its link is not what counts
  EXPECT_EQ(best_algorithm(Collective::all_reduce, 1000, 16, wire).algorithm,
            Algorithm::recursive_doubling);
  EXPECT_EQ(best_algorithm(Collective::all_reduce, 1e9, 16, wire).algorithm,
            Algorithm::halving_doubling);
  EXPECT_EQ(best_algorithm(Collective::all_reduce, 1e9, 12, wire).algorithm, Algorithm::ring);
}

TEST(Collectives, AlpasFormulas) {
  // 2 layers, batch 1024, hidden size 128, 4 devices: 65,536 bytes, of which each sends 3/4 twice.
  EXPECT_DOUBLE_EQ(alpa_cost(Collective::all_reduce, 65536, 4, 1, 1), 98305.01);
  EXPECT_DOUBLE_EQ(alpa_cost(Collective::all_gather, 65536, 4, 1, 1), 49153.1);
  EXPECT_DOUBLE_EQ(alpa_cost(Collective::reduce_scatter, 65536, 4, 1, 1), 49153.001);
  EXPECT_DOUBLE_EQ(alpa_cost(Collective::all_to_all, 65536, 4, 1, 1), 18433.001);
  EXPECT_DOUBLE_EQ(alpa_cost(Collective::all_reduce, 65536, 3, 1, 0.01), 874.01);  // 873.81 + 1
}

}  // namespace
}  // namespace lemma::clusters
