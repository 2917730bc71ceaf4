#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <queue>
#include <random>
#include <tuple>

#include <fmt/format.h>

#include "plans/collectives/bounds.h"
#include "plans/collectives/timed.h"

namespace lemma::collectives {

namespace {

/// A set of chunks.
class Chunks {
 public:
  explicit Chunks(std::size_t size) : words_((size + 63) / 64) {}
  bool has(std::uint32_t chunk) const { return (words_[chunk / 64] >> chunk % 64 & 1) == 1; }
  void add(std::uint32_t chunk) { words_[chunk / 64] |= std::uint64_t{1} << chunk % 64; }

  /// Calls a function with each chunk that is here, and not in the other set.
  template <typename Function>
  void for_each_beyond(const Chunks& other, Function function) const {
    for (std::size_t at = 0; at < words_.size(); ++at)
      for (std::uint64_t word = words_[at] & ~other.words_[at]; word != 0; word &= word - 1)
        function(
            static_cast<std::uint32_t>(at * 64 + static_cast<std::size_t>(std::countr_zero(word))));
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// What does not change from try to try.
struct Problem {
  Problem(const Topology& of, const GreedyRequest& asked)
      : topology(of), request(asked), links_into(of.nodes), ports_of(of.links.size()) {
    const bool is_gather = request.collective == Collective::all_gather;
    chunks = static_cast<std::uint32_t>(is_gather ? request.chunks * of.nodes : request.chunks);
    for (std::size_t link = 0; link < of.links.size(); ++link) {
      takes.push_back(time_on(of.links[link], request.chunk_bytes));
      links_into[of.links[link].to].push_back(link);
    }
    for (std::size_t port = 0; port < of.ports.size(); ++port)
      for (const std::size_t link : of.ports[port].links) ports_of[link].push_back(port);
  }
  bool has_at_first(Node node, std::uint32_t chunk) const {
    return request.collective == Collective::all_gather ? chunk / request.chunks == node
                                                        : node == request.root;
  }
  std::uint64_t missing_at_first(Node node) const {
    std::uint64_t missing = 0;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      missing += has_at_first(node, chunk) ? 0 : 1;
    return missing;
  }

  const Topology& topology;
  const GreedyRequest& request;
  std::uint32_t chunks = 0;
  std::vector<Time> takes;  // by link
  std::vector<std::vector<std::size_t>> links_into, ports_of;
};

/// How many chunks links can carry into a node until a time, one after the other on each link. Ports carry one at a time,
/// at the pace of their fastest link.
std::uint64_t carried_into(const Problem& problem, Node node, Time until) {
  std::uint64_t carried = 0;
  std::vector<Time> of_port(problem.topology.ports.size(), 0);
  for (const std::size_t link : problem.links_into[node]) {
    std::optional<std::size_t> entry;
    for (const std::size_t port : problem.ports_of[link])
      if (problem.topology.ports[port].enters) entry = port;
    if (!entry) {
      carried += static_cast<std::uint64_t>(until / problem.takes[link]);
      continue;
    }
    Time& fastest = of_port[*entry];
    fastest = fastest == 0 ? problem.takes[link] : std::min(fastest, problem.takes[link]);
  }
  for (const Time fastest : of_port)
    if (fastest > 0) carried += static_cast<std::uint64_t>(until / fastest);
  return carried;
}

/// The time in which a node gets all that it misses, if its links are never idle.
Time bound_of(const Problem& problem, Node node) {
  const std::uint64_t missing = problem.missing_at_first(node);
  if (missing == 0) return 0;
  Time below = 0, enough = 0;
  for (const std::size_t link : problem.links_into[node])
    enough = std::max(enough, problem.takes[link] * static_cast<Time>(missing));
  while (enough - below > 1) {
    const Time middle = below + (enough - below) / 2;
    (carried_into(problem, node, middle) >= missing ? enough : below) = middle;
  }
  return enough;
}

/// The longest of the shortest times from a node to all others (Dijkstra).
Time farthest(const Problem& problem, Node source) {
  constexpr Time unreached = std::numeric_limits<Time>::max();
  std::vector<Time> time(problem.topology.nodes, unreached);
  std::priority_queue<std::pair<Time, Node>, std::vector<std::pair<Time, Node>>, std::greater<>>
      open;
  time[source] = 0;
  open.emplace(0, source);
  while (!open.empty()) {
    const auto [now, node] = open.top();
    open.pop();
    if (now > time[node]) continue;
    for (std::size_t link = 0; link < problem.topology.links.size(); ++link) {
      const Link& way = problem.topology.links[link];
      if (way.from != node || now + problem.takes[link] >= time[way.to]) continue;
      time[way.to] = now + problem.takes[link];
      open.emplace(time[way.to], way.to);
    }
  }
  return *std::max_element(time.begin(), time.end());
}

Time bound_of(const Problem& problem) {
  Time bound = 0;
  for (Node node = 0; node < problem.topology.nodes; ++node) {
    bound = std::max(bound, bound_of(problem, node));
    if (problem.request.collective == Collective::all_gather || node == problem.request.root)
      bound = std::max(bound, farthest(problem, node));
  }
  return bound;
}

/// One try: time goes from arrival to arrival.
class Try {
 public:
  Try(const Problem& problem, std::uint64_t seed)
      : problem_(problem),
        draw_(seed),
        there_(problem.topology.nodes, Chunks(problem.chunks)),
        expected_(there_),
        missing_(problem.topology.nodes),
        holders_(problem.chunks),
        free_at_(problem.topology.links.size()),
        port_free_at_(problem.topology.ports.size()),
        order_(problem.topology.links.size()) {
    for (Node node = 0; node < problem.topology.nodes; ++node)
      for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk)
        if (problem.has_at_first(node, chunk)) {
          there_[node].add(chunk);
          expected_[node].add(chunk);
          ++holders_[chunk];
        } else {
          ++missing_[node];
          ++missing_in_all_;
        }
    std::iota(order_.begin(), order_.end(), 0U);
  }

  std::vector<TimedSend> run() {
    Time now = 0;
    while (missing_in_all_ > 0) {
      const std::size_t before = sends_.size();
      start_sends(now, false);
      // Links that wait for faster ones, which have nothing to send: they wait no longer.
      if (sends_.size() == before && arrivals_.empty()) start_sends(now, true);
      now = arrivals_.top().first;
      while (!arrivals_.empty() && arrivals_.top().first == now) {
        const TimedSend& send = sends_[arrivals_.top().second];
        there_[send.to].add(send.chunk);
        arrivals_.pop();
      }
    }
    return std::move(sends_);
  }

 private:
  void start_sends(Time now, bool is_impatient) {
    // Another order each time, as otherwise some links always choose first; faster ones do.
    for (std::size_t at = order_.size(); at > 1; --at)
      std::swap(order_[at - 1], order_[draw_() % at]);
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t left, std::size_t right) {
      return problem_.takes[left] < problem_.takes[right];
    });
    for (const std::size_t link : order_) {
      const Node to = problem_.topology.links[link].to;
      if (free_at_[link] > now || missing_[to] == 0 || !are_ports_free(link, now)) continue;
      if (!is_impatient && comes_faster(link, now)) continue;
      if (const auto chunk = choose(link)) start(link, *chunk, now);
    }
  }

