#include "egraph/match.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <ranges>
#include <utility>

#include "egraph/obligations.h"

namespace lemma {

namespace {

/// Where the search for a pattern's node begins.
const std::vector<ENodeId>& nodes_for(const EGraph& egraph, const PatternNode& pattern) {
  return pattern.kind == ENodeKind::projection ? egraph.projections() : egraph.nodes_of(pattern.op);
}

/// The forms that can fit a pattern's node.
const std::vector<FormId>& forms_for(const EGraph& egraph, const PatternNode& pattern) {
  return pattern.kind == ENodeKind::projection ? egraph.forms_of_projections()
                                               : egraph.forms_of(pattern.op);
}

}  // namespace

// ---- Leaving out what is known ----------------------------------------------------------------

/// Keeps those matches that say something new. They are looked at together, so as to wait for
/// memory together.
class RuleMatcher::NewnessFilter {
 public:
  NewnessFilter(const RuleMatcher& matcher, const EGraph& egraph, std::size_t limit,
                MatchList& matches)
      : matcher_(matcher),
        egraph_(egraph),
        limit_(limit),
        matches_(matches),
        class_count_(matcher.class_count()) {}

  /// `class_at(slot)` gives the classes of the match.
  template <typename ClassAt>
  void add(std::uint32_t bound, const ClassAt& class_at) {
    if (count_ != 0 && bound != bound_) flush();
    bound_ = bound;
    for (std::size_t slot = 0; slot < class_count_; ++slot) pending(slot)[count_] = class_at(slot);
    if (++count_ == batch) flush();
  }

  void flush() {
    const std::size_t count = std::exchange(count_, 0);
    if (count == 0 || full_) return;
    const BoundRule& bound = matcher_.bound(bound_);
    is_new_.fill(!bound.well_typed);  // counted when it is applied
    if (bound.well_typed) compare(bound, count);
    for (std::size_t i = 0; i < count && !full_; ++i) {
      if (!is_new_[i] || !is_equation(i)) continue;
      full_ = matches_.size() >= limit_;
      if (full_) break;
      for (std::size_t slot = 0; slot < class_count_; ++slot) matches_.add(pending(slot)[i]);
      matches_.end(bound_);
    }
  }

  /// There are more than the limit.
  bool full() const { return full_; }

 private:
  static constexpr std::size_t batch = 64;

  /// What the pending matches have in a slot: the classes of the match, then the nodes of the right
  /// side as far as they are there.
  ClassId* pending(std::size_t slot) {
    if ((slot + 1) * batch > pending_.size()) pending_.resize((slot + 1) * batch);
    return &pending_[slot * batch];
  }

  /// Found again when more is known of its classes.
  bool is_equation(std::size_t i) {
    if (matcher_.wants_refinements()) return true;
    match_.clear();
    for (std::size_t slot = 0; slot < class_count_; ++slot) match_.push_back(pending(slot)[i]);
    return obligations_at(egraph_, matcher_.rule(), match_).make_an_equation();
  }

  void compare(const BoundRule& bound, std::size_t count) {
    for (std::size_t s = 0; s < bound.steps.size(); ++s)
      look_up(bound.steps[s], class_count_ + s, count);
    const std::size_t input_count = matcher_.rule().input_variables.size();
    for (std::size_t k = 0; k < bound.right.size(); ++k) {
      const ClassId* right = pending(bound.right[k]);
      const ClassId* left = pending(input_count + k);
      for (std::size_t i = 0; i < count; ++i) is_new_[i] = is_new_[i] || left[i] != right[i];
    }
  }

  /// The node of a step for each pending match; none where it is not there.
  void look_up(const BuildStep& step, std::size_t result_slot, std::size_t count) {
    ClassId* result = pending(result_slot);
    absl::InlinedVector<const ClassId*, 4> columns;
    for (const std::uint32_t slot : step.operands)
      columns.push_back(slot == BuildStep::absent_slot ? nullptr : pending(slot));
    absl::InlinedVector<ClassId, 4> operands(columns.size());
    const auto gather = [&](std::size_t i) {
      for (std::size_t k = 0; k < columns.size(); ++k)
        operands[k] = columns[k] == nullptr ? ClassId::none() : columns[k][i];
    };
    if (columns.size() == 2 && columns[0] != nullptr && columns[1] != nullptr) {
      for (std::size_t i = 0; i < count; ++i)  // by far the most frequent
        keys_[i] = egraph_.prefetch(step.form, std::array{columns[0][i], columns[1][i]});
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        gather(i);
        keys_[i] = egraph_.prefetch(step.form, operands);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (operands.size() > ENode::most_near) gather(i);
      result[i] = egraph_.known(keys_[i], operands);
      if (!result[i].is_none()) result[i] = egraph_.find(result[i]);
      is_new_[i] = is_new_[i] || result[i].is_none();
    }
  }

