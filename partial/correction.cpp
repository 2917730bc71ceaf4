#include "partial/correction.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "generator/free_factors.h"
#include "partial/halo.h"
#include "partial/rule_sizes.h"
#include "rule_language/substitution_analysis.h"
#include "rule_language/substitution_use.h"

namespace lemma::partial {
namespace {

/// Parts of the axes of which the box is not all.
std::vector<Part> parts_of(const Box& box, const Shape& extents) {
  std::vector<Part> result;
  for (std::size_t axis = 0; axis < box.size(); ++axis)
    if (!is_whole(box[axis], extents[axis])) result.push_back({axis, box[axis]});
  return result;
}

/// The claim about one box.
Substitution claim_of(const Substitution& partial, const Box& box, const Shape& extents) {
  Substitution claim = partial;
  const std::vector<Part> parts = parts_of(box, extents);
  claim.left = {sliced(claim, partial.left.front(), parts)};
  claim.right = {sliced(claim, partial.right.front(), parts)};
  detail::number_terms(claim);
  return claim;
}

/// Sizes that have to be at least 0: of the parts of an axis, and of what lies between them.
std::vector<Dimension> lengths_of(const Region& region) {
  std::vector<Dimension> result;
  for (std::size_t axis = 0; axis < region.axes.size(); ++axis) {
    Dimension at = 0;
    for (const Interval& interval : region.axes[axis]) {
      result.push_back(interval.begin - at);
      result.push_back(interval.end - interval.begin);
      at = interval.end;
    }
    result.push_back(region.extents[axis] - at);
  }
  return result;
}

/// The target, part by part.
class Assembly {
 public:
  Assembly(Substitution& rule, const Region& region, std::vector<Dimension>& needed)
      : rule_(rule),
        target_(rule.left.front()),
        other_(rule.right.front()),
        region_(region),
        needed_(needed) {}

  TermId run() { return assembled(0, {}); }

 private:
  TermId assembled(std::size_t axis, const std::vector<Part>& parts) {
    if (axis == region_.axes.size()) return sliced(rule_, other_, parts);
    const std::vector<Interval>& intervals = region_.axes[axis];
    if (intervals.size() == 1 && is_whole(intervals.front(), region_.extents[axis]))
      return assembled(axis + 1, parts);
    std::vector<TermId> pieces;
    Dimension at = 0;
    const auto correct_until = [&](const Dimension& end) {
      if (at == end) return;
      pieces.push_back(target_on(with(parts, {axis, {at, end}})));
    };
    for (const Interval& interval : intervals) {
      correct_until(interval.begin);
      pieces.push_back(assembled(axis + 1, with(parts, {axis, interval})));
      at = interval.end;
    }
    correct_until(region_.extents[axis]);
    return joined(rule_, pieces, axis);
  }

  static std::vector<Part> with(std::vector<Part> parts, Part part) {
    parts.push_back(std::move(part));
    return parts;
  }

  TermId target_on(const std::vector<Part>& parts) {
    if (const auto pushed = parts_of_windows(rule_, target_, parts, needed_)) return *pushed;
    return sliced(rule_, target_, parts);
  }

