#include "generator/largest_groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "ranks/packing.h"
#include "system/parallel.h"
#include "system/process_memory.h"

namespace lemma::generator {
namespace {

/// The part of the memory for groups, and the most that is sent at once.
constexpr std::size_t part_for_groups = 16;
constexpr std::size_t part_for_a_batch = 64, largest_batch = std::size_t{1} << 25U;
constexpr std::size_t groups_at_once = 8192;  // between two questions whether to go on
/// Ranges of a run that keeps files, at least: what is lost by an interruption is a part of one.
constexpr std::size_t fewest_kept_ranges = 16;

/// A quarter of the memory; less if much of it is taken.
std::size_t bytes_for_a_range(std::size_t memory) {
  const std::size_t left = memory - std::min(memory, resident_bytes());
  return std::max(memory / 64, std::min(memory / 4, left / 2));
}

}  // namespace

LargestGroups::LargestGroups(TermTable& table, LargestTerms& level, const Job& job)
    : table_(table),
      level_(level),
      options_(job.options),
      files_(job.files),
      is_joined_(job.is_joined),
      ranks_(job.ranks),
      share_{job.ranks.rank(), job.ranks.size()},
      rounds_(job.ranks),
      groups_(job.options.memory / part_for_groups),
      applied_(table.statistics().applications) {
  applied_.resize(table.set().operators.size());
}

Result<EqualGroups> LargestGroups::find() {
  LEMMA_RETURN_IF_ERROR(agree_on_ranges());
  LEMMA_RETURN_IF_ERROR(find_known());
  if (std::find(is_wanted_.begin(), is_wanted_.end(), 1) != is_wanted_.end()) {
    LEMMA_RETURN_IF_ERROR(evaluate());
    LEMMA_RETURN_IF_ERROR(find_new());
  }
  if (share_.size > 1) LEMMA_RETURN_IF_ERROR(gather_groups());
  LEMMA_RETURN_IF_ERROR(gather_statistics());
  return std::move(groups_);
}

/// As many ranges for each rank, each of which fits into the memory of its owner.
Result<void> LargestGroups::agree_on_ranges() {
  range_bytes_ =
      options_.range_bytes > 0 ? options_.range_bytes : bytes_for_a_range(options_.memory);
  const std::size_t fewest = files_.are_kept() ? fewest_kept_ranges : 1;
  const std::size_t count =
      share_.most_of(std::max(fewest, level_.range_count(range_bytes_))) * share_.size;
  LEMMA_ASSIGN_OR_RETURN(const std::string agreed,
                         ranks_.broadcast(ranks::to_bytes(std::vector<std::size_t>{count})));
  ranks::Reader reader(agreed);
  range_count_ = ranks::numbers_of(reader).at(0);
  return {};
}

/// Adds the groups of own ranges that were finished by an earlier run. All ranks learn which ranges are left.
Result<void> LargestGroups::find_known() {
  is_wanted_.assign(range_count_, 0);
  std::vector<std::size_t> own = {table_.digest()};
  for (std::size_t number = share_.rank; number < range_count_; number += share_.size) {
    const std::optional<RangeGroups> known = files_.find({number, range_count_}, level_);
    if (known) LEMMA_RETURN_IF_ERROR(add(*known));
    own.push_back(known ? 0 : 1);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> all, ranks_.gather(ranks::to_bytes(own)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ranks::Reader reader(all[rank]);
    const std::vector<std::size_t> numbers = ranks::numbers_of(reader);
    if (numbers.at(0) != own[0])
      return bad_input(fmt::format(
          "rank {} has other smaller terms than this one: all ranks need the same lemma "
          "on machines of one kind",
          rank));
    for (std::size_t i = 1; i < numbers.size(); ++i)
      is_wanted_.at(rank + (i - 1) * share_.size) = static_cast<char>(numbers[i]);
  }
  return {};
}

/// Evaluates this rank's share of the level; the entries of own ranges come from all ranks.
Result<void> LargestGroups::evaluate() {
  // A vector that grows may take twice what is in it.
  entries_.emplace(share_.most_of(range_count_), range_bytes_ / 2);
  const auto keep = [this](const Entry& entry) {
    return entries_->add(share_.own_number(range_of(entry.bucket, range_count_)), entry);
  };
  for (ClassId id = 0; id < table_.classes().size(); ++id) {
    const Entry entry = level_.entry_of(id);
    const std::size_t range = range_of(entry.bucket, range_count_);
    if (is_wanted_[range] != 0 && share_.has(range)) LEMMA_RETURN_IF_ERROR(keep(entry));
  }
  EntryExchange exchange(ranks_, rounds_, batch_bytes(), keep);
  const auto take = [&](const Entry& entry) -> Result<void> {
    const std::size_t range = range_of(entry.bucket, range_count_);
    if (is_wanted_[range] == 0) return {};
    return exchange.add(range % share_.size, entry);
  };
  std::uint64_t counted = 0;
  LEMMA_RETURN_IF_ERROR(level_.evaluate(take, counted));
  if (share_.size > 1) LEMMA_RETURN_IF_ERROR(exchange.finish());
  if (entries_->range_count() > 1) {
    LEMMA_RETURN_IF_ERROR(entries_->write());
    entries_->release();
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> counts,
                         ranks_.gather(ranks::to_bytes(std::vector<std::size_t>{counted})));
  evaluated_ = 0;
  for (const std::string& text : counts) {
    ranks::Reader reader(text);
    evaluated_ += ranks::numbers_of(reader).at(0);
  }
  return {};
}

/// The groups of own ranges that are not known.
Result<void> LargestGroups::find_new() {
  for (std::size_t number = share_.rank; number < range_count_; number += share_.size) {
    if (is_wanted_[number] == 0) continue;
    LEMMA_ASSIGN_OR_RETURN(std::vector<Entry> own, entries_->take(share_.own_number(number)));
    LEMMA_ASSIGN_OR_RETURN(RangeGroups found, level_.find_groups(std::move(own)));
    LEMMA_RETURN_IF_ERROR(leave_out_joined(found));
    found.evaluated = evaluated_;
    LEMMA_RETURN_IF_ERROR(files_.keep({number, range_count_}, found));
    LEMMA_RETURN_IF_ERROR(add(found));
  }
  entries_.reset();
  return {};
}

Result<void> LargestGroups::leave_out_joined(RangeGroups& range_groups) const {
  std::vector<std::uint64_t>& words = range_groups.words;
  std::vector<PackedGroup> groups;
  for (std::size_t at = 0; at < words.size(); at += groups.back().size())
    groups.push_back(*packed_group(words.data() + at, words.size() - at));
  std::vector<char> are_joined(groups.size());
  for (std::size_t begin = 0; begin < groups.size(); begin += groups_at_once) {
    parallel_for(
        std::min(groups_at_once, groups.size() - begin), options_.threads,
        [&](std::size_t i) { are_joined[begin + i] = is_joined(groups[begin + i]) ? 1 : 0; });
    if (is_cancelled(options_)) return cancellation();
    if (options_.progress)
      options_.progress("groups", static_cast<double>(begin) / static_cast<double>(groups.size()));
  }
  auto end = words.begin();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const PackedGroup& group = groups[i];
    if (are_joined[i] != 0) {
      ++range_groups.joined_groups;
      range_groups.joined_terms += group.terms.size();
      continue;
    }
    const std::uint64_t* begin = group.terms.data() - PackedGroup::head_size;
    end = std::copy(begin, begin + group.size(), end);
  }
  words.erase(end, words.end());
  words.shrink_to_fit();
  return {};
}

/// A group that shares a term with another one is looked at when they are united.
bool LargestGroups::is_joined(const PackedGroup& group) const {
  Group terms;
  terms.known = group.known;
  terms.type = group.type;
  for (const std::uint64_t term : group.terms) {
    if ((term & twin) != 0) return false;
    terms.terms.push_back(level_.node_of(term));
  }
  return is_joined_(terms);
}

Result<void> LargestGroups::add(const RangeGroups& range_groups) {
  evaluated_ = range_groups.evaluated;
  collisions_ += range_groups.collisions;
  joined_groups_ += range_groups.joined_groups;
  joined_terms_ += range_groups.joined_terms;
  return groups_.add(range_groups.words);
}

/// In batches, so that the first rank holds no more at once than it can.
Result<void> LargestGroups::gather_groups() {
  const auto send = [this](std::string words, bool goes_on) -> Result<bool> {
    std::vector<std::string> bytes(share_.size);
    bytes[0] = std::move(words);
    LEMMA_ASSIGN_OR_RETURN(const Rounds::Received received,
                           rounds_.exchange(std::move(bytes), goes_on));
    for (const std::string& part : received.bytes) {
      std::vector<std::uint64_t> parsed(part.size() / sizeof(std::uint64_t));
      std::copy_n(part.data(), part.size(), reinterpret_cast<char*>(parsed.data()));
      if (!parsed.empty()) LEMMA_RETURN_IF_ERROR(groups_.add(parsed));
    }
    return received.more;
  };
  if (!ranks_.is_first()) {
    EqualGroups own = std::move(groups_);
    groups_ = EqualGroups(0);
    const std::size_t words = batch_bytes() / sizeof(std::uint64_t) / share_.size;
    LEMMA_RETURN_IF_ERROR(own.for_each_batch(
        std::max<std::size_t>(words, 1), [&](std::span<const std::uint64_t> batch) {
          return send({reinterpret_cast<const char*>(batch.data()), batch.size_bytes()}, true)
              .map([](bool) {});
        }));
  }
  for (bool more = true; more;) {
    LEMMA_ASSIGN_OR_RETURN(more, send({}, false));
  }
  return {};
}

/// The first rank learns what all have done.
Result<void> LargestGroups::gather_statistics() {
  TermStatistics& statistics = table_.statistics_;
  statistics.applications.resize(applied_.size());
  std::vector<std::size_t> own = {collisions_, joined_groups_, joined_terms_,
                                  rounds_.traffic().bytes};
  const std::size_t head = own.size();
  for (std::size_t op = 0; op < applied_.size(); ++op)
    own.push_back(statistics.applications[op] - applied_[op]);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> all, ranks_.gather(ranks::to_bytes(own)));
  statistics.applications = applied_;
  for (const std::string& bytes : all) {
    ranks::Reader reader(bytes);
    const std::vector<std::size_t> numbers = ranks::numbers_of(reader);
    statistics.collisions += numbers.at(0);
    statistics.joined_groups += numbers.at(1);
    statistics.joined_terms += numbers.at(2);
    statistics.sent_bytes += numbers.at(3);
    for (std::size_t op = 0; op < applied_.size(); ++op)
      statistics.applications[op] += numbers.at(head + op);
  }
  statistics.rounds += rounds_.traffic().rounds;
  statistics.evaluated += evaluated_;
  return {};
}

std::size_t LargestGroups::batch_bytes() const {
  return std::min({options_.memory / part_for_a_batch, range_bytes_, largest_batch});
}

}  // namespace lemma::generator