  bool are_ports_free(std::size_t link, Time now) const {
    return std::all_of(problem_.ports_of[link].begin(), problem_.ports_of[link].end(),
                       [&](std::size_t port) { return port_free_at_[port] <= now; });
  }

  /// Whether faster links can bring all that the receiver lacks before this link has brought a chunk.
  bool comes_faster(std::size_t link, Time now) const {
    const Time end = now + problem_.takes[link];
    const Node to = problem_.topology.links[link].to;
    std::uint64_t carried = 0;
    for (const std::size_t other : problem_.links_into[to]) {
      if (problem_.takes[other] >= problem_.takes[link]) continue;
      const Time begin = std::max(now, free_at_[other]);
      if (begin < end) carried += static_cast<std::uint64_t>((end - begin) / problem_.takes[other]);
    }
    return carried >= missing_[to];
  }

  std::optional<std::uint32_t> choose(std::size_t link) {
    const Link& way = problem_.topology.links[link];
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
    candidates_.clear();
    there_[way.from].for_each_beyond(expected_[way.to], [&](std::uint32_t chunk) {
      if (holders_[chunk] > least) return;
      if (holders_[chunk] < least) candidates_.clear();
      least = holders_[chunk];
      candidates_.push_back(chunk);
    });
    if (candidates_.empty()) return std::nullopt;
    return candidates_[draw_() % candidates_.size()];
  }

