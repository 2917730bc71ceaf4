#include "generator/largest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <tbb/parallel_sort.h>

#include "generator/range_file.h"
#include "system/parallel.h"

namespace lemma::generator {
namespace {

/// Entries that are compared by one thread at a time: about so many.
constexpr std::size_t chunk_size = 2048;

}  // namespace

Result<LargestTerms> LargestTerms::of(TermTable& table, std::size_t cost, const Options& options) {
  LEMMA_ASSIGN_OR_RETURN(Level level, Level::of(table, cost, options.threads));
  table.count_applications(level);
  table.statistics_.pairs_shared += level.shared_pair_count();
  LargestTerms result(table, cost, options, std::move(level));
  LEMMA_RETURN_IF_ERROR(result.packing_.check(table.classes_.size()));
  return result;
}

std::uint64_t LargestTerms::range_count() const {
  const double bytes = level_.size() * sizeof(Entry);
  return static_cast<std::uint64_t>(
      std::clamp(std::ceil(bytes / static_cast<double>(options_.memory)), 1.0, 4096.0));
}

// ---- Entries ----------------------------------------------------------------------------------

void LargestTerms::evaluate_piece(const Piece& piece, KeyRange range, std::vector<Entry>& entries,
                                  std::uint64_t& counted) const {
  LaneEvaluator evaluator(class_values());
  const auto wanted = [this, &piece](const Operands& operands) {
    return table_->uses_first_inputs(table_->inputs_of(operands)) &&
           table_->fits_weights(piece.plan->op, operands);
  };
  const auto add = [&](std::uint64_t packed, std::uint32_t type, double functional) {
    ++counted;
    const TermTable::Key key = table_->key_of(type, functional);
    const bool is_close = key.neighbor != key.bucket;
    const std::uint64_t marked = packed | (is_close ? twin : 0);
    if (range.contains(key.bucket)) entries.push_back({key.bucket, marked});
    if (is_close && range.contains(key.neighbor)) entries.push_back({key.neighbor, marked});
  };
  run_piece(piece, evaluator, wanted, [&](LaneEvaluator& lanes) {
    lanes.run(0);
    for (std::uint32_t output = 0; output < piece.plan->tape.outputs.size(); ++output) {
      double functional[tape_lanes];
      lanes.functional(output, functional);
      for (std::size_t lane = 0; lane < lanes.count(); ++lane)
        if (!std::isnan(functional[lane]))
          add(packing_.pack(*piece.plan, output, lanes.operands(lane)),
              piece.plan->output_types[output], functional[lane]);
    }
  });
}

Result<std::vector<Entry>> LargestTerms::entries(KeyRange range, std::uint64_t& counted) const {
  std::vector<Entry> result;
  for (ClassId id = 0; id < table_->classes_.size(); ++id)
    if (range.contains(table_->keys_[id])) result.push_back({table_->keys_[id], id});
  counted = 0;
  const std::vector<Piece>& pieces = level_.pieces();
  for (std::size_t begin = 0; begin < pieces.size(); begin += pieces_at_once) {
    const std::size_t end = std::min(pieces.size(), begin + pieces_at_once);
    std::vector<std::vector<Entry>> piece_entries(end - begin);
    std::vector<std::uint64_t> counts(end - begin);
    parallel_for(piece_entries.size(), options_.threads, [&](std::size_t i) {
      evaluate_piece(pieces[begin + i], range, piece_entries[i], counts[i]);
    });
    for (std::size_t i = 0; i < piece_entries.size(); ++i) {
      counted += counts[i];
      result.insert(result.end(), piece_entries[i].begin(), piece_entries[i].end());
      piece_entries[i] = {};
    }
    if (is_cancelled(options_)) return cancellation();
    if (options_.progress)
      options_.progress("largest terms",
                        (static_cast<double>(range.number) +
                         static_cast<double>(end) / static_cast<double>(pieces.size())) /
                            static_cast<double>(range.count));
  }
  return result;
}

// ---- Groups -----------------------------------------------------------------------------------

/// Divides the entries of some buckets into groups of equal value.
class LargestTerms::BucketReader {
 public:
  explicit BucketReader(const LargestTerms& largest) : largest_(largest), table_(*largest.table_) {}

  RangeGroups read(const Entry* begin, const Entry* end) {
    for (const Entry* entry = begin; entry != end;) {
      const Entry* next = entry + 1;
      while (next != end && next->bucket == entry->bucket) ++next;
      if (next - entry > 1) add_bucket(entry, next);
      entry = next;
    }
    evaluate();
    for (const auto& [first, last] : buckets_) divide(first, last);
    return std::move(found_);
  }

