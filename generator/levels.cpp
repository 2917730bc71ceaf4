// The two ways to evaluate a level: keeping its terms, or looking for equal ones only.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include "generator/evaluation.h"
#include "generator/terms.h"

namespace lemma::generator {
namespace {

constexpr std::size_t pieces_at_once = 64;

bool is_cancelled(const TermTable::Options& options) {
  return options.cancelled != nullptr && options.cancelled->load();
}
tl::unexpected<Error> cancellation() { return bad_input("the generation was cancelled"); }

/// Calls body(i) for all pieces, on several threads.
template <typename Body>
void for_pieces(std::size_t begin, std::size_t end, int threads, const Body& body) {
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(begin, end, 1),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        for (std::size_t i = range.begin(); i != range.end(); ++i) body(i);
                      });
  });
}

/// Runs those applications of a piece that are wanted, lane by lane: evaluate(evaluator) is called
/// with full evaluators, and at the end.
template <typename Wanted, typename Evaluate>
void run_piece(const Piece& piece, LaneEvaluator& evaluator, const Wanted& wanted,
               const Evaluate& evaluate) {
  evaluator.start(*piece.plan);
  piece.for_each([&](const Operands& operands) {
    if (!wanted(operands) || !evaluator.add(operands)) return;
    evaluate(evaluator);
    evaluator.clear();
  });
  if (evaluator.count() > 0) evaluate(evaluator);
}

struct KeptTerm {
  Operands operands;
  std::uint32_t output = 0;
  double functional = 0;
};
struct KeptTerms {
  std::vector<KeptTerm> terms;
  std::vector<double> values;  // of the terms, one after the other
};

KeptTerms evaluate_to_keep(const Piece& piece, const ClassValues& classes) {
  KeptTerms result;
  LaneEvaluator evaluator(classes);
  const auto all = [](const Operands&) { return true; };
  run_piece(piece, evaluator, all, [&](LaneEvaluator& lanes) {
    const std::size_t outputs = piece.plan->tape.outputs.size();
    std::vector<std::size_t> starts;
    for (std::size_t choice = 0; choice < choice_count; ++choice) {
      lanes.run(choice);
      std::size_t at = 0;
      for (std::size_t output = 0; output < outputs; ++output) {
        const std::size_t size = piece.plan->tape.outputs[output].size();
        double functional[tape_lanes];
        if (choice == 0) lanes.functional(output, functional);
        for (std::size_t lane = 0; lane < lanes.count(); ++lane, ++at) {
          if (choice == 0) {
            starts.push_back(result.values.size());
            result.values.resize(result.values.size() + choice_count * size);
            result.terms.push_back(
                {lanes.operands(lane), static_cast<std::uint32_t>(output), functional[lane]});
          }
          lanes.copy_values(output, lane, result.values.data() + starts[at] + choice * size);
        }
      }
    }
  });
  return result;
}

}  // namespace

/// Adds evaluated terms to the table.
class LevelBuilder {
 public:
  LevelBuilder(TermTable& table, std::size_t cost) : table_(table), cost_(cost) {}

  void add(const Plan& plan, const KeptTerms& kept) {
    std::size_t at = 0;
    for (const KeptTerm& term : kept.terms) {
      const std::uint32_t type = plan.output_types[term.output];
      const double* values = kept.values.data() + at;
      at += choice_count * table_.size_of(type);
      if (std::isnan(term.functional)) continue;
      if (table_.find(plan.op, term.output, term.operands)) continue;
      ++table_.statistics_.evaluated;
      ++table_.statistics_.evaluated_by_cost[cost_];
      TermNode node;
      node.op = plan.op;
      node.output = term.output;
      node.operands = term.operands;
      node.cost = static_cast<std::uint8_t>(cost_);
      set_applications(node);
      table_.insert(node, type, table_.key_of(type, term.functional), values);
    }
  }

 private:
  /// The operators below: those of members that need `cost_` of them together with this one.
  void set_applications(TermNode& node) {
    const std::array<std::uint32_t, 4> key = {node.op, node.operands[0], node.operands[1],
                                              node.operands[2]};
    const auto number = static_cast<std::uint32_t>(table_.applications_.size());
    const std::uint32_t own = table_.applications_.try_emplace(key, number).first->second;
    node.applications.fill(nothing);
    std::array<std::uint32_t, most_operators> all = node.applications;
    (void)choose_members(node, 0, {}, own, all);
    node.applications = all;
  }

