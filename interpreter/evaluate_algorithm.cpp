#include "interpreter/evaluate_algorithm.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "interpreter/elements.h"
#include "lowering/lower.h"
#include "lowering/rank_selection.h"
#include "lowering/scalar_operations.h"

namespace lemma::interpreter {

using Kind = ExpressionKind;

namespace {

/// Calls visit with an element of the type of the lanes; false for lanes without an order.
template <typename Visit>
bool with_lane_type(const Term& term, const Visit& visit) {
  switch (term.lanes) {
    case LaneKind::f32: visit(float{}); return true;
    case LaneKind::f64: visit(double{}); return true;
    case LaneKind::integer: visit(std::int64_t{}); return true;
    default: return false;
  }
}

template <typename T>
T step(Kind reduction, bool is_unsigned, T a, T b) {
  switch (reduction) {
    case Kind::sum: return lowering::Add::apply(a, b);
    case Kind::product: return lowering::Multiply::apply(a, b);
    default: break;
  }
  const bool is_minimum = reduction == Kind::minimum_over;
  if constexpr (std::is_same_v<T, std::int64_t>)
    if (is_unsigned) {
      const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
      return static_cast<T>(is_minimum ? std::min(x, y) : std::max(x, y));
    }
  return is_minimum ? lowering::Minimum::apply(a, b) : lowering::Maximum::apply(a, b);
}

template <typename T>
T of_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == sizeof(std::uint32_t))
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<T>(bits);
}

class AlgorithmEvaluation {
 public:
  AlgorithmEvaluation(TermGraph& graph, TermNumber reduction, const std::vector<LoopVariable>& axes,
                      std::span<const std::byte* const> inputs, std::byte* out,
                      const EvaluationOptions& options)
      : graph_(graph),
        reduction_(graph.term(reduction)),
        axes_(axes),
        inputs_(inputs),
        out_(out),
        options_(options) {}

  bool run(const lowering::Scan& scan) {
    const std::size_t axis = place_of(scan.axis);
    std::vector<LoopVariable> variables = axes_;
    variables[axis] = scan.position;
    if (!compute(scan.element, variables, out_)) return false;
    const auto neutral =
        lowering::neutral_element(reduction_.kind, reduction_.type, graph_.domain());
    if (!neutral) return false;
    return with_lane_type(reduction_, [&](auto lane) {
      scan_rows<decltype(lane)>(scan, axis, of_bits<decltype(lane)>(*neutral));
    });
  }