 private:
  struct Member {
    std::uint64_t packed = 0;
    Packing::Unpacked term;  // unless it is a class
    std::uint32_t type = 0;
    const double* values = nullptr;
  };

  void add_bucket(const Entry* begin, const Entry* end) {
    const std::size_t first = members_.size();
    for (const Entry* entry = begin; entry != end; ++entry) {
      Member member;
      member.packed = entry->packed;
      if (Packing::is_class(entry->packed)) {
        const auto id = static_cast<ClassId>(entry->packed);
        member.type = table_.classes_[id].type;
        member.values = table_.values(id);
      } else {
        member.term = largest_.packing_.unpack(entry->packed);
        const auto& [plan, output, operands] = member.term;
        if (table_.find(plan->op, output, operands)) continue;  // a term that is kept
        member.type = plan->output_types[output];
      }
      members_.push_back(member);
    }
    if (members_.size() - first < 2)
      members_.resize(first);
    else
      buckets_.emplace_back(first, members_.size());
  }

  /// All terms, those of one plan side by side.
  void evaluate() {
    std::vector<std::size_t> order;
    std::size_t size = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].values != nullptr) continue;
      order.push_back(i);
      size += choice_count * table_.size_of(members_[i].type);
    }
    // The head of a packed term is its plan and output.
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return head(members_[a]) < head(members_[b]);
    });
    values_.resize(size);
    double* at = values_.data();
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i;
      while (end < order.size() && end - i < tape_lanes &&
             head(members_[order[end]]) == head(members_[order[i]]))
        ++end;
      at = evaluate(&order[i], end - i, at);
      i = end;
    }
  }

  static std::uint64_t head(const Member& member) { return (member.packed & ~twin) >> 48U; }

  double* evaluate(const std::size_t* numbers, std::size_t count, double* at) {
    const Packing::Unpacked& first = members_[numbers[0]].term;
    const std::size_t size = table_.size_of(members_[numbers[0]].type);
    evaluator_.start(*first.plan);
    for (std::size_t lane = 0; lane < count; ++lane) {
      evaluator_.add(members_[numbers[lane]].term.operands);
      members_[numbers[lane]].values = at + lane * choice_count * size;
    }
    for (std::size_t choice = 0; choice < choice_count; ++choice) {
      evaluator_.run(choice);
      for (std::size_t lane = 0; lane < count; ++lane)
        evaluator_.copy_values(first.output, lane, at + (lane * choice_count + choice) * size);
    }
    return at + count * choice_count * size;
  }

  /// Each member is compared with the first one of each part of the bucket; classes come first.
  void divide(std::size_t first, std::size_t last) {
    std::vector<std::pair<const Member*, PackedGroup>> parts;
    for (std::size_t i = first; i < last; ++i) {
      const Member& member = members_[i];
      const bool is_class = Packing::is_class(member.packed);
      const auto is_equal = [&](const auto& part) {
        return part.first->type == member.type &&
               equal_values(part.first->values, member.values,
                            choice_count * table_.size_of(member.type));
      };
      auto part = is_class ? parts.end() : std::find_if(parts.begin(), parts.end(), is_equal);
      if (part == parts.end())
        part = parts.insert(parts.end(), {&member, {member.type, nothing, {}}});
      if (is_class)
        part->second.known = static_cast<ClassId>(member.packed);
      else
        part->second.terms.push_back(member.packed);
    }
    found_.collisions += parts.size() - 1;
    for (auto& [member, group] : parts)
      if (group.terms.size() + (group.known == nothing ? 0 : 1) > 1)
        found_.groups.push_back(std::move(group));
  }

  const LargestTerms& largest_;
  const TermTable& table_;
  LaneEvaluator evaluator_{largest_.class_values()};
  std::vector<Member> members_;
  std::vector<std::pair<std::size_t, std::size_t>> buckets_;  // of members: first and last
  std::vector<double> values_;
  RangeGroups found_;
};

Result<RangeGroups> LargestTerms::find_groups(std::vector<Entry> entries) const {
  with_threads(options_.threads, [&] { tbb::parallel_sort(entries.begin(), entries.end()); });
  // A bucket is read where it begins.
  const std::size_t chunks = (entries.size() + chunk_size - 1) / chunk_size;
  const auto begin_of = [&entries](std::size_t chunk) {
    std::size_t i = std::min(entries.size(), chunk * chunk_size);
    while (i > 0 && i < entries.size() && entries[i].bucket == entries[i - 1].bucket) ++i;
    return entries.data() + i;
  };
  std::vector<RangeGroups> chunk_groups(chunks);
  constexpr std::size_t at_once = 1024;
  for (std::size_t begin = 0; begin < chunks; begin += at_once) {
    parallel_for(std::min(chunks - begin, at_once), options_.threads, [&](std::size_t i) {
      const std::size_t chunk = begin + i;
      chunk_groups[chunk] = BucketReader(*this).read(begin_of(chunk), begin_of(chunk + 1));
    });
    if (is_cancelled(options_)) return cancellation();
  }
  RangeGroups result;
  for (RangeGroups& part : chunk_groups) {
    result.collisions += part.collisions;
    std::move(part.groups.begin(), part.groups.end(), std::back_inserter(result.groups));
  }
  return result;
}

