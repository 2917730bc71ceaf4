#include <algorithm>
#include <optional>

#include "backend_cuda/libraries/match.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::Sizes;
using lowering::Term;

/// How a window slides along one axis.
struct Slide {
  std::int64_t window = 1, stride = 1, dilation = 1, pad = 0;
};

class WindowMatcher {
 public:
  explicit WindowMatcher(const NestView& view)
      : view_(view), graph_(view.nest.graph), output_(view.nest.sizes) {
    find_output_positions();
  }

  Result<WindowMatch> run() {
    const ExpressionKind kind = graph_.term(view_.reduction).kind;
    if (view_.factors.size() == 1 && view_.addends.empty() && !view_.relu) {
      if (kind == ExpressionKind::maximum_over && !view_.divided)
        return not_swapped(pool(Pool::Kind::maximum));
      if (kind == ExpressionKind::sum && view_.divided)
        return not_swapped(pool(view_.divided_by_constant ? Pool::Kind::average_with_padding
                                                          : Pool::Kind::average));
    }
    if (kind == ExpressionKind::sum && view_.factors.size() == 2 && !view_.divided)
      return convolution();
    return unsupported(no_window);
  }

 private:
  static Result<WindowMatch> not_swapped(Result<LibraryProblem> matched) {
    if (!matched) return tl::unexpected(matched.error());
    return WindowMatch{*std::move(matched), false};
  }

  static constexpr const char* no_window = "it slides no window over its input";

  /// Index of each axis of the output, in loop variables.
  void find_output_positions() {
    std::size_t next = 0;
    for (const std::int64_t size : output_) {
      Linear form;
      std::int64_t covered = 1;
      while (covered < size) {
        const LoopVariable v = view_.nest.axes[next++];
        form = lowering::combine(lowering::scale(form, graph_.extent(v)), Linear::atom(v));
        covered *= graph_.extent(v);
      }
      positions_.push_back(std::move(form));
    }
  }

  const Sizes& sizes_of(const Term& read) const { return graph_.inputs()[read.input].sizes; }

  bool is_bound(lowering::AtomId atom) const {
    const auto& bound = graph_.term(view_.reduction).bound;
    return std::find(bound.begin(), bound.end(), atom) != bound.end();
  }

  /// index = stride * o + dilation * k - pad, where o is the place of the window and k that in it.
  std::optional<Slide> slide_of(const Linear& index, std::size_t axis) const {
    Slide slide;
    slide.pad = -index.constant;
    const Linear& position = positions_[axis];
    for (const auto& [atom, coefficient] : index.terms) {
      if (position == Linear::atom(atom)) {
        slide.stride = coefficient;
      } else if (is_bound(atom) && slide.window == 1) {
        slide.window = graph_.extent(atom);
        slide.dilation = coefficient;
      } else {
        return std::nullopt;
      }
    }
    if (slide.pad < 0 || slide.stride < 1 || slide.dilation < 1) return std::nullopt;
    return slide;
  }

  /// Libraries make the output as large as the same padding at both ends allows.
  Result<std::vector<Slide>> slides_of(const Term& data) const {
    std::vector<Slide> result;
    for (std::size_t axis = 2; axis < output_.size(); ++axis) {
      const auto slide = slide_of(data.indices[axis], axis);
      if (!slide) return unsupported(no_window);
      result.push_back(*slide);
    }
    return result;
  }

  static bool fits(const Slide& slide, std::int64_t input, std::int64_t output) {
    const std::int64_t span = slide.dilation * (slide.window - 1) + 1;
    const std::int64_t room = input + 2 * slide.pad - span;
    return room >= 0 && room / slide.stride + 1 == output;
  }