  const RuleMatcher& matcher_;
  const EGraph& egraph_;
  std::size_t limit_;
  MatchList& matches_;
  std::size_t class_count_;
  std::vector<ClassId> pending_;  // by slot
  std::vector<ClassId> match_;    // the one asked about
  std::uint32_t bound_ = 0;       // of the pending matches
  std::size_t count_ = 0;
  std::array<engine::NodeTable::Key, batch> keys_;
  std::array<bool, batch> is_new_;
  bool full_ = false;
};

// ---- Finding ----------------------------------------------------------------------------------

/// One walk along a plan, backtracking. The depth of the recursion is the size of the pattern.
class RuleMatcher::Search {
 public:
  Search(RuleMatcher& matcher, EGraph& egraph, const SearchTask& task, const SearchLimits& limits)
      : matcher_(matcher),
        egraph_(egraph),
        task_(task),
        limits_(limits),
        rule_(matcher.rule()),
        classes_(rule_.variable_count),
        nodes_(rule_.nodes.size(), ENodeId::none()),
        key_(rule_.nodes.size()),
        filter_(matcher, egraph, limits.matches, found_.matches) {
    found_.matches.start(matcher.class_count());
  }

  FoundMatches run() {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<MatchStep>& plan = rule_.plans[task_.start];
    const auto& nodes = all_of(plan.front());
    walk(plan.data(), plan.data() + plan.size(), nullptr,
         std::span(nodes).subspan(task_.begin, task_.end - task_.begin));
    filter_.flush();
    found_.complete = !stopped_ && !filter_.full();
    found_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(found_);
  }

 private:
  static constexpr std::size_t block_size = 64;
  static constexpr std::size_t most_unknown = 1'000'000;

  void walk(const MatchStep* step, const MatchStep* end, const MatchStep::Source* source,
            std::span<const ENodeId> candidates) {
    // The members of a class are there because that is their class.
    const std::size_t first_place = source != nullptr && source->down ? 1 : 0;
    const bool is_last = step + 1 == end;
    std::array<ENodeId, block_size> fitting;
    while (!candidates.empty() && !stopped_) {
      const auto now = candidates.first(std::min(block_size, candidates.size()));
      candidates = candidates.subspan(now.size());
      const std::size_t count = select(step->node, now, fitting);
      for (std::size_t i = 0; i < count && !stopped_; ++i) {
        if (!enter(*step, first_place, fitting[i])) continue;
        nodes_[step->node] = fitting[i];
        if (is_last)
          found();
        else
          walk_on(step + 1, end);
      }
      steps_ += now.size();
      if (steps_ >= 4096) {
        steps_ = 0;
        stopped_ = limits_.interrupted() || filter_.full();
      }
    }
  }

  void walk_on(const MatchStep* step, const MatchStep* end) {
    const MatchStep::Source* source = nullptr;
    const std::span<const ENodeId> candidates = candidates_of(*step, end, source);
    walk(step, end, source, candidates);
  }

  /// The candidates whose forms fit. The starting node must be new and those before it in the pattern
  /// old, so that each match is found from its first new node only.
  std::size_t select(std::uint32_t pattern, std::span<const ENodeId> candidates,
                     std::array<ENodeId, block_size>& fitting) {
    const std::vector<char>& fits = matcher_.fits_[pattern];
    const bool ask_age = pattern <= task_.start, want_new = pattern == task_.start;
    std::size_t count = 0;
    for (const ENodeId id : candidates) {
      fitting[count] = id;
      const bool age = !ask_age || (egraph_.stamp(id) > limits_.since) == want_new;
      count += (fits[egraph_.form(id).v] != 0 && age) ? 1 : 0;
    }
    for (std::size_t i = 0; i < count; ++i) egraph_.prefetch(fitting[i]);
    return count;
  }