TermNode LargestTerms::node_of(std::uint64_t packed) const {
  const Packing::Unpacked term = packing_.unpack(packed);
  TermNode node;
  node.op = term.plan->op;
  node.output = term.output;
  node.operands = term.operands;
  node.cost = static_cast<std::uint8_t>(cost_);
  return node;
}

std::vector<EqualTerms> LargestTerms::united(std::vector<PackedGroup> groups) const {
  // Groups are numbered; one that shares a term with others has the number of the first of them.
  std::vector<std::size_t> numbers(groups.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const auto number_of = [&numbers](std::size_t i) {
    while (numbers[i] != i) i = numbers[i] = numbers[numbers[i]];
    return i;
  };
  absl::flat_hash_map<std::uint64_t, std::size_t> twins;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const std::uint64_t term : groups[i].terms) {
      if ((term & twin) == 0) continue;
      const std::size_t a = number_of(twins.try_emplace(term, i).first->second), b = number_of(i);
      numbers[std::max(a, b)] = std::min(a, b);
    }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    PackedGroup& to = groups[number_of(i)];
    if (&to == &groups[i]) continue;
    to.known = std::min(to.known, groups[i].known);
    to.terms.insert(to.terms.end(), groups[i].terms.begin(), groups[i].terms.end());
    groups[i] = {};
  }
  std::erase_if(groups, [](const PackedGroup& group) { return group.terms.empty(); });
  for (PackedGroup& group : groups) {
    for (std::uint64_t& term : group.terms) term &= ~twin;
    std::sort(group.terms.begin(), group.terms.end());
    group.terms.erase(std::unique(group.terms.begin(), group.terms.end()), group.terms.end());
  }
  std::sort(groups.begin(), groups.end(),
            [](const PackedGroup& a, const PackedGroup& b) { return a.terms[0] < b.terms[0]; });
  std::vector<EqualTerms> result;
  for (PackedGroup& group : groups) {
    EqualTerms& equal = result.emplace_back();
    equal.known = group.known;
    equal.type = group.type;
    for (const std::uint64_t term : group.terms) equal.terms.push_back(node_of(term));
    group = {};
  }
  return result;
}

Result<RangeGroups> LargestTerms::evaluate(KeyRange range) const {
  std::uint64_t counted = 0;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Entry> all, entries(range, counted));
  LEMMA_ASSIGN_OR_RETURN(RangeGroups range_groups, find_groups(std::move(all)));
  range_groups.evaluated = counted;
  return range_groups;
}

bool LargestTerms::is_group(const PackedGroup& group) const {
  const std::size_t classes = table_->classes_.size();
  return !group.terms.empty() && group.type < table_->types_.size() &&
         (group.known == nothing || group.known < classes) &&
         std::all_of(group.terms.begin(), group.terms.end(),
                     [&](std::uint64_t term) { return packing_.is_term(term, classes); });
}

Result<std::vector<EqualTerms>> TermTable::largest(std::size_t cost, const Options& options,
                                                   const RangeFiles& files) {
  LEMMA_ASSIGN_OR_RETURN(const LargestTerms level, LargestTerms::of(*this, cost, options));
  std::vector<PackedGroup> groups;
  const std::uint64_t ranges = level.range_count();
  for (std::uint64_t number = 0; number < ranges; ++number) {
    std::optional<RangeGroups> range_groups = files.find({number, ranges}, level);
    if (!range_groups) {
      LEMMA_ASSIGN_OR_RETURN(range_groups, level.evaluate({number, ranges}));
      LEMMA_RETURN_IF_ERROR(files.keep({number, ranges}, *range_groups));
    }
    if (number == 0) {
      statistics_.evaluated += range_groups->evaluated;
      statistics_.evaluated_by_cost[cost] += range_groups->evaluated;
    }
    statistics_.collisions += range_groups->collisions;
    std::move(range_groups->groups.begin(), range_groups->groups.end(), std::back_inserter(groups));
  }
  return level.united(std::move(groups));
}

}  // namespace lemma::generator
