#include "partial/halo.h"

#include "partial/reads.h"
#include "partial/rule_sizes.h"

namespace lemma::partial {
namespace {

RuleExpression list_of(const std::vector<Dimension>& sizes) {
  RuleExpression list;
  list.kind = RuleExpression::Kind::list;
  for (const Dimension& size : sizes) list.arguments.push_back(*parse_rule_expression(size.text()));
  return list;
}

TermId added(Substitution& rule, RuleTerm term) {
  rule.terms.push_back(std::move(term));
  return {static_cast<std::uint32_t>(rule.terms.size() - 1)};
}

/// The part of an axis that windows read, and the zeros that remain before and after it.
struct Window {
  Interval read;
  Dimension before, after;
};

/// The windows of a part of the outputs. Where a margin of zeros is reached is known if it is at a number of indices from the
/// border; otherwise the part has to be inside.
Window window_of(const Interval& part, const ReadAxis& read, const Dimension& zeros_after,
                 std::vector<Dimension>& needed) {
  Window result;
  const Dimension first = part.begin * read.reach.factor + read.reach.least;
  const Dimension past = (part.end - 1) * read.reach.factor + read.reach.greatest + 1;
  const Dimension rest = read.extent - past;
  const bool at_begin = part.begin.is(0);
  const bool at_end =
      rest == Dimension(0) - zeros_after || (rest.is_constant() && rest.offset() < 0);
  result.read.begin = at_begin ? Dimension(0) : first;
  result.before = at_begin ? Dimension(0) - read.reach.least : Dimension(0);
  result.read.end = at_end ? read.extent : past;
  result.after = at_end ? Dimension(0) - rest : Dimension(0);
  if (!at_begin) needed.push_back(first);
  if (!at_end) needed.push_back(rest);
  return result;
}

/// Element i is read for element i, and no other.
bool is_same_element(const Reach& reach) {
  return reach.factor.is(1) && reach.least.is(0) && reach.greatest.is(0);
}

/// An operator whose pads are margins of zeros, such as a convolution. What it reads is told by its definition.
class PartsOfWindows {
 public:
  PartsOfWindows(Substitution& rule, TermId id) : rule_(rule), id_(id), term_(rule.terms[id.v]) {}

  std::optional<TermId> of(const std::vector<Part>& parts, std::vector<Dimension>& needed) {
    if (term_.is_input) return std::nullopt;
    const auto pads = sizes_of_attribute(rule_, term_, "pads");
    if (!pads) return std::nullopt;
    pads_ = *pads;
    of_operands_.resize(term_.operands.size());
    for (const Part& part : parts)
      if (!add(part, needed)) return std::nullopt;
    RuleTerm copy = term_;
    for (auto& [name, value] : copy.attributes)
      if (name == "pads") value = list_of(pads_);
    for (std::size_t k = 0; k < copy.operands.size(); ++k)
      copy.operands[k] = sliced(rule_, term_.operands[k], of_operands_[k]);
    return added(rule_, std::move(copy));
  }

 private:
  bool add(const Part& part, std::vector<Dimension>& needed) {
    const auto reads = reads_along(rule_, id_, part.axis);
    if (!reads) return false;
    for (const ReadAxis& read : *reads) {
      if (is_same_element(read.reach)) {
        of_operands_[read.operand].push_back({read.axis, part.interval});
        continue;
      }
      // Only the last axes of the first operand have pads, one before and one after.
      const std::size_t axes = pads_.size() / 2, rank = rank_of(read.operand);
      if (read.operand != 0 || read.axis + axes < rank) return false;
      const std::size_t k = read.axis + axes - rank;
      const Window window = window_of(part.interval, read, pads_[axes + k], needed);
      pads_[k] = window.before;
      pads_[axes + k] = window.after;
      of_operands_[read.operand].push_back({read.axis, window.read});
    }
    return true;
  }

  std::size_t rank_of(std::size_t operand) const {
    const auto shape = shape_of(rule_, term_.operands[operand]);
    return shape ? shape->size() : 0;
  }

  Substitution& rule_;
  const TermId id_;
  const RuleTerm term_;
  Shape pads_;
  std::vector<std::vector<Part>> of_operands_;
};

}  // namespace

std::optional<TermId> parts_of_windows(Substitution& rule, TermId term,
                                       const std::vector<Part>& parts,
                                       std::vector<Dimension>& needed) {
  return PartsOfWindows(rule, term).of(parts, needed);
}

TermId sliced(Substitution& rule, TermId term, const std::vector<Part>& parts) {
  if (parts.empty()) return term;
  std::vector<Dimension> axes, starts, ends;
  for (const Part& part : parts) {
    axes.emplace_back(static_cast<std::int64_t>(part.axis));
    starts.push_back(part.interval.begin);
    ends.push_back(part.interval.end);
  }
  RuleTerm slice;
  slice.op = operator_named("Slice");
  slice.attributes = {
      {"axes", list_of(axes)}, {"ends", list_of(ends)}, {"starts", list_of(starts)}};
  slice.operands = {term};
  return added(rule, std::move(slice));
}

TermId joined(Substitution& rule, const std::vector<TermId>& terms, std::size_t axis) {
  if (terms.size() == 1) return terms.front();
  RuleTerm concat;
  concat.op = operator_named("Concat");
  RuleExpression place;
  place.literal = static_cast<std::int64_t>(axis);
  concat.attributes = {{"axis", std::move(place)}};
  concat.operands = terms;
  return added(rule, std::move(concat));
}

}  // namespace lemma::partial