  Result<LibraryProblem> pool(Pool::Kind kind) const {
    const Term& data = graph_.term(view_.factors[0]);
    const Sizes& input = sizes_of(data);
    if (input.size() != output_.size() || input.size() < 3 || data.indices[0] != positions_[0] ||
        data.indices[1] != positions_[1])
      return unsupported(no_window);
    Pool result{view_.nest.type, kind, input, output_, {}, {}, {}};
    LEMMA_ASSIGN_OR_RETURN(const auto slides, slides_of(data));
    for (std::size_t i = 0; i < slides.size(); ++i) {
      if (slides[i].dilation != 1) return unsupported("cuDNN has no pools with gaps");
      if (!fits(slides[i], input[2 + i], output_[2 + i]))
        return unsupported("its padding differs at the two ends");
      result.windows.push_back(slides[i].window);
      result.strides.push_back(slides[i].stride);
      result.pads.push_back(slides[i].pad);
    }
    return result;
  }

  Result<WindowMatch> convolution() const {
    for (const bool first_is_data : {true, false}) {
      const Term& data = graph_.term(view_.factors[first_is_data ? 0 : 1]);
      const Term& weight = graph_.term(view_.factors[first_is_data ? 1 : 0]);
      auto matched = convolution_of(data, weight);
      if (matched) return WindowMatch{*std::move(matched), !first_is_data};
      if (!first_is_data || matched.error().message != no_window)
        return tl::unexpected(matched.error());
    }
    return unsupported(no_window);
  }

  Result<LibraryProblem> convolution_of(const Term& data, const Term& weight) const {
    const Sizes &input = sizes_of(data), &kernel = sizes_of(weight);
    if (input.size() != output_.size() || kernel.size() != output_.size() || input.size() < 3 ||
        data.indices[0] != positions_[0] || weight.indices[0] != positions_[1] ||
        kernel[0] != output_[1] || kernel[1] == 0 || input[1] % kernel[1] != 0)
      return unsupported(no_window);
    Convolution result{
        view_.nest.type, input,     kernel, output_, input[1] / kernel[1], {}, {}, {},
        false,           view_.relu};
    if (!has_channels(data.indices[1], weight.indices[1], result.groups, kernel[1]))
      return unsupported(no_window);
    LEMMA_ASSIGN_OR_RETURN(const auto slides, slides_of(data));
    for (std::size_t i = 0; i < slides.size(); ++i) {
      // The place in the window is that in the weight.
      const Linear& place = weight.indices[2 + i];
      const bool is_place =
          kernel[2 + i] == 1
              ? slides[i].window == 1
              : place.constant == 0 && place.terms.size() == 1 && place.terms[0].second == 1 &&
                    data.indices[2 + i].coefficient(place.terms[0].first) == slides[i].dilation &&
                    slides[i].window == kernel[2 + i];
      if (!is_place) return unsupported(no_window);
      if (!fits(slides[i], input[2 + i], output_[2 + i]))
        return unsupported("its padding differs at the two ends");
      result.strides.push_back(slides[i].stride);
      result.dilations.push_back(slides[i].dilation);
      result.pads.push_back(slides[i].pad);
    }
    if (view_.addends.size() > 1) return unsupported("it adds several tensors");
    for (const lowering::TermNumber addend : view_.addends) {
      const Term& read = graph_.term(addend);
      if (read.indices.size() != 1 || read.indices[0] != positions_[1])
        return unsupported("what it adds is no vector of the channels");
      result.bias = true;
    }
    return result;
  }

  /// The input's channel is that of the weight, behind the channels of the groups before.
  bool has_channels(const Linear& in_data, const Linear& in_weight, std::int64_t groups,
                    std::int64_t in_group) const {
    const Linear group = lowering::combine(in_data, in_weight, -1);
    if (in_group > 1 && (in_weight.terms.size() != 1 || !is_bound(in_weight.terms[0].first) ||
                         in_weight.terms[0].second != 1))
      return false;
    if (groups == 1) return group == Linear();
    // Of two variables for the output's channel the first is the group; of one it is the group itself.
    const Linear& channel = positions_[1];
    return group.constant == 0 && group.terms.size() == 1 && group.terms[0].second == in_group &&
           channel.coefficient(group.terms[0].first) != 0 &&
           graph_.extent(group.terms[0].first) == groups;
  }

  const NestView& view_;
  const lowering::TermGraph& graph_;
  const Sizes& output_;
  std::vector<Linear> positions_;
};

}  // namespace

Result<WindowMatch> match_windows(const NestView& view) { return WindowMatcher(view).run(); }

}  // namespace lemma::backend
