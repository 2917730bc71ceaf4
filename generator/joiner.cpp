#include "generator/joiner.h"

#include <algorithm>
#include <tuple>

#include "system/parallel.h"

namespace lemma::generator {
namespace {

constexpr std::size_t most_parts = 4;         // of a group that a term is compared with
constexpr std::size_t ahead_per_thread = 32;  // groups
constexpr std::size_t told_at_once = 128;     // groups between two reports of progress
constexpr std::size_t dropped_at_once = 128;  // the result depends on it

}  // namespace

bool Joiner::is_wanted(const Group& group) const {
  const auto is_first = [this](const TermNode& term) {
    return table_.uses_first_inputs(table_.inputs_of(term.operands));
  };
  return group.terms.size() + (group.known == nothing ? 0 : 1) >= 2 &&
         std::any_of(group.terms.begin(), group.terms.end(), is_first);
}

bool Joiner::is_joined(const Group& group) const {
  Joining joining(group);
  apply_rules(memory_, group, 0, joining);
  return joining.is_one();
}

void Joiner::count_joined(std::uint64_t groups, std::uint64_t terms) {
  report_.groups += groups;
  report_.equal_terms += terms;
}

Result<void> Joiner::join_all(const GroupSource& groups) {
  memory_.prepare();
  LEMMA_ASSIGN_OR_RETURN(const std::size_t first, repeat(groups, phase_++));
  const auto prepare_next = [&](std::size_t i) -> Result<Prepared> {
    LEMMA_ASSIGN_OR_RETURN(Group group, groups.group(first + i));
    return prepare(std::move(group));
  };
  const auto join_next = [&](std::size_t i, Result<Prepared> prepared) -> Result<void> {
    const std::size_t number = first + i;
    LEMMA_ASSIGN_OR_RETURN(Prepared next, std::move(prepared));
    join(number, std::move(next));
    journal_.finish(number + 1);
    if ((number + 1) % told_at_once != 0 && number + 1 < groups.count) return {};
    return interrupt_("joining", number + 1, groups.count);
  };
  LEMMA_RETURN_IF_ERROR(in_order(threads_, groups.count - first,
                                 static_cast<std::size_t>(threads_) * ahead_per_thread,
                                 prepare_next, join_next));
  journal_.flush();
  return {};
}

/// Does again what the journal says about the first groups; returns how many these are.
Result<std::size_t> Joiner::repeat(const GroupSource& groups, std::size_t phase) {
  const JoinJournal::Finished finished = journal_.begin(phase);
  const std::vector<JoinJournal::Attempt>& attempts = finished.attempts;
  const auto damaged = [] {
    return internal_error("the journal of joined groups is about other groups");
  };
  const auto is_sound = [&](const JoinJournal::Attempt& attempt, const Group& group) {
    return attempt.term < group.terms.size() && attempt.other < group.terms.size() + 1 &&
           (attempt.other < group.terms.size() || group.known != nothing);
  };
  if (finished.groups > groups.count) return damaged();
  for (std::size_t i = 0; i < finished.groups; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const Group group, groups.group(i));
    count(group.terms.size());
  }
  struct Repeated {
    Group group;
    Candidate candidate;
  };
  std::vector<Connection> written;  // in one group
  const auto prepare_next = [&](std::size_t i) -> Result<Repeated> {
    if (attempts[i].group >= finished.groups) return damaged();
    Repeated result;
    LEMMA_ASSIGN_OR_RETURN(result.group, groups.group(attempts[i].group));
    if (!is_sound(attempts[i], result.group)) return damaged();
    result.candidate = candidate_of(result.group, attempts[i].term, attempts[i].other);
    if (threads_ > 1) (void)book_.make(result.candidate);
    return result;
  };
  const auto add_next = [&](std::size_t i, Result<Repeated> repeated) -> Result<void> {
    if (!repeated) return tl::unexpected<Error>(std::move(repeated.error()));
    const auto& [group, term, other] = attempts[i];
    if (const auto rule = book_.add(std::move(repeated->candidate)))
      written.push_back({0, term, other, *rule});
    if (i + 1 == attempts.size() || attempts[i + 1].group != group) {
      keep(repeated->group, written);
      written.clear();
    }
    if ((i + 1) % told_at_once != 0) return {};
    return interrupt_("joining", group, groups.count);
  };
  LEMMA_RETURN_IF_ERROR(in_order(threads_, attempts.size(),
                                 static_cast<std::size_t>(threads_) * ahead_per_thread,
                                 prepare_next, add_next));
  return finished.groups;
}

