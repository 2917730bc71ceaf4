#include "backend_cuda/libraries/exact_call.h"

#include <algorithm>
#include <limits>

#include "backend_cuda/libraries/match.h"

namespace lemma::backend {

namespace {

using lowering::InputView;
using lowering::Linear;
using lowering::Term;
using lowering::TermNumber;

/// Types that the calls of emitted programs are written for.
bool is_called_with(DataType type) {
  return type == DataType::f32 || type == DataType::f16 || type == DataType::bf16;
}

double volume(const std::vector<std::int64_t>& sizes) {
  double result = 1;
  for (const std::int64_t size : sizes) result *= static_cast<double>(size);
  return result;
}

/// Whether a condition only asks that an element of `data` lies inside of its tensor.
bool asks_for_inside(const lowering::TermGraph& graph, TermNumber condition, const Term& data) {
  const Term& term = graph.term(condition);
  if (term.kind == ExpressionKind::integer_constant) return term.bits != 0;
  if (term.kind == ExpressionKind::logical_and)
    return asks_for_inside(graph, term.operands[0], data) &&
           asks_for_inside(graph, term.operands[1], data);
  if (term.kind != ExpressionKind::less && term.kind != ExpressionKind::less_equal) return false;
  // What has to be at least 0: right - left, less one of a strict comparison.
  Linear room = lowering::combine(graph.form(term.operands[1]), graph.form(term.operands[0]), -1);
  if (term.kind == ExpressionKind::less) room.constant -= 1;
  const std::vector<std::int64_t>& sizes = graph.inputs()[data.input].sizes;
  for (std::size_t axis = 0; axis < data.indices.size(); ++axis)
    if (room == data.indices[axis] ||
        room == lowering::combine(Linear::of(sizes[axis] - 1), data.indices[axis], -1))
      return true;
  return false;
}

class CallMaker {
 public:
  explicit CallMaker(const NestView& view) : view_(view), graph_(view.nest.graph) {}

  Result<ExactCall> product() {
    LEMMA_ASSIGN_OR_RETURN(ProductMatch match, match_product(view_));
    ExactCall call;
    call.operands = {operand(view_.factors[match.is_swapped ? 1 : 0]),
                     operand(view_.factors[match.is_swapped ? 0 : 1])};
    call.factor = view_.factor;
    if (match.problem.addend == MatrixProduct::Addend::matrix)
      call.addend_factor = view_.addend_factors[0];
    else if (!view_.addends.empty() && view_.addend_factors[0] != 1)
      return unsupported("a bias has no factor");
    if (!view_.addends.empty()) call.operands.push_back(operand(view_.addends[0]));
    call.problem = std::move(match.problem);
    return checked(std::move(call));
  }

  Result<ExactCall> windows() {
    LEMMA_ASSIGN_OR_RETURN(WindowMatch match, match_windows(view_));
    const TermNumber data = view_.factors[match.is_swapped ? 1 : 0];
    if (view_.guard && !asks_for_inside(graph_, *view_.guard, graph_.term(data)))
      return unsupported("terms are left out that lie inside of the tensor");
    if (view_.factor != 1) return unsupported("it has a factor");
    ExactCall call;
    call.operands.push_back(whole(data));
    if (const auto* pool = std::get_if<Pool>(&match.problem)) {
      LEMMA_RETURN_IF_ERROR(check_pool(*pool));
    } else {
      LEMMA_RETURN_IF_ERROR(check_convolution(std::get<Convolution>(match.problem)));
      call.operands.push_back(whole(view_.factors[match.is_swapped ? 0 : 1]));
      if (!view_.addends.empty()) call.operands.push_back(whole(view_.addends[0]));
    }
    call.problem = std::move(match.problem);
    return checked(std::move(call));
  }

 private:
  CallOperand operand(TermNumber read) const {
    const Term& term = graph_.term(read);
    return {term.input, graph_.address(term).constant};
  }
  /// The operand for a tensor that the library describes as a whole.
  CallOperand whole(TermNumber read) const { return {graph_.term(read).input, 0}; }

  Result<void> check_pool(const Pool& pool) const {
    for (std::size_t i = 0; i < pool.pads.size(); ++i)
      if (pool.pads[i] >= pool.windows[i]) return unsupported("cuDNN has no such padding");
    if (pool.kind == Pool::Kind::maximum) {
      const auto beyond = view_.beyond ? constant_value(graph_, *view_.beyond) : std::nullopt;
      const double lowest = pool.type == DataType::f16 ? -65504.0 : -3.3e38;
      if (view_.guard && !(beyond && *beyond <= lowest))
        return unsupported("what lies beyond the edge may be a maximum");
      return {};
    }
    if (pool.kind != Pool::Kind::average_with_padding || view_.divisor != volume(pool.windows))
      return unsupported("it is not divided by the size of the window");
    return check_beyond();
  }

  Result<void> check_convolution(const Convolution& convolution) const {
    if (convolution.relu && !convolution.bias)
      return unsupported("cuDNN computes Relu behind a bias only");
    if (convolution.bias && view_.addend_factors[0] != 1)
      return unsupported("a bias has no factor");
    return check_beyond();
  }

  Result<void> check_beyond() const {
    if (view_.guard && (!view_.beyond || constant_value(graph_, *view_.beyond) != 0.0))
      return unsupported("what lies beyond the edge is not 0");
    return {};
  }

  /// What all calls have in common.
  Result<ExactCall> checked(ExactCall call) const {
    if (view_.relu && view_.relu_factor != 1) return unsupported("Relu has a factor");
    if (!(std::abs(call.factor) <= std::numeric_limits<float>::max()) ||
        !(std::abs(call.addend_factor) <= std::numeric_limits<float>::max()))
      return unsupported("a factor is no number");
    return call;
  }

  const NestView& view_;
  const lowering::TermGraph& graph_;
};

double operations(const MatrixProduct& p) {
  return 2.0 * volume({p.rows, p.columns, p.inner, p.batches});
}
double operations(const Convolution& p) {
  return 2 * volume(p.output) * volume(p.weight) / static_cast<double>(p.weight[0]);
}
double operations(const Pool& p) { return volume(p.output) * volume(p.windows); }

}  // namespace

double operations_of(const LibraryProblem& problem) {
  return std::visit([](const auto& alternative) { return operations(alternative); }, problem);
}

Result<ExactCall> exact_call(const Definition& definition, const std::vector<InputView>& inputs,
                             std::uint32_t output) {
  const auto grouped = view_of(definition, inputs, /*grouped=*/true, output);
  if (!grouped) return unsupported("its nest is no product, convolution or pool");
  const DataType type = grouped->nest.type;
  const bool fits =
      is_called_with(type) && volume(grouped->nest.sizes) > 0 &&
      std::all_of(inputs.begin(), inputs.end(), [type](const InputView& view) {
        return view.type == DataType::undefined || (view.type == type && volume(view.sizes) > 0);
      });
  if (!fits) return unsupported("its elements are not those of calls");
  auto windows = CallMaker(*grouped).windows();
  if (windows) return windows;
  const auto plain = view_of(definition, inputs, /*grouped=*/false, output);
  if (!plain || plain->factors.size() != 2 || plain->guarded || plain->divided) return windows;
  return CallMaker(*plain).product();
}

}  // namespace lemma::backend