  std::span<const ENodeId> candidates_of(const MatchStep& step, const MatchStep* end,
                                         const MatchStep::Source*& chosen) {
    if (step.sources.empty()) return companions(step, &step + 1 == end);
    const PatternNode& pattern = rule_.nodes[step.node];
    const std::vector<ENodeId>* shortest = nullptr;
    for (const MatchStep::Source& source : step.sources) {
      const ClassId known = classes_[source.variable];
      if (!(source.down ? egraph_.may_have_node(known, pattern.kind, pattern.op)
                        : egraph_.may_have_parent(known, pattern.kind, pattern.op)))
        return {};
      const auto& list = source.down ? egraph_.nodes(known) : egraph_.parents(known);
      if (shortest != nullptr && shortest->size() <= list.size()) continue;
      shortest = &list;
      chosen = &source;
    }
    if (limits_.index == nullptr) return *shortest;
    const ClassId known = classes_[chosen->variable];
    return chosen->down ? limits_.index->nodes(known, pattern.kind, pattern.op)
                        : limits_.index->parents(known, pattern.kind, pattern.op);
  }

  const std::vector<ENodeId>& all_of(const MatchStep& step) const {
    return nodes_for(egraph_, rule_.nodes[step.node]);
  }

  /// The candidates for a node that shares nothing with the earlier ones: those whose form goes
  /// with their forms. There are few forms, but as many pairs as the product of the numbers of
  /// nodes.
  const std::vector<ENodeId>& companions(const MatchStep& step, bool last) {
    Key key = {step.node};
    for (const MatchStep* earlier = rule_.plans[task_.start].data(); earlier != &step; ++earlier)
      key.push_back(egraph_.form(nodes_[earlier->node]).v);
    std::unique_ptr<std::vector<ENodeId>>& list = companions_[key];
    if (list) return *list;
    list = std::make_unique<std::vector<ENodeId>>();
    std::array<ENodeId, block_size> fitting;
    std::span<const ENodeId> rest = all_of(step);
    while (!rest.empty()) {
      const auto now = rest.first(std::min(block_size, rest.size()));
      rest = rest.subspan(now.size());
      const std::size_t count = select(step.node, now, fitting);
      for (std::size_t i = 0; i < count; ++i) {
        nodes_[step.node] = fitting[i];
        if (!last || bound() != unbound) list->push_back(fitting[i]);
      }
    }
    return *list;
  }

  /// Takes the variables from a node, its class being the first place; false if it does not agree with what is known of them.
  bool enter(const MatchStep& step, std::size_t first_place, ENodeId id) {
    const ClassId* children = egraph_.children(id).data();
    ClassId* classes = classes_.data();
    for (std::size_t i = first_place; i < step.places.size(); ++i) {
      const MatchStep::Place& place = step.places[i];
      const ClassId value = place.operand == MatchStep::Place::result ? egraph_.find(id.founded())
                                                                      : children[place.operand];
      if (!place.known)
        classes[place.variable] = value;
      else if (classes[place.variable] != value)
        return false;
    }
    for (const std::uint32_t variable : step.weights)
      if (!egraph_.weight_only(classes_[variable])) return false;
    for (const auto& [a, b] : step.distinct)
      if (classes_[a] == classes_[b] || (step.ordered && classes_[b] < classes_[a])) return false;
    return true;
  }

  /// What follows from the forms of the nodes.
  std::uint32_t bound() {
    bool same = bound_ != unknown;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::uint32_t form = egraph_.form(nodes_[i]).v;
      same = same && key_[i] == form;
      key_[i] = form;
    }
    if (same) return bound_;
    bound_ = matcher_.concurrent_ ? matcher_.known_bound(key_) : matcher_.bind(egraph_, key_);
    return bound_;
  }

  ClassId class_at(std::size_t slot) const {
    const std::size_t input_count = rule_.input_variables.size();
    return classes_[slot < input_count ? rule_.input_variables[slot]
                                       : rule_.left_variables[slot - input_count]];
  }

  void found() {
    const std::uint32_t bound = this->bound();
    if (bound == unbound) {
      ++found_.rejected;
    } else if (bound == unknown) {
      found_.unknown.insert(found_.unknown.end(), key_.begin(), key_.end());
      for (std::size_t slot = 0; slot < matcher_.class_count(); ++slot)
        found_.unknown.push_back(class_at(slot).v);
      stopped_ = found_.overflow = found_.unknown.size() >= most_unknown;
    } else {
      const std::uint32_t last = matcher_.last_way(bound);
      for (std::uint32_t way = bound; way <= last; ++way)
        filter_.add(way, [this](std::size_t slot) { return class_at(slot); });
      stopped_ = filter_.full();
    }
  }

  RuleMatcher& matcher_;
  EGraph& egraph_;
  const SearchTask& task_;
  const SearchLimits& limits_;
  const CompiledRule& rule_;
  std::vector<ClassId> classes_;  // by variable
  std::vector<ENodeId> nodes_;    // by pattern node
  Key key_;
  std::uint32_t bound_ = unknown;  // for key_
  absl::flat_hash_map<Key, std::unique_ptr<std::vector<ENodeId>>> companions_;
  FoundMatches found_;
  NewnessFilter filter_;
  std::size_t steps_ = 0;
  bool stopped_ = false;
};