Joiner::Prepared Joiner::prepare(Group group) const {
  Prepared result;
  result.terms = group.terms.size();
  result.known_rules = memory_.size();
  Joining joining(group);
  apply_rules(memory_, group, 0, joining);
  if (joining.is_one()) return result;
  if (threads_ > 1) make_ahead(group, joining);
  result.group.emplace(std::move(group));
  result.joining.emplace(std::move(joining));
  return result;
}

/// Makes the rules that the group asks for if the groups before it bring none that help.
void Joiner::make_ahead(const Group& group, Joining joining) const {
  RuleMemory own(table_);
  own.prepare_like(memory_);
  bool is_free = true;
  const auto add = [&](std::size_t i, std::size_t other) -> std::optional<std::size_t> {
    Candidate candidate = candidate_of(group, i, other);
    const RuleCache::Made* made = is_free ? book_.make(candidate) : nullptr;
    if (made == nullptr) is_free = false;  // what follows is not known
    if (made == nullptr || !*made) return std::nullopt;
    own.add(std::move(candidate), (*made)->rule);
    return own.size() - 1;
  };
  (void)connect(group, joining, add,
                [&](std::size_t rule) { apply_rules(own, group, rule, joining); });
}

void Joiner::join(std::size_t number, Prepared prepared) {
  count(prepared.terms);
  if (!prepared.joining) return;
  const Group& group = *prepared.group;
  Joining& joining = *prepared.joining;
  apply_rules(memory_, group, prepared.known_rules, joining);
  const auto add = [&](std::size_t i, std::size_t other) {
    journal_.add({number, i, other});
    return book_.add(candidate_of(group, i, other));
  };
  keep(group, connect(group, joining, add,
                      [&](std::size_t rule) { apply_rules(memory_, group, rule, joining); }));
}

void Joiner::count(std::size_t terms) {
  ++report_.groups;
  report_.equal_terms += terms;
}

void Joiner::keep(const Group& group, const std::vector<Connection>& written) {
  if (written.empty()) return;
  for (Connection connection : written) {
    connection.group = groups_.size();
    connections_.push_back(connection);
  }
  groups_.push_back(group);
}

/// A term that no rule joins to another is compared with one of each part that has been found:
/// with the base, and with those that turned out to be equal for the enumerated sizes only.
/// add(i, other) returns the number of a rule or nothing; apply(rule) applies it to the group.
template <typename Add, typename Apply>
std::vector<Joiner::Connection> Joiner::connect(const Group& group, Joining& joining,
                                                const Add& add, const Apply& apply) const {
  std::vector<std::size_t> parts = {group.base()};
  std::vector<Connection> written;
  for (std::size_t i = 0; i < group.terms.size() && !joining.is_one(); ++i) {
    const auto is_joined = [&](std::size_t part) { return joining.are_joined(i, part); };
    if (std::any_of(parts.begin(), parts.end(), is_joined)) continue;
    bool joins_part = false;
    for (std::size_t n = 0; n < parts.size() && n < most_parts && !joins_part; ++n) {
      const auto rule = add(i, parts[n]);
      if (!rule) continue;
      joins_part = true;
      written.push_back({0, i, parts[n], *rule});
      joining.join(i, parts[n], *rule);
      apply(*rule);
    }
    if (!joins_part) parts.push_back(i);
  }
  return written;
}

void Joiner::apply_rules(const RuleMemory& memory, const Group& group, std::size_t first_rule,
                         Joining& joining) const {
  if (first_rule == memory.size()) return;
  for (std::size_t i = 0; i < group.terms.size() && !joining.is_one(); ++i)
    apply_rules(memory, group, i, first_rule, no_rule, joining);
}