  bool choose_members(const TermNode& node, std::size_t operand, std::vector<std::uint32_t> below,
                      std::uint32_t own, std::array<std::uint32_t, most_operators>& all) const {
    if (operand < most_operands && node.operands[operand] != nothing) {
      for (const TermNodeId id : table_.classes_[node.operands[operand]].members) {
        const TermNode& member = table_.nodes_[id];
        if (member.cost >= cost_) continue;
        std::vector<std::uint32_t> more = below;
        for (const std::uint32_t x : member.applications)
          if (x != nothing && std::find(more.begin(), more.end(), x) == more.end())
            more.push_back(x);
        if (more.size() < cost_ && choose_members(node, operand + 1, std::move(more), own, all))
          return true;
      }
      return false;
    }
    if (below.size() + 1 > cost_) return false;
    if (std::find(below.begin(), below.end(), own) == below.end()) below.push_back(own);
    std::sort(below.begin(), below.end());
    std::copy(below.begin(), below.end(), all.begin());
    return true;
  }

  TermTable& table_;
  std::size_t cost_;
};

Result<void> TermTable::add_level(std::size_t cost, const Options& options) {
  LEMMA_ASSIGN_OR_RETURN(const Level level, Level::of(*this, cost));
  statistics_.pairs_shared += level.shared_pair_count();
  LevelBuilder builder(*this, cost);
  const std::vector<Piece>& pieces = level.pieces();
  for (std::size_t begin = 0; begin < pieces.size(); begin += pieces_at_once) {
    const std::size_t end = std::min(pieces.size(), begin + pieces_at_once);
    const ClassValues classes{&values_, &offsets_, &weights_};
    std::vector<KeptTerms> kept(end - begin);
    for_pieces(begin, end, options.threads,
               [&](std::size_t i) { kept[i - begin] = evaluate_to_keep(pieces[i], classes); });
    for (std::size_t i = begin; i < end; ++i) {
      builder.add(*pieces[i].plan, kept[i - begin]);
      kept[i - begin] = {};
    }
    if (is_cancelled(options)) return cancellation();
    if (options.progress)
      options.progress("level", static_cast<double>(end) / static_cast<double>(pieces.size()));
  }
  return {};
}

// ---- The largest terms ------------------------------------------------------------------------

/// A key and what has it: a class, or a term in few bits.
struct Entry {
  std::uint64_t bucket = 0;
  std::uint64_t packed = 0;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.bucket != b.bucket ? a.bucket < b.bucket : a.packed < b.packed;
  }
};

/// Set in the two entries of a term whose key lies close to another bucket.
inline constexpr std::uint64_t twin = std::uint64_t{1} << 63U;

/// Terms as numbers: plan and output, then operands. Classes are the numbers below 2^32.
class Packing {
 public:
  explicit Packing(const Level& level) {
    for (const Piece& piece : level.pieces())
      if (numbers_.try_emplace(piece.plan, plans_.size()).second) plans_.push_back(piece.plan);
  }

  /// Whether all fits.
  Result<void> check(std::size_t classes) const {
    for (const Plan* plan : plans_) {
      const unsigned bits = operand_bits(*plan);
      if (classes >= (std::size_t{1} << bits))
        return unsupported("there are too many classes for operators of three operands");
    }
    if (plans_.size() * 8 >= (1U << 15U) - 16)
      return unsupported("there are too many combinations of operators and types");
    return {};
  }

  // 16 bits of plan and output from the top, 48 bits of operands.
  std::uint64_t pack(const Plan& plan, std::uint32_t output, const Operands& operands) const {
    const unsigned bits = operand_bits(plan);
    std::uint64_t result = (numbers_.at(&plan) + 1) * 8 + output;
    result <<= 48U;
    for (std::size_t i = 0; i < most_operands; ++i)
      if (operands[i] != nothing) result |= std::uint64_t{operands[i]} << (i * bits);
    return result;
  }

  static bool is_class(std::uint64_t packed) { return packed >> 48U == 0; }

  struct Unpacked {
    const Plan* plan = nullptr;
    std::uint32_t output = 0;
    Operands operands = {nothing, nothing, nothing};
  };
  Unpacked unpack(std::uint64_t packed) const {
    Unpacked result;
    const std::uint64_t head = (packed & ~twin) >> 48U;
    result.plan = plans_[head / 8 - 1];
    result.output = static_cast<std::uint32_t>(head % 8);
    const unsigned bits = operand_bits(*result.plan);
    for (std::size_t i = 0; i < result.plan->tape.operands.size(); ++i)
      result.operands[i] =
          static_cast<std::uint32_t>((packed >> (i * bits)) & ((std::uint64_t{1} << bits) - 1));
    return result;
  }

