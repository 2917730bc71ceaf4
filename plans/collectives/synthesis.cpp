#include "plans/collectives/synthesis.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <z3++.h>

#include "plans/collectives/checker.h"
#include "plans/collectives/patterns.h"
#include "plans/collectives/symmetry.h"

namespace lemma::collectives {

namespace {

/// What is asked of Z3: an all-gather, or a broadcast, of chunks that spread over links.
///
/// A variable says that a chunk goes over a link in a step, another that a node has a chunk after a step. Symmetries take a chunk
/// of a node to that of another; of each set of such chunks one has variables, and the others do the same elsewhere. Chunks of
/// one node may change places, so that their variables are asked to be in lexicographic order.
class Question {
 public:
  Question(const Topology& topology, const SynthesisRequest& request, const Symmetries& symmetries)
      : topology_(topology),
        request_(request),
        symmetries_(symmetries),
        solver_(context_, "QF_FD") {
    z3::params parameters(context_);
    parameters.set("rlimit", request.effort);
    parameters.set("random_seed", 1U);
    solver_.set(parameters);
    choose_sources();
    make_variables();
    for (Spread& spread : spreads_) ask_to_spread(spread);
    order_equal_chunks();
    limit_loads();
  }

  z3::check_result answer() { return solver_.check(); }
  Schedule schedule();

 private:
  /// How one chunk spreads. Variables by link and step, and by node and step.
  struct Spread {
    Node source = 0;
    std::uint32_t number = 0;  // among the chunks of the source
    std::vector<std::vector<std::optional<z3::expr>>> sent, there;
  };

  void choose_sources();
  void make_variables();
  void ask_to_spread(Spread& spread);
  void order_equal_chunks();
  void limit_loads();
  void limit(std::size_t capacity, const std::vector<std::size_t>& links, std::size_t step);
  std::size_t image(std::size_t link, const Renaming& renaming) const {
    return *topology_.link(renaming[topology_.links[link].from],
                           renaming[topology_.links[link].to]);
  }
  z3::expr fresh() { return context_.bool_const(fmt::format("v{}", variables_++).c_str()); }