void Joiner::apply_rules(const RuleMemory& memory, const Group& group, std::size_t i,
                         std::size_t first_rule, std::size_t left_out, Joining& joining) const {
  const auto number = [&](const TermNode& node,
                          std::optional<TermNodeId> kept) -> std::optional<std::size_t> {
    if (const auto other = joining.find(node)) return other;
    if (kept && table_.nodes()[*kept].id == group.known) return group.known_number();
    return std::nullopt;
  };
  RuleMemory::Sought sought;
  sought.operators = group.known == nothing ? 0 : memory.operators_of(group.known);
  for (const TermNode& term : group.terms) sought.operators |= std::uint64_t{1} << (term.op % 64);
  sought.wanted = [&](const TermNode& node, std::optional<TermNodeId> kept) {
    const auto other = number(node, kept);
    return other && !joining.are_joined(i, *other);
  };
  sought.on_equal = [&](const TermNode& node, std::optional<TermNodeId> kept, std::size_t rule) {
    joining.join(i, *number(node, kept), rule);
  };
  memory.apply(group.terms[i], first_rule, left_out, sought);
}

/// The candidate that says that two terms of a group are equal.
Candidate Joiner::candidate_of(const Group& group, std::size_t i, std::size_t other) const {
  CandidateBuilder builder(table_);
  const std::uint32_t left = builder.add(group.terms[i], group.type);
  const std::uint32_t right = other == group.known_number()
                                  ? builder.add_class(group.known)
                                  : builder.add(group.terms[other], group.type);
  return with_first_names(table_, builder.take({left}, {right}));
}

// ---- Dropping ---------------------------------------------------------------------------------

Result<void> Joiner::drop_derived() {
  const std::vector<Connection> order = largest_first();
  needed_.assign(memory_.size(), 0);
  for (std::size_t begin = 0; begin < order.size(); begin += dropped_at_once) {
    const std::size_t end = std::min(order.size(), begin + dropped_at_once);
    std::vector<Way> ways(end - begin);
    parallel_for(ways.size(), threads_, [&](std::size_t i) {
      const Connection& connection = order[begin + i];
      if (needed_[connection.rule] == 0) ways[i] = way_without(connection);
    });
    for (std::size_t i = begin; i < end; ++i) drop(order[i], std::move(ways[i - begin]));
    LEMMA_RETURN_IF_ERROR(interrupt_("dropping what follows", end, order.size()));
  }
  return {};
}

std::vector<Joiner::Connection> Joiner::largest_first() const {
  std::vector<Connection> order = connections_;
  const auto rank = [this](const Connection& connection) {
    const Substitution& rule = book_.rules()[connection.rule];
    return std::tuple(-static_cast<std::ptrdiff_t>(rule.terms.size() - rule.inputs.size()),
                      rule.inputs.size(), connection.rule);
  };
  std::sort(order.begin(), order.end(),
            [&](const Connection& a, const Connection& b) { return rank(a) < rank(b); });
  return order;
}

/// The rules by which two terms are joined without the one that was written for them.
Joiner::Way Joiner::way_without(const Connection& connection) const {
  const Group& group = groups_[connection.group];
  Joining joining(group);
  for (std::size_t i = 0; i < group.terms.size(); ++i) {
    apply_rules(memory_, group, i, 0, connection.rule, joining);
    if (joining.are_joined(connection.term, connection.other))
      return joining.between(connection.term, connection.other);
  }
  return std::nullopt;
}

void Joiner::drop(const Connection& connection, Way way) {
  if (!way || needed_[connection.rule] != 0) return;
  const auto is_gone = [this](std::size_t rule) { return memory_.is_dropped(rule); };
  if (std::any_of(way->begin(), way->end(), is_gone)) way = way_without(connection);
  if (!way) return;
  memory_.drop(connection.rule);
  for (const std::size_t rule : *way) needed_[rule] = 1;
}

}  // namespace lemma::generator