 private:
  static unsigned operand_bits(const Plan& plan) {
    return plan.tape.operands.size() <= 2 ? 24 : 16;
  }
  std::vector<const Plan*> plans_;
  absl::flat_hash_map<const Plan*, std::size_t> numbers_;
};

namespace {

void evaluate_keys(const Piece& piece, const TermTable& table, const ClassValues& classes,
                   const Packing& packing,
                   const std::function<void(std::uint64_t, std::uint32_t, double)>& visit) {
  LaneEvaluator evaluator(classes);
  const auto wanted = [&table](const Operands& operands) {
    return table.uses_first_inputs(table.inputs_of(operands));
  };
  run_piece(piece, evaluator, wanted, [&](LaneEvaluator& lanes) {
    lanes.run(0);
    for (std::uint32_t output = 0; output < piece.plan->tape.outputs.size(); ++output) {
      double functional[tape_lanes];
      lanes.functional(output, functional);
      for (std::size_t lane = 0; lane < lanes.count(); ++lane)
        if (!std::isnan(functional[lane]))
          visit(packing.pack(*piece.plan, output, lanes.operands(lane)),
                piece.plan->output_types[output], functional[lane]);
    }
  });
}

/// The contents of one term, for all choices.
std::vector<double> values_of(const Packing::Unpacked& term, const ClassValues& classes) {
  LaneEvaluator evaluator(classes);
  evaluator.start(*term.plan);
  evaluator.add(term.operands);
  const std::size_t size = term.plan->tape.outputs[term.output].size();
  std::vector<double> result(choice_count * size);
  for (std::size_t choice = 0; choice < choice_count; ++choice) {
    evaluator.run(choice);
    evaluator.copy_values(term.output, 0, result.data() + choice * size);
  }
  return result;
}

struct Group {
  EqualTerms equal;
  std::vector<std::uint64_t> packed;  // of the terms, without twin

  /// In an order that does not depend on how they were found.
  void sort_terms() {
    std::vector<std::size_t> order(packed.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return packed[a] < packed[b]; });
    std::vector<TermNode> terms;
    std::vector<std::uint64_t> numbers;
    for (const std::size_t i : order) {
      terms.push_back(equal.terms[i]);
      numbers.push_back(packed[i]);
    }
    equal.terms = std::move(terms);
    packed = std::move(numbers);
  }
};

}  // namespace

