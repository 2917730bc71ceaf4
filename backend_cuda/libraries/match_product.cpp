#include <algorithm>
#include <array>
#include <optional>

#include "backend_cuda/libraries/match.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;

/// Loops that are one loop: strides in the left factor, the right one and the result.
struct Axis {
  std::int64_t extent = 1;
  std::array<std::int64_t, 3> strides = {0, 0, 0};
};

class ProductMatcher {
 public:
  explicit ProductMatcher(const NestView& view) : view_(view), graph_(view.nest.graph) {}

  Result<ProductMatch> run() {
    if (graph_.term(view_.reduction).kind != ExpressionKind::sum || view_.factors.size() != 2 ||
        view_.guarded || view_.divided)
      return unsupported("it is no sum of products of two tensors");
    forms_ = {graph_.address(graph_.term(view_.factors[0])),
              graph_.address(graph_.term(view_.factors[1])), result_address(view_.nest)};
    if (!is_affine(forms_[0]) || !is_affine(forms_[1]))
      return unsupported("its factors are not read by strides");
    LEMMA_RETURN_IF_ERROR(find_axes());
    // Elements of a row of the result stand side by side.
    if (columns_.extent > 1 ? columns_.strides[2] != 1 : rows_.strides[2] == 1) {
      std::swap(rows_, columns_);
      for (Axis* axis : {&rows_, &columns_, &inner_, &batches_})
        std::swap(axis->strides[0], axis->strides[1]);
      std::swap(forms_[0], forms_[1]);
      is_swapped_ = true;
    }
    if (columns_.extent > 1 && columns_.strides[2] != 1)
      return unsupported("neither rows nor columns of the result are contiguous");
    LEMMA_ASSIGN_OR_RETURN(MatrixProduct product, problem());
    return ProductMatch{std::move(product), is_swapped_};
  }

 private:
  static constexpr const char* not_matrices = "its axes are not those of matrices";

  Axis axis_of(LoopVariable v) const {
    return {graph_.extent(v),
            {forms_[0].coefficient(v), forms_[1].coefficient(v), forms_[2].coefficient(v)}};
  }

  /// Loops as one, the outermost first; nothing if their strides do not continue each other.
  static std::optional<Axis> merged(std::vector<Axis> axes) {
    std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
    if (axes.empty()) return Axis{};
    Axis result = axes.back();
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      for (std::size_t t = 0; t < 3; ++t)
        if (axes[i].strides[t] != result.strides[t] * result.extent) return std::nullopt;
      result.extent *= axes[i].extent;
    }
    return result;
  }

  Result<void> find_axes() {
    std::vector<Axis> rows, columns, inner, batches;
    for (const LoopVariable v : view_.nest.axes) {
      const Axis axis = axis_of(v);
      const bool left = axis.strides[0] != 0, right = axis.strides[1] != 0;
      if (!left && !right) return unsupported("the result has an axis that no factor has");
      (left && right ? batches : left ? rows : columns).push_back(axis);
    }
    for (const LoopVariable v : graph_.term(view_.reduction).bound) {
      const Axis axis = axis_of(v);
      if (axis.extent > 1 && (axis.strides[0] == 0 || axis.strides[1] == 0))
        return unsupported(not_matrices);
      inner.push_back(axis);
    }
    std::stable_sort(inner.begin(), inner.end(),
                     [](const Axis& a, const Axis& b) { return a.strides[0] > b.strides[0]; });
    const auto all = {std::pair(&rows_, merged(rows)), std::pair(&columns_, merged(columns)),
                      std::pair(&inner_, merged(inner)), std::pair(&batches_, merged(batches))};
    for (const auto& [target, axis] : all) {
      if (!axis) return unsupported(not_matrices);
      *target = *axis;
    }
    return {};
  }

  /// A matrix with `outer` lines of `line` elements; the other way round if that is how it is stored.
  Result<MatrixOperand> operand(const Axis& outer, const Axis& line, std::size_t tensor) const {
    const std::int64_t line_stride = line.strides[tensor], outer_stride = outer.strides[tensor];
    const auto stored = [&](bool transposed, std::int64_t leading, std::int64_t least) {
      return MatrixOperand{transposed, std::max(leading, least), batches_.strides[tensor]};
    };
    if (line.extent == 1 || line_stride == 1) return stored(false, outer_stride, line.extent);
    if (outer.extent == 1 || outer_stride == 1) return stored(true, line_stride, outer.extent);
    return unsupported("a factor has no contiguous axis");
  }

  Result<MatrixProduct> problem() const {
    MatrixProduct result;
    result.type = view_.nest.type;
    result.rows = rows_.extent;
    result.columns = columns_.extent;
    result.inner = inner_.extent;
    result.batches = batches_.extent;
    LEMMA_ASSIGN_OR_RETURN(result.left, operand(rows_, inner_, 0));
    LEMMA_ASSIGN_OR_RETURN(result.right, operand(inner_, columns_, 1));
    LEMMA_ASSIGN_OR_RETURN(result.result, operand(rows_, columns_, 2));
    result.relu = view_.relu;
    if (view_.addends.size() > 1) return unsupported("it adds several tensors");
    for (const lowering::TermNumber addend : view_.addends) {
      LEMMA_ASSIGN_OR_RETURN(result.addend, addend_of(graph_.address(graph_.term(addend))));
    }
    return result;
  }

  Result<MatrixProduct::Addend> addend_of(const Linear& form) const {
    if (form == forms_[2]) return MatrixProduct::Addend::matrix;
    for (const LoopVariable v : view_.nest.axes) {
      const bool is_column =
          forms_[0].coefficient(v) == 0 && forms_[1].coefficient(v) != 0 && columns_.extent > 1;
      if (form.coefficient(v) != (is_column ? forms_[2].coefficient(v) : 0))
        return unsupported("what it adds is no row for all rows and no matrix");
    }
    if (!is_affine(form) || form.constant != 0 || columns_.extent == 1)
      return unsupported("what it adds is no row for all rows and no matrix");
    return MatrixProduct::Addend::column_vector;
  }

  const NestView& view_;
  const lowering::TermGraph& graph_;
  std::array<Linear, 3> forms_;
  bool is_swapped_ = false;
  Axis rows_, columns_, inner_, batches_;
};

}  // namespace

Result<ProductMatch> match_product(const NestView& view) { return ProductMatcher(view).run(); }

}  // namespace lemma::backend