  const Topology& topology_;
  const SynthesisRequest& request_;
  const Symmetries& symmetries_;
  z3::context context_;
  z3::solver solver_;
  std::vector<Node> sources_;
  std::vector<Spread> spreads_;
  std::vector<std::vector<z3::expr>> further_rounds_;  // by step: it has one more round
  std::size_t variables_ = 0;
};

void Question::choose_sources() {
  if (request_.collective == Collective::broadcast) {
    sources_ = {request_.root};
    return;
  }
  std::vector<bool> is_image(topology_.nodes);
  for (Node node = 0; node < topology_.nodes; ++node) {
    if (is_image[node]) continue;
    sources_.push_back(node);
    for (const Renaming& renaming : symmetries_) is_image[renaming[node]] = true;
  }
}

void Question::make_variables() {
  for (const Node source : sources_) {
    const auto distances = distances_from(topology_, source);
    for (std::uint32_t number = 0; number < request_.chunks; ++number) {
      Spread spread{source, number, {}, {}};
      spread.sent.resize(topology_.links.size());
      spread.there.resize(topology_.nodes);
      for (std::size_t link = 0; link < topology_.links.size(); ++link) {
        const auto [from, to] = std::pair(topology_.links[link].from, topology_.links[link].to);
        spread.sent[link].resize(request_.steps);
        for (std::size_t step = *distances[from]; step < request_.steps; ++step)
          if (to != source) spread.sent[link][step] = fresh();
      }
      for (Node node = 0; node < topology_.nodes; ++node) {
        spread.there[node].resize(request_.steps);
        // Before the distance no chunk is there, and after the last step all are.
        for (std::size_t step = *distances[node]; step <= request_.steps; ++step)
          if (step > 0 && node != source) spread.there[node][step - 1] = fresh();
      }
      spreads_.push_back(std::move(spread));
    }
  }
  further_rounds_.resize(request_.steps);
  z3::expr_vector all(context_);
  for (auto& step : further_rounds_)
    for (std::uint32_t round = request_.steps; round < request_.rounds; ++round) {
      step.push_back(fresh());
      all.push_back(step.back());
      if (step.size() > 1) solver_.add(z3::implies(step.back(), step[step.size() - 2]));
    }
  if (!all.empty()) solver_.add(z3::atmost(all, request_.rounds - request_.steps));
}

void Question::ask_to_spread(Spread& spread) {
  std::vector<std::vector<std::size_t>> into(topology_.nodes);
  for (std::size_t link = 0; link < topology_.links.size(); ++link)
    into[topology_.links[link].to].push_back(link);
  for (Node node = 0; node < topology_.nodes; ++node) {
    if (node == spread.source) continue;
    z3::expr_vector arrivals(context_);
    for (std::size_t step = 0; step < request_.steps; ++step) {
      const auto& now = spread.there[node][step];
      if (!now) continue;
      z3::expr_vector ways(context_);
      if (step > 0 && spread.there[node][step - 1]) {
        ways.push_back(*spread.there[node][step - 1]);
        solver_.add(z3::implies(ways.back(), *now));
      }
      for (const std::size_t link : into[node]) {
        const auto& sent = spread.sent[link][step];
        if (!sent) continue;
        ways.push_back(*sent);
        arrivals.push_back(*sent);
        solver_.add(z3::implies(*sent, *now));
        const Node from = topology_.links[link].from;
        if (from != spread.source && step > 0 && spread.there[from][step - 1])
          solver_.add(z3::implies(*sent, *spread.there[from][step - 1]));
      }
      solver_.add(z3::implies(*now, z3::mk_or(ways)));
    }
    solver_.add(z3::atmost(arrivals, 1));
    solver_.add(*spread.there[node][request_.steps - 1]);
  }
}

void Question::order_equal_chunks() {
  for (std::size_t at = 0; at + 1 < spreads_.size(); ++at) {
    const Spread &one = spreads_[at], &next = spreads_[at + 1];
    if (one.source != next.source) continue;
    std::optional<z3::expr> equal;  // all variables so far
    for (std::size_t link = 0; link < topology_.links.size(); ++link) {
      if (topology_.links[link].from != one.source) continue;
      for (std::size_t step = 0; step < request_.steps; ++step) {
        if (!one.sent[link][step]) continue;
        const z3::expr &first = *one.sent[link][step], &second = *next.sent[link][step];
        const z3::expr ordered = z3::implies(second, first);
        solver_.add(equal ? z3::implies(*equal, ordered) : ordered);
        const z3::expr still = fresh();
        const z3::expr same = equal ? (*equal && first == second) : (first == second);
        solver_.add(z3::implies(same, still));
        equal = still;
      }
    }
  }
}

/// Links of a set carry so many chunks in each round of a step.
void Question::limit(std::size_t capacity, const std::vector<std::size_t>& links,
                     std::size_t step) {
  z3::expr_vector variables(context_);
  std::vector<int> weights;
  for (const std::size_t link : links)
    for (const Spread& spread : spreads_)
      for (const Renaming& renaming : symmetries_) {
        const auto& sent = spread.sent[image(link, renaming)][step];
        if (!sent) continue;
        variables.push_back(*sent);
        weights.push_back(1);
      }
  const std::size_t sends = weights.size();
  if (sends <= capacity) return;
  for (const z3::expr& round : further_rounds_[step]) {
    variables.push_back(!round);
    weights.push_back(static_cast<int>(capacity));
  }
  const std::size_t most = capacity * (1 + further_rounds_[step].size());
  if (sends == variables.size())
    solver_.add(z3::atmost(variables, static_cast<unsigned>(capacity)));
  else
    solver_.add(z3::pble(variables, weights.data(), static_cast<int>(most)));
}

void Question::limit_loads() {
  std::vector<bool> is_image(topology_.links.size());
  for (std::size_t link = 0; link < topology_.links.size(); ++link) {
    if (is_image[link]) continue;
    for (const Renaming& renaming : symmetries_) is_image[image(link, renaming)] = true;
    for (std::size_t step = 0; step < request_.steps; ++step)
      limit(topology_.links[link].capacity, {link}, step);
  }
  for (const Port& port : topology_.ports)
    for (std::size_t step = 0; step < request_.steps; ++step)
      limit(port.capacity, port.links, step);
}

/// What the model says, with the chunks that symmetries make of the chunks that have variables.
Schedule Question::schedule() {
  const z3::model model = solver_.get_model();
  const auto holds = [&](const z3::expr& variable) { return model.eval(variable, true).is_true(); };
  Schedule made;
  made.collective = request_.collective;
  made.method = "Z3";
  made.nodes = topology_.nodes;
  made.root = request_.root;
  const bool has_parts = request_.collective == Collective::all_gather;
  made.chunks =
      has_parts ? static_cast<std::uint32_t>(request_.chunks * topology_.nodes) : request_.chunks;
  made.steps.resize(request_.steps);
  for (std::size_t step = 0; step < request_.steps; ++step) {
    std::vector<Send>& sends = made.steps[step].sends;
    for (const z3::expr& round : further_rounds_[step])
      if (holds(round)) ++made.steps[step].rounds;
    for (const Spread& spread : spreads_)
      for (std::size_t number = 0; number < topology_.links.size(); ++number) {
        const auto& sent = spread.sent[number][step];
        if (!sent || !holds(*sent)) continue;
        const Link& link = topology_.links[number];
        for (const Renaming& renaming : symmetries_)
          sends.push_back({renaming[link.from], renaming[link.to],
                           has_parts ? renaming[spread.source] * request_.chunks + spread.number
                                     : spread.number,
                           Action::copy});
      }
    std::sort(sends.begin(), sends.end(), [](const Send& left, const Send& right) {
      return std::tie(left.from, left.to, left.chunk) < std::tie(right.from, right.to, right.chunk);
    });
  }
  return made;
}

/// A bound that excludes the request.
std::optional<std::string> excluded_by(const Topology& topology, const SynthesisRequest& request,
                                       const Bounds& bounds) {
  if (request.steps < bounds.steps)
    return fmt::format("a chunk goes over {} links, one after the other", bounds.steps);
  if (request.rounds < request.steps) return std::string("each step has a round");
  if (request.rounds < bounds.rounds_for(request.chunks))
    return fmt::format("a cut needs {}/{} rounds for each chunk", bounds.rounds_over,
                       bounds.rounds_under);
  if (request.collective == Collective::broadcast) return std::nullopt;
  // What comes from far arrives in the last steps only, which have all rounds but one for each earlier step.
  std::vector<std::vector<std::optional<std::size_t>>> distances;
  for (Node node = 0; node < topology.nodes; ++node)
    distances.push_back(distances_from(topology, node));
  std::vector<std::uint64_t> entering(topology.nodes);
  for (const Link& link : topology.links) entering[link.to] += link.capacity;
  for (Node node = 0; node < topology.nodes; ++node)
    for (std::uint64_t far = 2; far <= bounds.steps; ++far) {
      std::uint64_t sources = 0;
      for (Node other = 0; other < topology.nodes; ++other)
        sources += *distances[other][node] >= far ? 1 : 0;
      const std::uint64_t rounds = request.rounds - (far - 1);
      if (sources * request.chunks > rounds * entering[node])
        return fmt::format("{} chunks arrive at node {} from step {} on", sources * request.chunks,
                           node, far);
    }
  return std::nullopt;
}

/// With these symmetries only. An error where what was found is wrong.
Result<Synthesis> ask(const Topology& topology, const SynthesisRequest& request,
                      const Symmetries& symmetries) {
  Synthesis result;
  try {
    Question question(topology, request, symmetries);
    const z3::check_result answer = question.answer();
    result.answer = answer == z3::sat     ? Answer::found
                    : answer == z3::unsat ? Answer::impossible
                                          : Answer::unknown;
    if (answer == z3::sat) result.schedule = question.schedule();
  } catch (const z3::exception& error) {
    return internal_error(fmt::format("Z3: {}", error.msg()));
  }
  result.reason = result.answer == Answer::unknown ? "Z3 has reached its limit" : "Z3";
  if (result.answer != Answer::found) return result;
  if (const auto fault = fault_of(topology, result.schedule))
    return internal_error(fmt::format("the schedule that Z3 has found is wrong: {}", *fault));
  return result;
}

Result<Synthesis> gather(const Topology& topology, const SynthesisRequest& request,
                         const Bounds& bounds) {
  if (const auto reason = excluded_by(topology, request, bounds))
    return Synthesis{Answer::impossible, {}, *reason};
  if (request.collective == Collective::all_gather) {
    // That no schedule is symmetric says nothing, so that little is spent on it.
    SynthesisRequest brief = request;
    brief.effort = request.effort / 10;
    for (const Symmetries& symmetries : free_symmetries(topology)) {
      LEMMA_ASSIGN_OR_RETURN(Synthesis symmetric, ask(topology, brief, symmetries));
      if (symmetric.answer != Answer::found) continue;
      symmetric.reason = fmt::format("Z3, the same from {} nodes", symmetries.size());
      return symmetric;
    }
  }
  return ask(topology, request, no_symmetries(topology));
}

}  // namespace

std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::found: return "found";
    case Answer::impossible: return "impossible";
    case Answer::unknown: return "unknown";
  }
  return "";
}

