#include "backend_cuda/libraries/library_problem.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend_cuda/libraries/match.h"

namespace lemma::backend {

namespace {

bool is_known_type(DataType type) {
  return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 ||
         type == DataType::bf16;
}

Result<std::vector<lowering::InputView>> views_of(const CostKey& key) {
  std::vector<lowering::InputView> views;
  for (const TensorType& type : key.inputs) {
    lowering::InputView view;
    view.type = type.data_type;
    if (type.data_type != DataType::undefined) {
      const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
      if (!sizes) return unsupported("its sizes are not known");
      view.sizes = *sizes;
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::string joined(const std::vector<std::int64_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, "x"));
}

double elements_of(const std::vector<std::int64_t>& sizes) {
  double result = 1;
  for (const std::int64_t size : sizes) result *= static_cast<double>(size);
  return result;
}

std::string text_of(const MatrixProduct& p) {
  std::string result = fmt::format("product {} {}x{}x{}", name(p.type), p.rows, p.inner, p.columns);
  if (p.batches > 1) result += fmt::format(", {} batches", p.batches);
  if (p.left.transposed) result += ", left transposed";
  if (p.right.transposed) result += ", right transposed";
  if (p.addend == MatrixProduct::Addend::column_vector) result += ", bias";
  if (p.addend == MatrixProduct::Addend::matrix) result += ", addend";
  return result + (p.relu ? ", relu" : "");
}

std::string text_of(const Convolution& p) {
  std::string result =
      fmt::format("convolution {} {} by {}, groups {}, strides {}, dilations {}, pads {}",
                  name(p.type), joined(p.input), joined(p.weight), p.groups, joined(p.strides),
                  joined(p.dilations), joined(p.pads));
  if (p.bias) result += ", bias";
  return result + (p.relu ? ", relu" : "");
}

std::string text_of(const Pool& p) {
  const char* kind = p.kind == Pool::Kind::maximum   ? "maximum"
                     : p.kind == Pool::Kind::average ? "average"
                                                     : "average with padding";
  return fmt::format("pool {} {} {}, windows {}, strides {}, pads {}", kind, name(p.type),
                     joined(p.input), joined(p.windows), joined(p.strides), joined(p.pads));
}

double elements_of(const MatrixProduct& p) {
  const auto matrix_elements = [](std::int64_t a, std::int64_t b, std::int64_t batches) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(batches);
  };
  double result = matrix_elements(p.rows, p.columns, p.batches);
  if (p.addend == MatrixProduct::Addend::matrix) result *= 2;
  result += matrix_elements(p.rows, p.inner, p.left.batch_stride == 0 ? 1 : p.batches);
  return result + matrix_elements(p.inner, p.columns, p.right.batch_stride == 0 ? 1 : p.batches);
}
double elements_of(const Convolution& p) {
  return elements_of(p.input) + elements_of(p.weight) + elements_of(p.output);
}
double elements_of(const Pool& p) { return elements_of(p.input) + elements_of(p.output); }

}  // namespace

Result<LibraryProblem> library_problem(const CostKey& key) {
  if (!key.sizes_fit || key.op->define == nullptr || key.outputs.size() != 1 ||
      !is_known_type(key.outputs[0].data_type))
    return unsupported("no library has such an operator");
  for (const TensorType& type : key.inputs)
    if (type.data_type != DataType::undefined && type.data_type != key.outputs[0].data_type)
      return unsupported("its operands have different types");
  LEMMA_ASSIGN_OR_RETURN(const auto inputs, views_of(key));
  for (const auto* types : {&key.inputs, &key.outputs})
    for (const TensorType& type : *types)
      if (type.shape && elements_of(*constant_sizes(*type.shape)) == 0)
        return unsupported("it has nothing to compute");
  const Definition definition = key.op->define(key.instance());
  const auto grouped = view_of(definition, inputs, /*grouped=*/true);
  if (!grouped) return unsupported("its nest is no product, convolution or pool");
  auto windows = match_windows(*grouped);
  if (windows) return std::move(windows->problem);
  const auto plain = view_of(definition, inputs, /*grouped=*/false);
  if (!plain) return tl::unexpected(windows.error());
  const bool may_be_product = plain->factors.size() == 2 && !plain->guarded && !plain->divided;
  if (!may_be_product) return tl::unexpected(windows.error());
  LEMMA_ASSIGN_OR_RETURN(const ProductMatch product, match_product(*plain));
  return product.problem;
}

std::string text(const LibraryProblem& problem) {
  return std::visit([](const auto& alternative) { return text_of(alternative); }, problem);
}

double bytes_of(const LibraryProblem& problem) {
  return std::visit(
      [](const auto& alternative) { return elements_of(alternative) * bits(alternative.type) / 8; },
      problem);
}

}  // namespace lemma::backend