  Substitution& rule_;
  const TermId target_, other_;
  const Region& region_;
  std::vector<Dimension>& needed_;
};

Region shifted_region(const Region& region, const Shifts& shifts) {
  Region result = region;
  for (Dimension& extent : result.extents) extent = shifted(extent, shifts);
  for (std::vector<Interval>& axis : result.axes)
    for (Interval& interval : axis)
      interval = {shifted(interval.begin, shifts), shifted(interval.end, shifts)};
  return result;
}

/// A parameter that stands in the shape of an input by now is a size of it.
void drop_parameters_of_shapes(Substitution& rule) {
  std::set<std::string> names;
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& size : input.shape)
      detail::for_each_expression(size, [&names](const RuleExpression& expression) {
        if (expression.kind == RuleExpression::Kind::variable) names.insert(expression.name);
      });
  std::erase_if(rule.parameters, [&names](const RuleParameter& parameter) {
    return names.contains(parameter.name);
  });
}

/// Shifts the variables of a rule and its region.
void shift(Substitution& rule, Region& region, const Shifts& shifts) {
  for (const auto& [name, amount] : shifts)
    generator::shift_variable(rule, name, *parse_rule_expression(amount.text()));
  region = shifted_region(region, shifts);
  drop_parameters_of_shapes(rule);
}

/// Fewer indices at each side that is no border of the output.
Region smaller(const Region& region, std::int64_t margin) {
  Region result = region;
  for (std::size_t axis = 0; axis < region.axes.size(); ++axis)
    for (Interval& interval : result.axes[axis]) {
      if (!interval.begin.is(0)) interval.begin = interval.begin + margin;
      if (!(interval.end == region.extents[axis])) interval.end = interval.end - margin;
    }
  return result;
}

/// Proves each box of the region; the reason if there is none.
std::string prove_boxes(const Substitution& partial, const Region& region,
                        std::vector<ProvedBox>& boxes) {
  boxes.clear();
  for (const Box& box : boxes_of(region)) {
    ProvedBox proved;
    proved.box = box;
    proved.claim = claim_of(partial, box, region.extents);
    if (auto checked = detail::check_substitution(proved.claim); !checked)
      return checked.error().message;
    proved.proof = proof_with_defined_inputs(proved.claim);
    if (!proved.proof.proved) return fmt::format("{}: {}", text(box), proved.proof.reason);
    boxes.push_back(std::move(proved));
  }
  return "";
}

/// Variables of the rule take values for which all parts have a size of 0 or more, margins included.
bool make_room(Substitution& partial, Region& region) {
  constexpr int most_rounds = 4;
  for (int round = 0; round < most_rounds; ++round) {
    std::vector<Dimension> needed = lengths_of(region);
    Substitution trial = partial;
    (void)Assembly(trial, region, needed).run();
    const auto shifts = shifts_for(needed);
    if (!shifts) return false;
    if (shifts->empty()) return true;
    shift(partial, region, *shifts);
  }
  return false;
}

Substitution assembled_rule(const Substitution& partial, const Region& region) {
  Substitution rule = partial;
  std::vector<Dimension> needed;
  const TermId whole = Assembly(rule, region, needed).run();
  rule.right = {whole};
  rule.bidirectional = false;
  detail::number_terms(rule);
  return rule;
}

}  // namespace

verifier::IndexProof proof_with_defined_inputs(Substitution& rule) {
  verifier::IndexOptions options;
  options.assume_defined = true;
  verifier::IndexProof proof = verifier::prove_by_index(rule, options);
  if (!proof.proved) return proof;
  for (RuleInput& input : rule.inputs)
    input.defined = input.defined || proof.reads_more.contains(input.name);
  return verifier::prove_by_index(rule);
}

namespace {

/// Whether some axis has no index for any sizes.
bool is_empty(const Region& region) {
  return std::any_of(region.axes.begin(), region.axes.end(), [](const auto& axis) {
    return std::all_of(axis.begin(), axis.end(), [](const Interval& interval) {
      const auto length = (interval.end - interval.begin).constant();
      return length && *length <= 0;
    });
  });
}

/// Variables that are taken to be positive: none, each one by itself if that is asked for, and all.
std::vector<Shifts> positive_variables(const Substitution& rule, bool one_by_one) {
  std::vector<Shifts> result = {{}};
  Shifts all;
  for (const std::string& name : variable_names(rule)) {
    if (one_by_one) result.push_back({{name, 1}});
    all[name] = 1;
  }
  result.push_back(std::move(all));
  return result;
}

/// The rule of one region, with the proofs of its boxes and its own.
Correction correction_on(Substitution partial, Region region) {
  Correction result;
  if (!make_room(partial, region)) {
    result.reason = "no sizes are large enough for " + text(boxes_of(region).front());
    return result;
  }
  if (is_empty(region)) {
    result.reason = "nothing is left of the region";
    return result;
  }
  result.reason = prove_boxes(partial, region, result.boxes);
  if (!result.reason.empty()) return result;
  result.region = region;
  result.rule = assembled_rule(partial, region);
  if (auto checked = detail::check_substitution(result.rule); !checked) {
    result.reason = checked.error().message;
    return result;
  }
  const verifier::IndexProof proof = proof_with_defined_inputs(result.rule);
  if (!proof.proved) result.reason = "the parts together: " + proof.reason;
  return result;
}

}  // namespace

Correction corrected(Substitution partial, Region region) {
  constexpr std::int64_t most_margin = 2;
  Correction result;
  partial.bidirectional = false;
  std::string first_reason;
  for (std::int64_t margin = 0; margin <= most_margin; ++margin)
    for (const Shifts& positive : positive_variables(partial, margin == 0)) {
      Substitution rule = partial;
      Region less = smaller(region, margin);
      shift(rule, less, positive);
      result = correction_on(std::move(rule), std::move(less));
      if (result.reason.empty()) return result;
      if (first_reason.empty()) first_reason = result.reason;
    }
  result.reason = first_reason;
  return result;
}

}  // namespace lemma::partial
