#include "frontend_onnx/declared_types.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "base/number_text.h"

namespace lemma::frontend {

namespace {

std::string word_of(std::string_view text) {
  std::string word;
  for (const char c : text) word += is_ascii_letter_or_digit(c) || c == '_' ? c : '_';
  if (word.empty() || is_ascii_digit(word.front())) word.insert(0, "d_");
  return word;
}

/// Some exporters write these for a size that has no name; two of them need not be equal.
bool is_name(std::string_view parameter) {
  return !parameter.empty() && parameter != "?" && parameter != "-1" && parameter != "None";
}

}  // namespace

std::string SizeSymbols::unique(std::string_view base) {
  std::string name = word_of(base);
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", word_of(base), i);
  return name;
}

Dimension SizeSymbols::named(const std::string& parameter) {
  auto [where, is_new] = by_parameter_.try_emplace(parameter);
  if (is_new) {
    where->second = unique(parameter);
    parameters_.emplace(where->second, parameter);
  }
  return Dimension::symbol(where->second);
}

Dimension SizeSymbols::unnamed(const std::string& value, std::size_t axis) {
  return Dimension::symbol(unique(fmt::format("{}_{}", value, axis)));
}

bool SizeSymbols::is_unnamed(const Dimension& size) const {
  const auto symbol = size.as_symbol();
  return symbol && !parameters_.contains(*symbol);
}

Shape SizeSymbols::adopted(Shape shape) {
  std::map<std::string, int> counts;
  for (const Dimension& size : shape) collect_symbols(size, counts);
  DimensionBindings words;
  for (const auto& [symbol, count] : counts) words.emplace(symbol, named(symbol));
  for (Dimension& size : shape) size = substitute(size, words);
  return shape;
}

Result<TensorType> declared_type(const ::onnx::ValueInfoProto& value, SizeSymbols& symbols) {
  TensorType type;
  if (!value.type().has_tensor_type()) return type;
  const auto& tensor = value.type().tensor_type();
  if (tensor.elem_type() < 0 || tensor.elem_type() >= data_type_count)
    return bad_input(fmt::format("element type {} does not exist", tensor.elem_type()));
  if (tensor.elem_type() == 0) return type;
  type.data_type = static_cast<DataType>(tensor.elem_type());
  if (!tensor.has_shape()) return type;
  type.shape.emplace();
  for (int axis = 0; axis < tensor.shape().dim_size(); ++axis) {
    const auto& size = tensor.shape().dim(axis);
    // Some exporters write -1 for an unknown size.
    if (size.has_dim_value() && size.dim_value() < -1)
      return bad_input(fmt::format("negative size {} in axis {}", size.dim_value(), axis));
    if (size.has_dim_value() && size.dim_value() >= 0)
      type.shape->emplace_back(size.dim_value());
    else if (is_name(size.dim_param()))
      type.shape->push_back(symbols.named(size.dim_param()));
    else
      type.shape->push_back(symbols.unnamed(value.name(), static_cast<std::size_t>(axis)));
  }
  if (!element_count(*type.shape).is_valid())
    return bad_input(fmt::format("the shape {} overflows", text(*type.shape)));
  return type;
}

std::map<std::string, std::string> names_of_sizes(
    const Graph& graph, const std::vector<NodeId>& live,
    const std::map<std::string, std::string>& parameters) {
  std::map<std::string, int> counts;
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    for (std::uint32_t i = 0; node.kind == NodeKind::opaque && i < node.output_count; ++i)
      if (const TensorType& type = graph.type(node.output(i)); type.shape)
        for (const Dimension& size : *type.shape)
          if (const auto symbol = size.as_symbol()) ++counts[*symbol];
  }
  std::map<std::string, std::string> names = parameters;
  for (const auto& [symbol, count] : counts)
    if (count > 1) names.try_emplace(symbol, symbol);
  return names;
}

void declare_type(const TensorType& type, const std::map<std::string, std::string>& parameters,
                  ::onnx::ValueInfoProto& value) {
  if (type.data_type == DataType::undefined) return;
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.data_type));
  if (!type.shape) return;
  auto& shape = *tensor.mutable_shape();
  if (shape.dim_size() != static_cast<int>(type.rank())) shape.clear_dim();
  while (shape.dim_size() < static_cast<int>(type.rank())) shape.add_dim();
  for (int axis = 0; axis < shape.dim_size(); ++axis) {
    const Dimension& size = (*type.shape)[static_cast<std::size_t>(axis)];
    auto& out = *shape.mutable_dim(axis);
    const auto symbol = size.as_symbol();
    if (size.is_constant()) {
      out.set_dim_value(size.offset());
    } else if (symbol && parameters.contains(*symbol)) {
      out.set_dim_param(parameters.at(*symbol));
    }
  }
}

}  // namespace lemma::frontend
