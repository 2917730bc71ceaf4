#include "partial/halo.h"

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

/// What windows of one axis do.
struct Windows {
  Dimension stride, dilation, kernel, before, after, extent;
};

/// The windows of a part of the outputs. Where a margin of zeros is reached is known if it is at a number of indices from the
/// border; otherwise the part has to be inside.
Window window_of(const Interval& part, const Windows& windows, std::vector<Dimension>& needed) {
  Window result;
  const Dimension first = part.begin * windows.stride - windows.before;
  const Dimension past = (part.end - 1) * windows.stride + windows.dilation * (windows.kernel - 1) +
                         1 - windows.before;
  const Dimension rest = windows.extent - past;
  const bool at_begin = part.begin.is(0);
  const bool at_end =
      rest == Dimension(0) - windows.after || (rest.is_constant() && rest.offset() < 0);
  result.read.begin = at_begin ? Dimension(0) : first;
  result.before = at_begin ? windows.before : Dimension(0);
  result.read.end = at_end ? windows.extent : past;
  result.after = at_end ? Dimension(0) - rest : Dimension(0);
  if (!at_begin) needed.push_back(first);
  if (!at_end) needed.push_back(rest);
  return result;
}

/// A convolution, its attributes and the shapes of its operands.
class PartsOfConvolution {
 public:
  PartsOfConvolution(Substitution& rule, TermId term) : rule_(rule), term_(rule.terms[term.v]) {}

  std::optional<TermId> of(const std::vector<Part>& parts, std::vector<Dimension>& needed) {
    if (term_.is_input || record(term_.op).name != "Conv" || !read_sizes()) return std::nullopt;
    std::vector<Part> of_image, of_kernels;
    std::vector<Dimension> pads = pads_;
    const std::size_t axes = image_.size() - 2;
    for (const Part& part : parts) {
      if (part.axis == 1) {
        if (!is_one_group()) return std::nullopt;
        of_kernels.push_back({0, part.interval});
        continue;
      }
      if (part.axis == 0) {
        of_image.push_back(part);
        continue;
      }
      const std::size_t k = part.axis - 2;
      const Window window = window_of(part.interval,
                                      {strides_[k], dilations_[k], kernel_[part.axis], pads_[k],
                                       pads_[axes + k], image_[part.axis]},
                                      needed);
      pads[k] = window.before;
      pads[axes + k] = window.after;
      of_image.push_back({part.axis, window.read});
    }
    RuleTerm copy = term_;
    for (auto& [name, value] : copy.attributes)
      if (name == "pads") value = list_of(pads);
    copy.operands[0] = sliced(rule_, term_.operands[0], of_image);
    copy.operands[1] = sliced(rule_, term_.operands[1], of_kernels);
    return added(rule_, std::move(copy));
  }

 private:
  bool read_sizes() {
    if (term_.operands.size() != 2) return false;
    const auto image = shape_of(rule_, term_.operands[0]),
               kernel = shape_of(rule_, term_.operands[1]);
    const auto strides = sizes_of_attribute(rule_, term_, "strides"),
               pads = sizes_of_attribute(rule_, term_, "pads"),
               dilations = sizes_of_attribute(rule_, term_, "dilations");
    if (!image || !kernel || !strides || !pads || !dilations) return false;
    image_ = *image;
    kernel_ = *kernel;
    strides_ = *strides;
    pads_ = *pads;
    dilations_ = *dilations;
    return true;
  }

  /// Kernels see all channels.
  bool is_one_group() const { return image_[1] == kernel_[1]; }

  Substitution& rule_;
  const RuleTerm term_;
  Shape image_, kernel_, strides_, pads_, dilations_;
};

}  // namespace

std::optional<TermId> parts_of_convolution(Substitution& rule, TermId term,
                                           const std::vector<Part>& parts,
                                           std::vector<Dimension>& needed) {
  return PartsOfConvolution(rule, term).of(parts, needed);
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