  void start(std::size_t link, std::uint32_t chunk, Time now) {
    const Link& way = problem_.topology.links[link];
    const Time end = now + problem_.takes[link];
    expected_[way.to].add(chunk);
    ++holders_[chunk];
    --missing_[way.to];
    --missing_in_all_;
    free_at_[link] = end;
    for (const std::size_t port : problem_.ports_of[link]) port_free_at_[port] = end;
    arrivals_.emplace(end, sends_.size());
    sends_.push_back({way.from, way.to, chunk, now, end});
  }

  const Problem& problem_;
  std::mt19937_64 draw_;
  std::vector<Chunks> there_, expected_;
  std::vector<std::uint64_t> missing_;  // by node: chunks that are neither there nor on their way
  std::uint64_t missing_in_all_ = 0;
  std::vector<std::uint32_t> holders_;  // by chunk: nodes that have it or get it
  std::vector<Time> free_at_, port_free_at_;
  std::vector<std::size_t> order_;
  std::vector<std::uint32_t> candidates_;
  std::vector<TimedSend> sends_;
  std::priority_queue<std::pair<Time, std::size_t>, std::vector<std::pair<Time, std::size_t>>,
                      std::greater<>>
      arrivals_;
};

void sort_by_begin(TimedSchedule& schedule) {
  std::sort(schedule.sends.begin(), schedule.sends.end(),
            [](const TimedSend& left, const TimedSend& right) {
              return std::tie(left.begin, left.from, left.to) <
                     std::tie(right.begin, right.from, right.to);
            });
}

/// Of an all-gather or a broadcast.
Result<Greedy> spread(const Topology& topology, const GreedyRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const Bounds bounds,
                         bounds_of(topology, request.collective, request.root));
  static_cast<void>(bounds);  // all nodes are reached
  const Problem problem(topology, request);
  Greedy result;
  result.bound = bound_of(problem);
  for (std::uint32_t number = 0; number < request.tries; ++number) {
    TimedSchedule schedule{request.collective,  topology.nodes,
                           problem.chunks,      request.root,
                           request.chunk_bytes, Try(problem, request.seed + number).run()};
    sort_by_begin(schedule);
    if (const auto fault = fault_of(topology, schedule))
      return internal_error(fmt::format("the schedule is wrong: {}", *fault));
    ++result.tries;
    if (number == 0 || schedule.end() < result.schedule.end())
      result.schedule = std::move(schedule);
    if (result.schedule.end() == result.bound) break;
  }
  return result;
}

/// Each chunk is added up along the links on which the all-gather spreads it, from its end to its begin.
void reverse_in_time(TimedSchedule& schedule) {
  const Time end = schedule.end();
  schedule.collective = Collective::reduce_scatter;
  for (TimedSend& send : schedule.sends)
    send = {send.to, send.from, send.chunk, end - send.end, end - send.begin, Action::add};
  sort_by_begin(schedule);
}

/// One schedule, and then another one of the same chunks.
void append(TimedSchedule& schedule, const TimedSchedule& other) {
  const Time begin = schedule.end();
  for (TimedSend send : other.sends) {
    send.begin += begin;
    send.end += begin;
    schedule.sends.push_back(send);
  }
}

}  // namespace

Result<Greedy> greedy(const Topology& topology, const GreedyRequest& request) {
  if (request.collective == Collective::all_gather || request.collective == Collective::broadcast)
    return spread(topology, request);
  if (!has_checked_sums(request.collective, topology.nodes, request.chunks * topology.nodes))
    return unsupported(
        fmt::format("there are no timed schedules of {} with so many nodes and chunks",
                    name(request.collective)));
  GreedyRequest gather = request;
  gather.collective = Collective::all_gather;
  LEMMA_ASSIGN_OR_RETURN(Greedy result, spread(reversed(topology), gather));
  reverse_in_time(result.schedule);
  if (request.collective == Collective::all_reduce) {
    LEMMA_ASSIGN_OR_RETURN(const Greedy after, spread(topology, gather));
    append(result.schedule, after.schedule);
    result.schedule.collective = Collective::all_reduce;
    result.bound = std::max(result.bound, after.bound);
    result.tries += after.tries;
  }
  if (const auto fault = fault_of(topology, result.schedule))
    return internal_error(fmt::format("the schedule is wrong: {}", *fault));
  return result;
}

}  // namespace lemma::collectives