/// Keys of one of `parts` parts.
Result<std::vector<Entry>> TermTable::collect_entries(const std::vector<Piece>& pieces,
                                                      const Packing& packing,
                                                      const Options& options, std::uint64_t part,
                                                      std::uint64_t parts, std::size_t cost) {
  const auto is_here = [part, parts](std::uint64_t bucket) {
    return parts == 1 || (bucket >> 32U) % parts == part;
  };
  std::vector<Entry> entries;
  for (ClassId id = 0; id < classes_.size(); ++id)
    if (is_here(keys_[id])) entries.push_back({keys_[id], id});
  const ClassValues classes{&values_, &offsets_, &weights_};
  for (std::size_t begin = 0; begin < pieces.size(); begin += pieces_at_once) {
    const std::size_t end = std::min(pieces.size(), begin + pieces_at_once);
    std::vector<std::vector<Entry>> found(end - begin);
    std::vector<std::size_t> evaluated(end - begin);
    for_pieces(begin, end, options.threads, [&](std::size_t i) {
      std::vector<Entry>& list = found[i - begin];
      evaluate_keys(pieces[i], *this, classes, packing,
                    [&](std::uint64_t packed, std::uint32_t type, double functional) {
                      ++evaluated[i - begin];
                      const Key key = key_of(type, functional);
                      const bool is_close = key.neighbour != key.bucket;
                      const std::uint64_t marked = packed | (is_close ? twin : 0);
                      if (is_here(key.bucket)) list.push_back({key.bucket, marked});
                      if (is_close && is_here(key.neighbour))
                        list.push_back({key.neighbour, marked});
                    });
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (part == 0) statistics_.evaluated += evaluated[i];
      if (part == 0) statistics_.evaluated_by_cost[cost] += evaluated[i];
      entries.insert(entries.end(), found[i].begin(), found[i].end());
      found[i] = {};
    }
    if (is_cancelled(options)) return cancellation();
    if (options.progress)
      options.progress("largest terms",
                       (static_cast<double>(part) +
                        static_cast<double>(end) / static_cast<double>(pieces.size())) /
                           static_cast<double>(parts));
  }
  return entries;
}

/// Divides entries of one bucket into groups of equal value.
class GroupFinder {
 public:
  GroupFinder(TermTable& table, const Packing& packing, std::size_t cost)
      : table_(table), packing_(packing), cost_(cost) {}

  void add(const Entry* begin, const Entry* end, std::vector<Group>& groups) {
    std::vector<Part> parts;
    for (const Entry* entry = begin; entry != end; ++entry) {
      if (Packing::is_class(entry->packed)) {
        const auto id = static_cast<ClassId>(entry->packed);
        parts.push_back({table_.classes_[id].type, id, {}, {}, {}});
        continue;
      }
      add_term(entry->packed, parts);
    }
    if (parts.size() > 1) table_.statistics_.collisions += parts.size() - 1;
    for (Part& part : parts) {
      if (part.terms.size() + (part.known == nothing ? 0 : 1) < 2) continue;
      add_group(part, groups);
    }
  }

 private:
  struct Part {
    std::uint32_t type = 0;
    ClassId known = nothing;
    std::vector<double> values;  // of the first term; of the class if it is known
    std::vector<TermNode> terms;
    std::vector<std::uint64_t> packed;
  };

  /// Twins are in two buckets; the groups in which they are found are one.
  void add_group(Part& part, std::vector<Group>& groups) {
    Group* group = nullptr;
    for (const std::uint64_t packed : part.packed)
      if (const auto found = twins_.find(packed); found != twins_.end())
        group = &groups[found->second];
    if (group == nullptr) {
      group = &groups.emplace_back();
      group->equal.type = part.type;
    }
    if (part.known != nothing) group->equal.known = part.known;
    for (std::size_t i = 0; i < part.terms.size(); ++i) {
      const std::uint64_t packed = part.packed[i];
      if ((packed & twin) != 0 &&
          !twins_.try_emplace(packed, static_cast<std::size_t>(group - groups.data())).second)
        continue;
      group->packed.push_back(packed & ~twin);
      group->equal.terms.push_back(part.terms[i]);
    }
  }

  const double* values(const Part& part) const {
    return part.known != nothing ? table_.values(part.known) : part.values.data();
  }

  void add_term(std::uint64_t packed, std::vector<Part>& parts) {
    const Packing::Unpacked term = packing_.unpack(packed);
    if (table_.find(term.plan->op, term.output, term.operands)) return;  // a term that is kept
    TermNode node;
    node.op = term.plan->op;
    node.output = term.output;
    node.operands = term.operands;
    node.cost = static_cast<std::uint8_t>(cost_);
    const std::uint32_t type = term.plan->output_types[term.output];
    std::vector<double> contents =
        values_of(term, {&table_.values_, &table_.offsets_, &table_.weights_});
    for (Part& part : parts) {
      if (part.type != type || !equal_values(values(part), contents.data(), contents.size()))
        continue;
      part.terms.push_back(node);
      part.packed.push_back(packed);
      return;
    }
    parts.push_back({type, nothing, std::move(contents), {node}, {packed}});
  }

  TermTable& table_;
  const Packing& packing_;
  std::size_t cost_;
  absl::flat_hash_map<std::uint64_t, std::size_t> twins_;  // by packed term: its group
};

Result<void> TermTable::visit_largest(std::size_t cost, const Options& options,
                                      const std::function<void(EqualTerms)>& visit) {
  LEMMA_ASSIGN_OR_RETURN(const Level level, Level::of(*this, cost));
  statistics_.pairs_shared += level.shared_pair_count();
  const Packing packing(level);
  LEMMA_RETURN_IF_ERROR(packing.check(classes_.size()));
  std::vector<Group> groups;
  GroupFinder finder(*this, packing, cost);
  // Parts of the keys that fit into memory.
  const double bytes = level.size() * sizeof(Entry);
  const auto parts = static_cast<std::uint64_t>(
      std::clamp(std::ceil(bytes / static_cast<double>(options.memory)), 1.0, 4096.0));
  for (std::uint64_t part = 0; part < parts; ++part) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Entry> entries,
                           collect_entries(level.pieces(), packing, options, part, parts, cost));
    tbb::task_arena arena(options.threads);
    arena.execute([&] { tbb::parallel_sort(entries.begin(), entries.end()); });
    for (std::size_t i = 0; i < entries.size();) {
      std::size_t end = i + 1;
      while (end < entries.size() && entries[end].bucket == entries[i].bucket) ++end;
      if (end - i > 1) finder.add(&entries[i], &entries[i] + (end - i), groups);
      i = end;
    }
  }
  for (Group& group : groups) group.sort_terms();
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.packed[0] < b.packed[0]; });
  for (Group& group : groups) visit(std::move(group.equal));
  return {};
}

}  // namespace lemma::generator
