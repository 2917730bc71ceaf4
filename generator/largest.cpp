#include "generator/largest.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include <tbb/parallel_sort.h>

#include "generator/equal_groups.h"
#include "generator/largest_groups.h"
#include "system/parallel.h"
#include "system/process_memory.h"

namespace lemma::generator {
namespace {

/// Entries that are compared by one thread at a time: about so many.
constexpr std::size_t chunk_size = 2048;
constexpr std::size_t piece_size = 4096;    // applications
constexpr std::size_t part_for_pairs = 16;  // that share operators, of the memory

}  // namespace

std::optional<PackedGroup> packed_group(const std::uint64_t* words, std::size_t left) {
  if (left < PackedGroup::head_size || words[2] > left - PackedGroup::head_size)
    return std::nullopt;
  return PackedGroup{static_cast<std::uint32_t>(words[0]),
                     static_cast<ClassId>(words[1]),
                     {words + PackedGroup::head_size, static_cast<std::size_t>(words[2])}};
}

Result<LargestTerms> LargestTerms::of(TermTable& table, std::size_t cost, const Options& options) {
  Level::Options level_options;
  level_options.threads = options.threads;
  level_options.piece_size = piece_size;
  level_options.in_order = false;
  level_options.memory = options.memory / part_for_pairs;
  if (options.ranks != nullptr)
    level_options.share = {options.ranks->rank(), options.ranks->size()};
  LEMMA_ASSIGN_OR_RETURN(Level level, Level::of(table, cost, level_options));
  LargestTerms result(table, cost, options, std::move(level));
  LEMMA_RETURN_IF_ERROR(result.packing_.check());
  return result;
}

std::size_t LargestTerms::range_count(std::size_t range_bytes) const {
  const double bytes = level_->size() * sizeof(Entry);
  return static_cast<std::size_t>(
      std::clamp(std::ceil(bytes / static_cast<double>(range_bytes)), 1.0, 4096.0));
}

// ---- Entries ----------------------------------------------------------------------------------

void LargestTerms::evaluate_piece(const Piece& piece, std::vector<Entry>& entries,
                                  std::uint64_t& counted) const {
  LaneEvaluator evaluator(*table_);
  const auto wanted = [this, &piece](const Operands& operands) {
    return table_->uses_first_inputs(table_->inputs_of(operands)) &&
           table_->fits_weights(piece.plan->op, operands);
  };
  const auto add = [&](std::uint64_t packed, std::uint32_t type, double functional) {
    ++counted;
    const TermTable::Key key = table_->key_of(type, functional);
    const bool is_close = key.neighbor != key.bucket;
    const std::uint64_t marked = packed | (is_close ? twin : 0);
    entries.push_back({key.bucket, marked});
    if (is_close) entries.push_back({key.neighbor, marked});
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

Result<void> LargestTerms::evaluate(const Take& take, std::uint64_t& counted) {
  const auto visit = [&](const std::vector<Piece>& pieces, double part) -> Result<void> {
    table_->count_applications(pieces);
    std::vector<std::vector<Entry>> piece_entries(pieces.size());
    std::vector<std::uint64_t> counts(pieces.size());
    parallel_for(pieces.size(), options_.threads,
                 [&](std::size_t i) { evaluate_piece(pieces[i], piece_entries[i], counts[i]); });
    for (std::size_t i = 0; i < piece_entries.size(); ++i) {
      counted += counts[i];
      for (const Entry& entry : piece_entries[i]) LEMMA_RETURN_IF_ERROR(take(entry));
      piece_entries[i] = {};
    }
    if (is_cancelled(options_)) return cancellation();
    if (options_.progress) options_.progress("largest terms", part);
    return {};
  };
  LEMMA_RETURN_IF_ERROR(level_->for_each_batch(*table_, visit));
  level_.reset();
  return {};
}

// ---- Groups -----------------------------------------------------------------------------------

/// Divides the entries of some buckets into groups of equal value.
class BucketReader {
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
        member.values = values_of(id);
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

  const double* values_of(ClassId id) {
    if (const double* kept = table_.values(id); kept != nullptr) return kept;
    const std::size_t size = choice_count * table_.size_of(table_.classes_[id].type);
    const double* values = classes_.all_values(id);
    return class_values_.emplace_back(values, values + size).data();
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

  /// Equal members.
  struct Part {
    const Member* first = nullptr;
    ClassId known = nothing;
    std::vector<std::uint64_t> terms;
  };

  /// Each member is compared with the first one of each part of the bucket; classes come first.
  void divide(std::size_t first, std::size_t last) {
    std::vector<Part> parts;
    for (std::size_t i = first; i < last; ++i) {
      const Member& member = members_[i];
      const bool is_class = Packing::is_class(member.packed);
      const auto is_equal = [&](const Part& part) {
        return part.first->type == member.type &&
               equal_values(part.first->values, member.values,
                            choice_count * table_.size_of(member.type));
      };
      auto part = is_class ? parts.end() : std::find_if(parts.begin(), parts.end(), is_equal);
      if (part == parts.end()) part = parts.insert(parts.end(), {&member, nothing, {}});
      if (is_class)
        part->known = static_cast<ClassId>(member.packed);
      else
        part->terms.push_back(member.packed);
    }
    found_.collisions += parts.size() - 1;
    for (const Part& part : parts)
      if (part.terms.size() + (part.known == nothing ? 0 : 1) > 1) {
        found_.words.insert(found_.words.end(), {part.first->type, part.known, part.terms.size()});
        found_.words.insert(found_.words.end(), part.terms.begin(), part.terms.end());
      }
  }

  const LargestTerms& largest_;
  const TermTable& table_;
  LaneEvaluator evaluator_{table_};
  ClassEvaluator classes_{table_};
  std::deque<std::vector<double>> class_values_;  // of classes whose elements are not kept
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
  std::size_t words = 0;
  for (const RangeGroups& part : chunk_groups) words += part.words.size();
  result.words.reserve(words);
  for (RangeGroups& part : chunk_groups) {
    result.collisions += part.collisions;
    result.words.insert(result.words.end(), part.words.begin(), part.words.end());
    part.words = {};
  }
  return result;
}

TermNode LargestTerms::node_of(std::uint64_t packed) const {
  const Packing::Unpacked term = packing_.unpack(packed);
  TermNode node;
  node.op = term.plan->op;
  node.output = static_cast<std::uint16_t>(term.output);
  node.operands = term.operands;
  node.cost = static_cast<std::uint16_t>(cost_);
  return node;
}

bool LargestTerms::is_group(const PackedGroup& group) const {
  return !group.terms.empty() && group.type < table_->types_.size() &&
         (group.known == nothing || group.known < table_->classes_.size()) &&
         std::all_of(group.terms.begin(), group.terms.end(),
                     [&](std::uint64_t term) { return packing_.is_term(term); });
}

Result<EqualGroups> TermTable::largest(std::size_t cost, const Options& options,
                                       const RangeFiles& files, const IsJoined& is_joined) {
  const std::unique_ptr<ranks::Ranks> alone = ranks::one_rank();
  ranks::Ranks& ranks = options.ranks != nullptr ? *options.ranks : *alone;
  shrink_to(options.memory / 2);  // before and after lists of classes are made
  LEMMA_ASSIGN_OR_RETURN(LargestTerms level, LargestTerms::of(*this, cost, options));
  shrink_to(options.memory / 2);
  const std::uint64_t before = statistics_.evaluated;
  LEMMA_ASSIGN_OR_RETURN(EqualGroups groups,
                         LargestGroups(*this, level, {options, files, is_joined, ranks}).find());
  statistics_.evaluated_by_cost.resize(cost + 1);
  statistics_.evaluated_by_cost[cost] += statistics_.evaluated - before;
  values_.shrink_to(0);  // no term is evaluated after these
  give_back_memory();
  LEMMA_RETURN_IF_ERROR(groups.unite(std::move(level)));
  return groups;
}

}  // namespace lemma::generator