Result<Synthesis> synthesise(const Topology& topology, const SynthesisRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const Bounds bounds,
                         bounds_of(topology, request.collective, request.root));
  if (request.collective == Collective::all_reduce)
    return unsupported("an all-reduce is made of an all-gather, there and back");
  if (request.collective != Collective::reduce_scatter) return gather(topology, request, bounds);
  SynthesisRequest asked = request;
  asked.collective = Collective::all_gather;
  LEMMA_ASSIGN_OR_RETURN(Synthesis result, gather(reversed(topology), asked, bounds));
  if (result.answer != Answer::found) return result;
  result.schedule = backwards(result.schedule);
  if (const auto fault = fault_of(topology, result.schedule))
    return internal_error(fmt::format("the schedule backwards is wrong: {}", *fault));
  return result;
}

Result<Frontier> frontier(const Topology& topology, SynthesisRequest request,
                          std::uint32_t most_chunks, std::uint32_t most_steps) {
  Frontier result;
  LEMMA_ASSIGN_OR_RETURN(result.bounds, bounds_of(topology, request.collective, request.root));
  const auto first = static_cast<std::uint32_t>(result.bounds.steps);
  std::optional<std::pair<std::uint64_t, std::uint64_t>> best;  // rounds, chunks
  for (request.steps = first; request.steps <= most_steps; ++request.steps) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> candidates;
    for (std::uint32_t chunks = 1; chunks <= most_chunks; ++chunks) {
      const auto least = std::max<std::uint64_t>(request.steps, result.bounds.rounds_for(chunks));
      // With a round for each chunk and node, each step can carry all that there is.
      const std::uint64_t most = std::max(least, topology.nodes * chunks * request.steps);
      for (std::uint64_t rounds = least; rounds <= most; ++rounds)
        if (!best || rounds * best->second < best->first * chunks)
          candidates.emplace_back(static_cast<std::uint32_t>(rounds), chunks);
    }
    std::sort(candidates.begin(), candidates.end(), [](const auto& left, const auto& right) {
      const auto one = std::uint64_t{left.first} * right.second,
                 other = std::uint64_t{right.first} * left.second;
      return one != other ? one < other : left.second < right.second;
    });
    for (const auto& [rounds, chunks] : candidates) {
      request.rounds = rounds;
      request.chunks = chunks;
      LEMMA_ASSIGN_OR_RETURN(Synthesis synthesis, synthesise(topology, request));
      const Answer answer = synthesis.answer;
      result.is_complete &= answer != Answer::unknown;
      result.asked.push_back({request, std::move(synthesis)});
      if (answer != Answer::found) continue;
      best = {rounds, chunks};
      break;
    }
    if (best &&
        best->first * result.bounds.rounds_under == result.bounds.rounds_over * best->second)
      break;
  }
  return result;
}

}  // namespace lemma::collectives