  bool run(const lowering::Selection& selection) {
    const std::size_t axis = place_of(selection.axis);
    std::vector<LoopVariable> variables = axes_;
    variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(axis));
    variables.push_back(selection.candidate);
    const Term& element = graph_.term(selection.element);
    const auto memory = computed(selection.element, variables);
    if (!memory) return false;
    const bool is_unsigned = element.type == DataType::u64;
    return with_lane_type(element, [&](auto lane) {
      using T = decltype(lane);
      const auto* elements = reinterpret_cast<const T*>(memory.get());
      if constexpr (std::is_same_v<T, std::int64_t>)
        if (is_unsigned)
          return select_rows(selection, axis, reinterpret_cast<const std::uint64_t*>(elements));
      select_rows(selection, axis, elements);
    });
  }

  /// More than a reduction, of which the interpreter computes the scatter; and what rounds in other places.
  static bool run(const lowering::Replacement&) { return false; }
  static bool run(const lowering::FourierTransform&) { return false; }

  bool run(const lowering::Scatter& scatter) {
    std::vector<LoopVariable> variables;
    for (const LoopVariable v : axes_)
      if (!is_target(scatter, v)) variables.push_back(v);
    const std::int64_t others = count_of(variables);
    variables.insert(variables.end(), reduction_.bound.begin(), reduction_.bound.end());
    std::vector<std::unique_ptr<std::byte[]>> indices;
    for (const lowering::Scatter::Target& target : scatter.targets) {
      indices.push_back(computed(guarded(scatter, target.index, integer(-1)), variables));
      if (!indices.back()) return false;
    }
    const auto elements = computed(guarded(scatter, scatter.element, scatter.otherwise), variables);
    if (!elements) return false;
    return with_lane_type(reduction_, [&](auto lane) {
      scatter_elements(scatter, others, count_of(variables) / std::max<std::int64_t>(1, others),
                       indices, reinterpret_cast<const decltype(lane)*>(elements.get()));
    });
  }

 private:
  std::size_t place_of(LoopVariable axis) const {
    return static_cast<std::size_t>(std::find(axes_.begin(), axes_.end(), axis) - axes_.begin());
  }

  static bool is_target(const lowering::Scatter& scatter, LoopVariable axis) {
    return std::any_of(scatter.targets.begin(), scatter.targets.end(),
                       [axis](const auto& target) { return target.axis == axis; });
  }

  std::int64_t count_of(std::span<const LoopVariable> variables) const {
    std::int64_t count = 1;
    for (const LoopVariable v : variables) count *= graph_.extent(v);
    return count;
  }

  bool compute(TermNumber term, const std::vector<LoopVariable>& variables, std::byte* to) const {
    const Destination destination = {variables, to, lane_access(graph_.term(term).lanes)};
    return evaluate_elements(graph_, term, inputs_, destination, options_).has_value();
  }

  std::unique_ptr<std::byte[]> computed(TermNumber term,
                                        const std::vector<LoopVariable>& variables) const {
    const std::size_t bytes =
        static_cast<std::size_t>(count_of(variables)) * lane_size(graph_.term(term).lanes);
    std::unique_ptr<std::byte[]> memory(new std::byte[bytes]);
    return compute(term, variables, memory.get()) ? std::move(memory) : nullptr;
  }

  TermNumber integer(std::int64_t value) { return graph_.linear(lowering::Linear::of(value)); }

  /// The term where the conditions hold: it need not be defined where they do not.
  TermNumber guarded(const lowering::Scatter& scatter, TermNumber id, TermNumber otherwise) {
    if (scatter.conditions.empty()) return id;
    TermNumber condition = scatter.conditions.front();
    for (std::size_t i = 1; i < scatter.conditions.size(); ++i)
      condition = added(Kind::logical_and, DataType::boolean, {condition, scatter.conditions[i]});
    return added(Kind::select, graph_.term(id).type, {condition, id, otherwise});
  }

  TermNumber added(Kind kind, DataType type, std::vector<TermNumber> operands) {
    Term term;
    term.kind = kind;
    term.type = type;
    term.operands = std::move(operands);
    return graph_.add(std::move(term));
  }

  template <typename T>
  T next(T total, T element) const {
    return step(reduction_.kind, reduction_.type == DataType::u64, total, element);
  }

  /// In place of the elements.
  template <typename T>
  void scan_rows(const lowering::Scan& scan, std::size_t axis, T neutral) const {
    const std::span all(axes_);
    const std::int64_t outer = count_of(all.first(axis)), length = graph_.extent(scan.axis),
                       inner = count_of(all.subspan(axis + 1));
    auto* const lanes = reinterpret_cast<T*>(out_);
    for (std::int64_t row = 0; row < outer * inner; ++row) {
      T* const first = lanes + row / inner * length * inner + row % inner;
      T total = neutral;
      for (std::int64_t i = 0; i < length; ++i) {
        T& place = first[(scan.is_reverse ? length - 1 - i : i) * inner];
        const T with_it = next(total, place);
        place = scan.is_exclusive ? total : with_it;
        total = with_it;
      }
    }
  }

  template <typename T>
  void select_rows(const lowering::Selection& selection, std::size_t axis,
                   const T* elements) const {
    const std::span all(axes_);
    const std::int64_t outer = count_of(all.first(axis)), count = graph_.extent(selection.axis),
                       inner = count_of(all.subspan(axis + 1)),
                       length = graph_.extent(selection.candidate);
    auto* const positions = reinterpret_cast<std::int64_t*>(out_);
    for (std::int64_t row = 0; row < outer * inner; ++row) {
      const T* const candidates = elements + row * length;
      std::int64_t* const first = positions + row / inner * count * inner + row % inner;
      const auto element = [candidates](std::int64_t at) { return candidates[at]; };
      const auto place = [first, inner](std::int64_t rank) { return first + rank * inner; };
      if (selection.takes_largest)
        lowering::select_by_rank<true>(length, count, element, place);
      else
        lowering::select_by_rank<false>(length, count, element, place);
    }
  }

  template <typename T>
  void scatter_elements(const lowering::Scatter& scatter, std::int64_t others, std::int64_t terms,
                        const std::vector<std::unique_ptr<std::byte[]>>& indices,
                        const T* elements) const {
    auto* const lanes = reinterpret_cast<T*>(out_);
    std::fill(lanes, lanes + count_of(axes_), of_bits<T>(graph_.term(scatter.otherwise).bits));
    for (std::int64_t other = 0; other < others; ++other)
      for (std::int64_t number = other * terms; number < (other + 1) * terms; ++number) {
        const auto place = place_of_term(scatter, other, number, indices);
        if (place) lanes[*place] = next(lanes[*place], elements[number]);
      }
  }

  /// Nothing where an index is outside.
  std::optional<std::int64_t> place_of_term(
      const lowering::Scatter& scatter, std::int64_t other, std::int64_t number,
      const std::vector<std::unique_ptr<std::byte[]>>& indices) const {
    std::int64_t place = 0, stride = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const std::int64_t extent = graph_.extent(axes_[i]);
      std::int64_t index = 0;
      const auto target =
          std::find_if(scatter.targets.begin(), scatter.targets.end(),
                       [&](const auto& target_of_axis) { return target_of_axis.axis == axes_[i]; });
      if (target == scatter.targets.end()) {
        index = other % extent;
        other /= extent;
      } else {
        const auto which = static_cast<std::size_t>(target - scatter.targets.begin());
        index = reinterpret_cast<const std::int64_t*>(indices[which].get())[number];
        if (index < 0 || index >= extent) return std::nullopt;
      }
      place += index * stride;
      stride *= extent;
    }
    return place;
  }

  TermGraph& graph_;
  const Term reduction_;
  const std::vector<LoopVariable>& axes_;
  std::span<const std::byte* const> inputs_;
  std::byte* out_;
  const EvaluationOptions& options_;
};

}  // namespace

