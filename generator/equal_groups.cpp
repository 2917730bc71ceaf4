#include "generator/equal_groups.h"

#include <algorithm>
#include <numeric>

namespace lemma::generator {
namespace {

constexpr std::size_t read_at_once = 1U << 16U;  // words

}  // namespace

Result<void> EqualGroups::add(const std::vector<std::uint64_t>& words) {
  words_.insert(words_.end(), words.begin(), words.end());
  if (words_.size() <= most_) return {};
  LEMMA_RETURN_IF_ERROR(file_.append(words_.data(), words_.size() * sizeof(std::uint64_t)));
  in_file_ += words_.size();
  words_ = {};
  return {};
}

Result<std::vector<std::uint64_t>> EqualGroups::read(std::uint64_t begin, std::size_t count) const {
  // A group lies in the file or in memory.
  std::vector<std::uint64_t> result;
  if (begin >= in_file_) {
    const auto first = words_.begin() + static_cast<std::ptrdiff_t>(begin - in_file_);
    const auto left = static_cast<std::size_t>(words_.end() - first);
    result.assign(first, first + static_cast<std::ptrdiff_t>(std::min(count, left)));
    return result;
  }
  result.resize(static_cast<std::size_t>(std::min<std::uint64_t>(count, in_file_ - begin)));
  LEMMA_RETURN_IF_ERROR(file_.read(begin * sizeof(std::uint64_t), result.data(),
                                   result.size() * sizeof(std::uint64_t)));
  return result;
}

Result<void> EqualGroups::for_each_batch(std::size_t words, const VisitWords& visit) const {
  const std::uint64_t end = in_file_ + words_.size();
  std::size_t wanted = words;
  for (std::uint64_t at = 0; at < end;) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> found, read(at, wanted));
    std::size_t done = 0;
    while (const auto group = packed_group(found.data() + done, found.size() - done))
      done += group->size();
    if (done > 0) LEMMA_RETURN_IF_ERROR(visit({found.data(), done}));
    // The first one may be larger than what was read.
    wanted = done == 0 ? wanted * 2 : words;
    at += done;
  }
  return {};
}

template <typename Visit>
Result<void> EqualGroups::for_each_added(const Visit& visit) const {
  std::uint32_t number = 0;
  std::uint64_t at = 0;
  return for_each_batch(read_at_once, [&](std::span<const std::uint64_t> words) -> Result<void> {
    for (std::size_t done = 0; done < words.size();) {
      const auto group = packed_group(words.data() + done, words.size() - done);
      visit(number++, at + done, *group);
      done += group->size();
    }
    at += words.size();
    return {};
  });
}

Result<void> EqualGroups::unite(LargestTerms level) {
  level_.emplace(std::move(level));
  std::vector<Twin> twins;
  const auto note = [&](std::uint32_t number, std::uint64_t begin, const PackedGroup& group) {
    std::uint64_t smallest = ~std::uint64_t{0};
    for (const std::uint64_t term : group.terms) {
      smallest = std::min(smallest, term & ~twin);
      if ((term & twin) != 0) twins.push_back({term, number});
    }
    order_.push_back({smallest, begin});
  };
  LEMMA_RETURN_IF_ERROR(for_each_added(note));
  std::sort(twins.begin(), twins.end());
  // Groups are numbered; one that shares a term with others has the number of the first of them.
  std::vector<std::uint32_t> numbers(order_.size());
  std::iota(numbers.begin(), numbers.end(), std::uint32_t{0});
  const auto number_of = [&numbers](std::uint32_t i) {
    while (numbers[i] != i) i = numbers[i] = numbers[numbers[i]];
    return i;
  };
  for (std::size_t i = 1; i < twins.size(); ++i) {
    if (twins[i].term != twins[i - 1].term) continue;
    const std::uint32_t a = number_of(twins[i - 1].group), b = number_of(twins[i].group);
    numbers[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    Place& first = order_[number_of(i)];
    if (&first == &order_[i]) continue;
    first.smallest = std::min(first.smallest, order_[i].smallest);
    others_[first.begin].push_back(order_[i].begin);
  }
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < order_.size(); ++i)
    if (number_of(i) == i) order_[count++] = order_[i];
  order_.resize(count);
  order_.shrink_to_fit();
  std::sort(order_.begin(), order_.end(),
            [](const Place& a, const Place& b) { return a.smallest < b.smallest; });
  return {};
}

Result<Group> EqualGroups::group(std::size_t number) const {
  std::vector<std::uint64_t> begins = {order_[number].begin}, terms;
  if (const auto more = others_.find(begins[0]); more != others_.end())
    begins.insert(begins.end(), more->second.begin(), more->second.end());
  Group result;
  for (const std::uint64_t begin : begins) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> head,
                           read(begin, PackedGroup::head_size));
    const auto size = PackedGroup::head_size + static_cast<std::size_t>(head[2]);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> words, read(begin, size));
    const auto group = packed_group(words.data(), words.size());
    if (!group) return internal_error("a group of equal terms is not whole");
    result.type = group->type;
    result.known = std::min(result.known, group->known);
    for (const std::uint64_t term : group->terms) terms.push_back(term & ~twin);
  }
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  for (const std::uint64_t term : terms) result.terms.push_back(level_->node_of(term));
  return result;
}

}  // namespace lemma::generator
