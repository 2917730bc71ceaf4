#include "backend_cuda/libraries/nest_view.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;
using lowering::Linear;
using lowering::LoopVariable;
using lowering::Term;
using lowering::TermNumber;

class Viewer {
 public:
  explicit Viewer(NestView& view) : view_(view), graph_(view.nest.graph) {}

  bool run() { return take_value(view_.nest.root) && take_body(); }

 private:
  bool is_constant(TermNumber id) const {
    const Kind kind = graph_.term(id).kind;
    return kind == Kind::real_constant || kind == Kind::integer_constant;
  }
  bool is_zero(TermNumber id) const { return is_constant(id) && graph_.term(id).bits == 0; }

  bool reads(TermNumber id) const {
    const Term& term = graph_.term(id);
    return term.kind == Kind::read ||
           std::any_of(term.operands.begin(), term.operands.end(),
                       [this](TermNumber operand) { return reads(operand); });
  }

  /// Down to the reduction: one operand of each operation leads there.
  bool take_value(TermNumber id) {
    const Term& term = graph_.term(id);
    if (is_reduction(term.kind)) {
      view_.reduction = id;
      view_.factor = scale_;
      return true;
    }
    if (term.operands.size() != 2) return false;
    TermNumber value = term.operands[0], other = term.operands[1];
    switch (term.kind) {
      case Kind::maximum:
        if (is_zero(value)) std::swap(value, other);
        if (!is_zero(other) || view_.relu || !view_.addends.empty()) return false;
        view_.relu = true;
        view_.relu_factor = scale_;
        return take_value(value);
      case Kind::add: {
        if (is_addend(value)) std::swap(value, other);
        const auto read = addend_in(other);
        if (!read) return false;
        view_.addends.push_back(read->first);
        view_.addend_factors.push_back(scale_ * read->second);
        return take_value(value);
      }
      case Kind::multiply:  // a factor such as alpha takes no time of its own
        if (is_constant(value)) std::swap(value, other);
        if (!is_constant(other)) return false;
        scale_ *= constant_value(graph_, other).value_or(std::numeric_limits<double>::quiet_NaN());
        return take_value(value);
      case Kind::divide:
        if (reads(other) || view_.divided || view_.relu || !view_.addends.empty()) return false;
        view_.divided = true;
        view_.divided_by_constant = graph_.term(other).depends == 0;
        view_.divisor = constant_value(graph_, other);
        return take_value(value);
      default: return false;
    }
  }

  bool is_addend(TermNumber id) const { return addend_in(id).has_value(); }

  /// A read, or a constant times one: the read and the constant.
  std::optional<std::pair<TermNumber, double>> addend_in(TermNumber id) const {
    const Term& term = graph_.term(id);
    if (term.kind == Kind::read) return std::pair(id, 1.0);
    if (term.kind != Kind::multiply) return std::nullopt;
    const TermNumber a = term.operands[0], b = term.operands[1];
    const auto times = [&](TermNumber read, TermNumber constant) {
      return std::pair(
          read,
          constant_value(graph_, constant).value_or(std::numeric_limits<double>::quiet_NaN()));
    };
    if (is_constant(a) && graph_.term(b).kind == Kind::read) return times(b, a);
    if (is_constant(b) && graph_.term(a).kind == Kind::read) return times(a, b);
    return std::nullopt;
  }

  bool take_body() {
    TermNumber body = graph_.term(view_.reduction).operands[0];
    if (graph_.term(body).kind == Kind::select) {
      const Term& select = graph_.term(body);
      if (reads(select.operands[0]) || !is_constant(select.operands[2])) return false;
      view_.guarded = true;
      view_.guard = select.operands[0];
      view_.beyond = select.operands[2];
      body = select.operands[1];
    }
    view_.factors = lowering::factors_of(graph_, body);
    return std::all_of(view_.factors.begin(), view_.factors.end(), [this](TermNumber factor) {
      return graph_.term(factor).kind == Kind::read;
    });
  }

  NestView& view_;
  const lowering::TermGraph& graph_;
  double scale_ = 1;  // of what is being taken apart
};

}  // namespace

std::optional<double> constant_value(const lowering::TermGraph& graph, TermNumber id) {
  const Term& term = graph.term(id);
  switch (term.kind) {
    case Kind::integer_constant: return static_cast<double>(static_cast<std::int64_t>(term.bits));
    case Kind::real_constant:
      if (term.lanes == lowering::LaneKind::f32)
        return std::bit_cast<float>(static_cast<std::uint32_t>(term.bits));
      return std::bit_cast<double>(term.bits);
    case Kind::cast: return constant_value(graph, term.operands[0]);
    case Kind::multiply: {
      const auto a = constant_value(graph, term.operands[0]);
      const auto b = constant_value(graph, term.operands[1]);
      return a && b ? std::optional(*a * *b) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

bool is_affine(const Linear& form) {
  return std::all_of(form.terms.begin(), form.terms.end(),
                     [](const auto& term) { return term.first < lowering::first_term_atom; });
}

Linear result_address(const lowering::LoweredOutput& nest) {
  Linear position;
  for (const LoopVariable v : nest.axes)
    position = lowering::combine(lowering::scale(position, nest.graph.extent(v)), Linear::atom(v));
  return position;
}

std::optional<NestView> view_of(const Definition& definition,
                                const std::vector<lowering::InputView>& inputs, bool grouped,
                                std::uint32_t number) {
  const DefinedOutput& output = definition.outputs()[number];
  auto nest = lowering::lower(definition, output, inputs, lowering::Domain::native);
  if (!nest) return std::nullopt;
  if (grouped) {
    const std::vector<std::int64_t> parts = lowering::find_parts(*nest);
    if (!parts.empty())
      nest = lowering::lower(definition, output, inputs, lowering::Domain::native, parts);
    if (!nest) return std::nullopt;
  }
  NestView view(std::move(*nest));
  if (!Viewer(view).run()) return std::nullopt;
  return view;
}

}  // namespace lemma::backend