std::vector<TermNumber> evaluated_reductions(const TermGraph& graph, TermNumber root) {
  std::vector<bool> is_reached(graph.size(), false);
  const auto reach = [&is_reached](const Linear& form) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= lowering::first_term_atom) is_reached[atom - lowering::first_term_atom] = true;
  };
  is_reached[root] = true;
  std::vector<TermNumber> reductions;
  for (TermNumber id = root + 1; id-- > 0;) {
    if (!is_reached[id]) continue;
    const Term& term = graph.term(id);
    if (is_reduction(term.kind)) {
      reductions.push_back(id);
      continue;
    }
    const bool guards = term.kind == Kind::select || term.kind == Kind::logical_and;
    const std::size_t count = guards ? 1 : term.operands.size();
    for (std::size_t i = 0; i < count; ++i) is_reached[term.operands[i]] = true;
    reach(term.linear);
    for (const Linear& index : term.indices) reach(index);
  }
  return reductions;
}

bool evaluate_algorithm(TermGraph& graph, TermNumber reduction,
                        const lowering::Algorithm& algorithm, const std::vector<LoopVariable>& axes,
                        std::span<const std::byte* const> inputs, std::byte* out,
                        const EvaluationOptions& options) {
  if (graph.term(reduction).may_be_undefined &&
      !std::holds_alternative<lowering::Scatter>(algorithm))
    return false;
  return std::visit(
      [&](const auto& recognized) {
        return AlgorithmEvaluation(graph, reduction, axes, inputs, out, options).run(recognized);
      },
      algorithm);
}

}  // namespace lemma::interpreter