// ---- Tasks ------------------------------------------------------------------------------------

RuleMatcher::RuleMatcher(const CompiledRule& rule, bool refinements)
    : rule_(&rule),
      refinements_(refinements),
      fits_(rule.nodes.size()),
      shapes_(rule.input_variables.size()),
      attributes_(rule.nodes.size()) {
  for (const std::vector<MatchStep>& plan : rule.plans)
    for (std::size_t i = 1; i < plan.size(); ++i)
      concurrent_ = concurrent_ && !plan[i].sources.empty();
}

bool RuleMatcher::can_match(const EGraph& egraph, const CompiledRule& rule) {
  const auto is_there = [&](const PatternNode& node) { return !nodes_for(egraph, node).empty(); };
  return std::ranges::all_of(rule.nodes, is_there);
}

std::vector<SearchTask> RuleMatcher::prepare(const EGraph& egraph) {
  // Large enough that putting them together costs nothing, small enough to divide a large search.
  constexpr std::size_t nodes_per_task = 4096;
  if (!can_match(egraph, *rule_)) return {};
  for (std::size_t p = 0; p < fits_.size(); ++p) {
    fits_[p].resize(egraph.form_count());
    for (const FormId form : forms_for(egraph, rule_->nodes[p]) | std::views::reverse) {
      if (form.v < forms_seen_) break;
      fits_[p][form.v] = fits(egraph, p, form) ? 1 : 0;
    }
  }
  forms_seen_ = egraph.form_count();
  std::vector<SearchTask> tasks;
  for (std::uint32_t start = 0; start < rule_->nodes.size(); ++start) {
    const std::size_t count = nodes_for(egraph, rule_->nodes[start]).size();
    const std::size_t step = concurrent_ ? nodes_per_task : std::max<std::size_t>(count, 1);
    for (std::size_t begin = 0; begin < count; begin += step)
      tasks.push_back({start, begin, std::min(begin + step, count)});
  }
  return tasks;
}

FoundMatches RuleMatcher::search(EGraph& egraph, const SearchTask& task,
                                 const SearchLimits& limits) {
  return Search(*this, egraph, task, limits).run();
}

bool RuleMatcher::must_repeat(EGraph& egraph, std::span<const FoundMatches> parts) {
  const auto overflows = [](const FoundMatches& part) { return part.overflow; };
  if (std::none_of(parts.begin(), parts.end(), overflows)) return false;
  const std::size_t node_count = rule_->nodes.size(), stride = node_count + class_count();
  for (const FoundMatches& part : parts)
    for (std::size_t i = 0; i < part.unknown.size(); i += stride)
      bind(egraph, Key(&part.unknown[i], &part.unknown[i] + node_count));
  return true;
}

bool RuleMatcher::collect(EGraph& egraph, std::span<FoundMatches> parts, std::size_t limit,
                          MatchList& matches) {
  matches.start(class_count());
  NewnessFilter filter(*this, egraph, limit, matches);
  const std::size_t node_count = rule_->nodes.size(), stride = node_count + class_count();
  Key key(node_count);
  for (const FoundMatches& part : parts) {
    rejected_ += part.rejected;
    filter.flush();
    matches.append(part.matches);
    if (!part.complete || matches.size() > limit) return false;
    for (std::size_t i = 0; i < part.unknown.size(); i += stride) {
      const std::uint32_t* entry = &part.unknown[i];
      std::copy(entry, entry + node_count, key.begin());
      const std::uint32_t bound = bind(egraph, key);
      if (bound == unbound) {
        ++rejected_;
        continue;
      }
      for (std::uint32_t way = bound; way <= last_way(bound); ++way)
        filter.add(way, [&](std::size_t slot) { return ClassId{entry[node_count + slot]}; });
      if (filter.full()) return false;
    }
  }
  filter.flush();
  return !filter.full();
}

bool RuleMatcher::find(EGraph& egraph, const SearchLimits& limits, MatchList& matches) {
  const std::vector<SearchTask> tasks = prepare(egraph);
  std::vector<FoundMatches> task_matches;
  do {
    task_matches.clear();
    for (const SearchTask& task : tasks) task_matches.push_back(search(egraph, task, limits));
  } while (must_repeat(egraph, task_matches) && !limits.interrupted());
  return collect(egraph, task_matches, limits.matches, matches);
}

}  // namespace lemma
